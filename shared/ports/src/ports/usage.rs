use super::PortResult;
use async_trait::async_trait;
use jiff::civil::Date;
use recado_domain::ids::TenantId;
use recado_domain::usage::UsageSum;

/// A store of the sums of what models used. [`super::Conversations::commit_reply`],
/// [`super::Conversations::update_conversation_with_use`], [`super::RecordRemoval::replace_message`] and
/// [`super::Deliveries::record_charged_status`] add to them.
#[async_trait]
pub trait UsageRecords: Send + Sync {
    /// Lists the sums of a tenant from the day `from` to the day `to`, both included: one of each agent, model, country and day,
    /// ordered by these. Expired ones are left out.
    async fn list_usage(&self, tenant: &TenantId, from: Date, to: Date) -> PortResult<Vec<UsageSum>>;
}
