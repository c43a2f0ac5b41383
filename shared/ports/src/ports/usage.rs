use super::PortResult;
use jiff::civil::Date;
use recado_domain::ids::TenantId;
use recado_domain::usage::UsageSum;
use std::future::Future;

/// A store of the sums of what models used. [`super::Conversations::commit_reply`],
/// [`super::Conversations::update_conversation_with_use`], [`super::RecordRemoval::replace_message`] and
/// [`super::Deliveries::record_charged_status`] add to them.
pub trait UsageRecords: Send + Sync {
    /// Lists the sums of a tenant from the day `from` to the day `to`, both included: one of each agent, model, country and day,
    /// ordered by these. Expired ones are left out.
    fn list_usage(
        &self,
        tenant: &TenantId,
        from: Date,
        to: Date,
    ) -> impl Future<Output = PortResult<Vec<UsageSum>>> + Send;
}
