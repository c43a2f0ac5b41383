use super::PortResult;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use std::future::Future;

/// Which number a person has whose messages may come without one.
pub trait ContactAliases: Send + Sync {
    /// The address with a number of the person whose identity without one (a linked identity, a business-scoped user id)
    /// has the thread `other`, by a strong read; `None` if it was never learnt.
    fn find_alias(&self, other: &ThreadId)
    -> impl Future<Output = PortResult<Option<ContactAddress>>> + Send;

    /// Keeps that the person of the thread `other` has `address`, by one write; what was learnt before gives way. It is
    /// kept for good, like the conversations that it leads to.
    fn save_alias(
        &self,
        other: &ThreadId,
        address: &ContactAddress,
    ) -> impl Future<Output = PortResult<()>> + Send;
}
