use super::PortResult;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use std::future::Future;

/// A store of the phone numbers of contacts whose messages may come without a phone number.
pub trait ContactAliases: Send + Sync {
    /// Returns the address with the phone number of the person whose linked identity has the thread `other`. A linked
    /// identity is an address without a number (`…@lid`, a business-scoped user id). The read is strong. `None`: the
    /// number was never learnt.
    fn find_alias(&self, other: &ThreadId)
    -> impl Future<Output = PortResult<Option<ContactAddress>>> + Send;

    /// Stores in one write that the person of the thread `other` has the address `address`. An address that was learnt
    /// before is replaced. The record does not expire, like the conversations to which it leads.
    fn save_alias(
        &self,
        other: &ThreadId,
        address: &ContactAddress,
    ) -> impl Future<Output = PortResult<()>> + Send;
}
