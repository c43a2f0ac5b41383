use super::PortResult;
use recado_domain::event::EventRecord;
use recado_domain::ids::{CorrelationId, TenantId};
use recado_domain::message::Message;
use std::future::Future;

/// The records that carry one correlation id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CorrelatedRecords {
    /// Events with the correlation id.
    pub events: Vec<EventRecord>,
    /// Messages with the correlation id; open ones in their current state.
    pub messages: Vec<Message>,
}

/// An index of records by correlation id, for people who investigate. No processing step depends on it.
pub trait CorrelationIndex: Send + Sync {
    /// Returns the records that carry `correlation`, in any order, at most `limit` in all. They are those of `tenant`, or of
    /// all tenants (`None`). An event is of the tenant of its instance as configured now. The index may be some seconds old.
    fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> impl Future<Output = PortResult<CorrelatedRecords>> + Send;
}
