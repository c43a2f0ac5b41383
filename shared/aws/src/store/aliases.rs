//! The phone numbers of people whose messages may come without one. Each is an item of its own, read only for messages
//! without a number.

use super::DynamoStore;
use super::item::{Item, get_string, text_attribute};
use super::keys::TableKey;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use recado_ports::ports::{ContactAliases, PortError, PortResult, System};

/// The attribute that holds the address with the number.
pub(super) const ADDRESS: &str = "address";

impl<A: System> ContactAliases for DynamoStore<A> {
    async fn find_alias(&self, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
        const WHAT: &str = "reading an alias";
        let Some(item) = self.table.get_record(WHAT, TableKey::for_alias(other)).await? else {
            return Ok(None);
        };
        let address = get_string(&item, ADDRESS).and_then(ContactAddress::parse);
        let address = address.ok_or_else(|| PortError::invalid(WHAT, "it names no address"))?;
        Ok(Some(address))
    }

    async fn save_alias(&self, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
        let record = Item::from([(ADDRESS.to_owned(), text_attribute(address.as_str()))]);
        let item = TableKey::for_alias(other).into_item(record);
        // The write has no condition, so it is never refused: the newest address wins.
        let _kept = self.table.put_record("learning an alias", item, None).await?;
        Ok(())
    }
}
