use super::PortResult;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::InstanceId;
use std::future::Future;

/// Which number a person has whose messages may come without one.
pub trait Aliases: Send + Sync {
    /// The address with a number of whom `instance` knows as `other` (a linked identity, a business-scoped user id), by a
    /// strong read; `None` if it was never learnt.
    fn alias(
        &self,
        instance: &InstanceId,
        other: &ContactAddress,
    ) -> impl Future<Output = PortResult<Option<ContactAddress>>> + Send;

    /// Keeps that `other` is `address`, by one write; what was learnt before gives way. It is kept for good, like the
    /// conversations that it leads to.
    fn learn_alias(
        &self,
        instance: &InstanceId,
        other: &ContactAddress,
        address: &ContactAddress,
    ) -> impl Future<Output = PortResult<()>> + Send;
}
