//! Which number a person has whose messages may come without one: an item each, read only for such messages.

use super::DynamoStore;
use super::item::{Item, string, text};
use super::keys::Key;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use recado_pipeline::ports::{Aliases, Ambient, PortError, PortResult};

/// The attribute that holds the address with the number.
const ADDRESS: &str = "address";

impl<A: Ambient> Aliases for DynamoStore<A> {
    async fn alias(&self, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
        const WHAT: &str = "reading an alias";
        let Some(item) = self.table.get(WHAT, Key::alias(other)).await? else {
            return Ok(None);
        };
        let address = string(&item, ADDRESS).and_then(ContactAddress::parse);
        let address = address.ok_or_else(|| PortError::invalid(WHAT, "it names no address"))?;
        Ok(Some(address))
    }

    async fn learn_alias(&self, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
        let record = Item::from([(ADDRESS.to_owned(), text(address.as_str()))]);
        let item = Key::alias(other).into_item(record);
        // Nothing is asked, so nothing is refused: the newest wins.
        let _kept = self.table.put("learning an alias", item, None).await?;
        Ok(())
    }
}
