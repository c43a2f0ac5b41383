//! The phone numbers of contacts whose messages may come without one. They do not expire, like the conversations to which they lead. What
//! deletes a conversation deletes the number that leads to it, also at the removal of a tenant: a thread does not tell its tenant.

use crate::ports::PortResult;
use crate::table::{Record, Table, delete_record, find_record, put_record};
use recado_domain::contact::ContactAddress;
use recado_domain::ids::{TenantId, ThreadId};
use recado_domain::moving::MovedAlias;

impl Record for MovedAlias {
    const KIND: &'static str = "aliases";

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        self.thread.as_str().to_owned()
    }
}

/// Returns the address with the phone number of the person whose linked identity has the thread `other`. A linked identity is an address
/// without a number (`…@lid`, a business-scoped user id). The read is strong. `None`: the number was never learnt.
pub async fn find_alias(table: &dyn Table, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
    let found: Option<MovedAlias> = find_record(table, None, other.as_str()).await?;
    Ok(found.map(|alias| alias.address))
}

/// Stores in one write that the person of the thread `other` has the address `address`. An address that was learnt before is replaced.
pub async fn save_alias(table: &dyn Table, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
    let alias = MovedAlias {
        thread: other.clone(),
        address: address.clone(),
    };
    put_record(table, &alias).await
}

/// Deletes the number of the person of the thread `other`. One that was never learnt is no error.
pub async fn delete_alias(table: &dyn Table, other: &ThreadId) -> PortResult<()> {
    delete_record::<MovedAlias>(table, None, other.as_str()).await
}
