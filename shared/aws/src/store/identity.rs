//! The installation's identity key: one item, written once and read once by each process.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{Item, get_string, text_attribute};
use super::keys::TableKey;
use recado_domain::identity::IdentityKey;
use recado_pipeline::ports::{IdentityKeyStore, PortError, PortResult, System};

/// The attribute that holds the identity key.
const KEY: &str = "key";

fn parse_identity_key(what: &'static str, item: &Item) -> PortResult<IdentityKey> {
    get_string(item, KEY)
        .and_then(IdentityKey::from_hex)
        .ok_or_else(|| PortError::invalid(what, "it is no key"))
}

impl<A: System> IdentityKeyStore for DynamoStore<A> {
    async fn find_identity_key(&self) -> PortResult<Option<IdentityKey>> {
        const WHAT: &str = "reading the identity key";
        if let Some(known) = self.identity.get() {
            return Ok(Some(known.clone()));
        }
        let Some(item) = self.table.get_record(WHAT, TableKey::for_identity_key()).await? else {
            return Ok(None);
        };
        let key = parse_identity_key(WHAT, &item)?;
        Ok(Some(self.identity.get_or_init(|| key).clone()))
    }

    async fn put_identity_key_if_absent(&self, new: &IdentityKey) -> PortResult<IdentityKey> {
        const WHAT: &str = "keeping the identity key";
        let item = TableKey::for_identity_key()
            .into_item(Item::from([(KEY.to_owned(), text_attribute(new.to_hex()))]));
        let written = self
            .table
            .put_record(WHAT, item, Some(Expression::record_absent()))
            .await?;
        let key = match written {
            Ok(()) => new.clone(),
            Err(refused) => {
                let found = refused
                    .0
                    .ok_or_else(|| PortError::unavailable(WHAT, "it was not told"))?;
                parse_identity_key(WHAT, &found)?
            }
        };
        Ok(self.identity.get_or_init(|| key).clone())
    }
}
