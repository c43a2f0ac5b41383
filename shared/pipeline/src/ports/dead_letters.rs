use super::{Page, PageRequest, PortResult};
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::InstanceId;
use recado_domain::reason::Reason;
use std::future::Future;

/// Which dead letters are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    /// Of this queue only.
    pub queue: Option<QueueName>,
    /// With this reason only.
    pub reason: Option<Reason>,
    /// Of this instance only.
    pub instance: Option<InstanceId>,
}

/// What was given up for good.
pub trait DeadLetters: Send + Sync {
    /// Keeps a dead letter. One of the same id is replaced.
    fn put_dead_letter(&self, letter: &DeadLetter) -> impl Future<Output = PortResult<()>> + Send;

    /// One dead letter.
    fn dead_letter(&self, id: &str) -> impl Future<Output = PortResult<Option<DeadLetter>>> + Send;

    /// Removes a dead letter; `false` if there was none.
    fn remove_dead_letter(&self, id: &str) -> impl Future<Output = PortResult<bool>> + Send;

    /// Dead letters, the newest first.
    fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<DeadLetter>>> + Send;

    /// How many there are, of all or of one instance.
    fn count_dead_letters(
        &self,
        instance: Option<&InstanceId>,
    ) -> impl Future<Output = PortResult<u64>> + Send;
}
