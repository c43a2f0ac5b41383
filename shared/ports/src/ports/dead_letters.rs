use super::{Page, PageRequest, PortResult};
use jiff::Timestamp;
use recado_domain::access::Scope;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::reason::Reason;
use std::collections::BTreeMap;
use std::future::Future;

/// Conditions for a list of dead letters. A field that is `None` sets no condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    /// Tenant of the dead letter.
    pub tenant: Option<TenantId>,
    /// `true`: only dead letters of nobody, whose tenant is not known.
    pub of_nobody: bool,
    /// Queue from which the dead letter came.
    pub queue: Option<QueueName>,
    /// Reason of the dead letter.
    pub reason: Option<Reason>,
    /// Instance of the dead letter.
    pub instance: Option<InstanceId>,
    /// Earliest time of the failure (included).
    pub since: Option<Timestamp>,
    /// Time before which the failure happened (not included).
    pub until: Option<Timestamp>,
}

impl DeadLetterFilter {
    /// Limits the filter to the tenant of `scope`, if it has one.
    #[must_use]
    pub fn within_scope(mut self, scope: &Scope) -> Self {
        self.tenant = scope.tenant().cloned().or(self.tenant);
        self
    }

    /// Returns `true` if `dead_letter` meets all conditions.
    pub fn matches_letter(&self, dead_letter: &DeadLetter) -> bool {
        self.tenant
            .as_ref()
            .is_none_or(|tenant| Some(tenant) == dead_letter.tenant.as_ref())
            && !(self.of_nobody && dead_letter.tenant.is_some())
            && self.queue.is_none_or(|queue| queue == dead_letter.queue)
            && self.reason.is_none_or(|reason| reason == dead_letter.reason)
            && self
                .instance
                .as_ref()
                .is_none_or(|instance| Some(instance) == dead_letter.instance.as_ref())
            && self.since.is_none_or(|since| dead_letter.at >= since)
            && self.until.is_none_or(|until| dead_letter.at < until)
    }
}

/// Numbers of dead letters by instance. `None` stands for those whose instance is not known. An instance without a dead
/// letter is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadLetterCounts(pub BTreeMap<Option<InstanceId>, u64>);

impl DeadLetterCounts {
    /// Returns the number of one instance's dead letters, or of all (`None`).
    pub fn count_of(&self, instance: Option<&InstanceId>) -> u64 {
        match instance {
            None => self.0.values().sum(),
            Some(id) => self.0.get(&Some(id.clone())).copied().unwrap_or_default(),
        }
    }
}

/// A store of dead letters.
pub trait DeadLetters: Send + Sync {
    /// Stores a dead letter. A stored dead letter with the same id is replaced if it is of an earlier failure. `false`,
    /// and nothing is stored: there is the dead letter of this failure already, or of a later one. (A worker that was
    /// delayed for long may store the dead letter of a failure that was redriven meanwhile and followed by another.)
    fn put_dead_letter(&self, dead_letter: &DeadLetter) -> impl Future<Output = PortResult<bool>> + Send;

    /// Returns one dead letter; `None` if it does not exist.
    fn find_dead_letter(&self, id: &str) -> impl Future<Output = PortResult<Option<DeadLetter>>> + Send;

    /// Removes the dead letter of the failure at `failed_at`. `false`: it does not exist, or it is of another failure.
    fn remove_dead_letter(
        &self,
        id: &str,
        failed_at: Timestamp,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Lists the dead letters that match `filter`, the newest first.
    fn list_dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<DeadLetter>>> + Send;

    /// Counts the dead letters of `tenant`, or all (`None`), by instance, in one pass.
    fn count_dead_letters(
        &self,
        tenant: Option<&TenantId>,
    ) -> impl Future<Output = PortResult<DeadLetterCounts>> + Send;
}
