//! The installation's identity key: one item, written once and read once by each process. It holds the format of the
//! table's records as well: a table of another format is refused.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{Item, get_integer, get_string, number_attribute, text_attribute};
use super::keys::TableKey;
use recado_domain::RECORD_FORMAT;
use recado_domain::identity::IdentityKey;
use recado_pipeline::ports::{IdentityKeyStore, PortError, PortResult, System};

/// The attribute that holds the identity key.
const KEY: &str = "key";

/// The attribute that holds the format of the records.
const FORMAT: &str = "format";

fn parse_identity_key(what: &'static str, item: &Item) -> PortResult<IdentityKey> {
    let found = get_integer(item, FORMAT).unwrap_or(1);
    if found != i64::from(RECORD_FORMAT) {
        // Everything waits until the right functions are deployed: no event is given up.
        let why = format!(
            "the table is of format {found}, and these functions' is {RECORD_FORMAT}: until 0.1.0 is released, tables are not \
             converted. Deploy the functions that wrote it, or a stack with a new table"
        );
        return Err(PortError::unavailable(what, why));
    }
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
        let item = TableKey::for_identity_key().into_item(Item::from([
            (KEY.to_owned(), text_attribute(new.to_hex())),
            (FORMAT.to_owned(), number_attribute(i64::from(RECORD_FORMAT))),
        ]));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_another_format_is_refused_with_what_to_do_and_may_be_tried_again() {
        let key = (KEY.to_owned(), text_attribute("ab".repeat(32)));
        let item = |format: i64| Item::from([key.clone(), (FORMAT.to_owned(), number_attribute(format))]);
        let current = i64::from(RECORD_FORMAT);
        assert!(parse_identity_key("test", &item(current)).is_ok());
        for other in [item(current + 1), item(current - 1), Item::from([key.clone()])] {
            match parse_identity_key("test", &other) {
                Err(PortError::Unavailable { source, .. }) => {
                    assert!(source.to_string().contains("new table"), "{source}");
                }
                _ => panic!("the key was taken"),
            }
        }
    }
}
