use super::PortResult;
use recado_domain::event::EventRecord;
use recado_domain::ids::CorrelationId;
use recado_domain::message::Message;
use std::future::Future;

/// What bears one correlation id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CorrelatedRecords {
    /// Events.
    pub events: Vec<EventRecord>,
    /// Messages, open ones as they are now.
    pub messages: Vec<Message>,
}

/// What belongs together. For those who look into something; no step of a message depends on it.
pub trait CorrelationIndex: Send + Sync {
    /// What bears this correlation id, in any order, at most `limit` of all. It may be some seconds old.
    fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        limit: usize,
    ) -> impl Future<Output = PortResult<CorrelatedRecords>> + Send;
}
