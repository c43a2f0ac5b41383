//! The installation's identity key: one item, written once, read once by each process.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{Item, string, text};
use super::keys::Key;
use recado_domain::identity::IdentityKey;
use recado_pipeline::ports::{Ambient, Identity, PortError, PortResult};

/// The attribute that holds the key.
const KEY: &str = "key";

fn read(what: &'static str, item: &Item) -> PortResult<IdentityKey> {
    string(item, KEY)
        .and_then(IdentityKey::from_hex)
        .ok_or_else(|| PortError::invalid(what, "it is no key"))
}

impl<A: Ambient> Identity for DynamoStore<A> {
    async fn identity_key(&self) -> PortResult<Option<IdentityKey>> {
        const WHAT: &str = "reading the identity key";
        if let Some(known) = self.identity.get() {
            return Ok(Some(known.clone()));
        }
        let Some(item) = self.table.get(WHAT, Key::identity()).await? else {
            return Ok(None);
        };
        let key = read(WHAT, &item)?;
        Ok(Some(self.identity.get_or_init(|| key).clone()))
    }

    async fn keep_identity_key(&self, new: &IdentityKey) -> PortResult<IdentityKey> {
        const WHAT: &str = "keeping the identity key";
        let item = Key::identity().into_item(Item::from([(KEY.to_owned(), text(new.to_hex()))]));
        let written = self.table.put(WHAT, item, Some(Expression::absent())).await?;
        let key = match written {
            Ok(()) => new.clone(),
            Err(refused) => {
                let found = refused
                    .0
                    .ok_or_else(|| PortError::unavailable(WHAT, "it was not told"))?;
                read(WHAT, &found)?
            }
        };
        Ok(self.identity.get_or_init(|| key).clone())
    }
}
