use super::{Page, PageRequest, PortResult};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterDeletion, QueueName};
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
    /// That died then or later.
    pub since: Option<Timestamp>,
    /// That died before then.
    pub until: Option<Timestamp>,
}

impl DeadLetterFilter {
    /// Whether `letter` is wanted.
    pub fn matches_letter(&self, letter: &DeadLetter) -> bool {
        self.queue.is_none_or(|queue| queue == letter.queue)
            && self.reason.is_none_or(|reason| reason == letter.reason)
            && self
                .instance
                .as_ref()
                .is_none_or(|instance| Some(instance) == letter.instance.as_ref())
            && self.since.is_none_or(|since| letter.at >= since)
            && self.until.is_none_or(|until| letter.at < until)
    }
}

/// What was given up for good.
pub trait DeadLetters: Send + Sync {
    /// Keeps a dead letter. One of the same id is replaced, unless it is of a later death: who stalled long ago may only now
    /// come to make the letter of a death that was redriven, and followed by another.
    fn put_dead_letter(&self, letter: &DeadLetter) -> impl Future<Output = PortResult<()>> + Send;

    /// One dead letter.
    fn find_dead_letter(&self, id: &str) -> impl Future<Output = PortResult<Option<DeadLetter>>> + Send;

    /// Removes the dead letter of the death at `died`; `false` if there is none, or one of another death.
    fn remove_dead_letter(&self, id: &str, died: Timestamp) -> impl Future<Output = PortResult<bool>> + Send;

    /// In one transaction: removes the dead letter that `deletion` names, of that death, and keeps who did so. `false`,
    /// and nothing is kept, if there is no such letter.
    fn delete_dead_letter(
        &self,
        deletion: &DeadLetterDeletion,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Who deleted which dead letters, the newest first.
    fn list_deletions(
        &self,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<DeadLetterDeletion>>> + Send;

    /// Dead letters, the newest first.
    fn list_dead_letters(
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
