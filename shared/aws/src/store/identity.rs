//! The installation's identity key: one item, written once and read once by each process. It holds the format of the
//! table's records as well: a table of a newer format, or of none that was released, is refused.

use super::DynamoStore;
use super::expression::{Expression, UpdateChange};
use super::item::{Item, get_integer, get_string, number_attribute, text_attribute};
use super::keys::TableKey;
use recado_domain::identity::IdentityKey;
use recado_domain::{OLDEST_RECORD_FORMAT, RECORD_FORMAT};
use recado_ports::ports::{PortError, PortResult, System};

/// The attribute that holds the identity key.
pub(super) const KEY: &str = "key";

/// The attribute that holds the format of the records.
pub(super) const FORMAT: &str = "format";

/// The format of a table that holds a part of an export only.
pub(super) const UNFINISHED_FORMAT: i64 = 0;

/// The formats that these functions read.
#[derive(Debug, Clone, Copy)]
struct KnownFormats {
    oldest: u32,
    current: u32,
}

const KNOWN: KnownFormats = KnownFormats {
    oldest: OLDEST_RECORD_FORMAT,
    current: RECORD_FORMAT,
};

/// The item that holds the identity key.
#[derive(Debug)]
struct IdentityItem {
    key: IdentityKey,
    /// The table's format, where it is older than these functions'.
    older: Option<i64>,
}

fn parse_identity_item(what: &'static str, item: &Item, known: KnownFormats) -> PortResult<IdentityItem> {
    let (oldest, current) = (i64::from(known.oldest), i64::from(known.current));
    let found = get_integer(item, FORMAT).unwrap_or(1);
    if found == UNFINISHED_FORMAT {
        let why = "an import into the table is not finished: run the same `recado-on-aws import` again";
        return Err(PortError::unavailable(what, why));
    }
    let refused = if found > current {
        "newer functions wrote it. Deploy those, or restore the table from before the update"
    } else if found < oldest {
        "export the data with the recado-on-aws of the version that wrote it (`recado-on-aws export`), and import the export into a \
         new stack with this version's (`recado-on-aws import`, docs/moving.md)"
    } else {
        let key = get_string(item, KEY).and_then(IdentityKey::from_hex);
        let key = key.ok_or_else(|| PortError::invalid(what, "it is no key"))?;
        let older = (found < current).then_some(found);
        return Ok(IdentityItem { key, older });
    };
    // Everything waits until the right functions are deployed: no event is given up.
    let why = format!(
        "the table is of format {found}, and these functions know formats up to {current}: {refused}"
    );
    Err(PortError::unavailable(what, why))
}

/// Reads the key out of its item. A table whose format these functions do not know is refused.
pub(super) fn parse_identity_key(what: &'static str, item: &Item) -> PortResult<IdentityKey> {
    parse_identity_item(what, item, KNOWN).map(|found| found.key)
}

impl<A: System> DynamoStore<A> {
    /// Checks that these functions know the format of the table's records: with one request for each process. A table of an older
    /// release is marked with their format, so that older functions that start from now on refuse it.
    pub async fn check_format(&self) -> PortResult<()> {
        self.read_identity_key().await.map(|_| ())
    }

    /// Takes the key out of its item, and marks the table if its format is older.
    async fn accept_identity_item(&self, what: &'static str, item: &Item) -> PortResult<IdentityKey> {
        let found = parse_identity_item(what, item, KNOWN)?;
        if let Some(older) = found.older {
            self.raise_format(what, older).await?;
        }
        Ok(self.identity.get_or_init(|| found.key).clone())
    }

    /// Sets the table's format to that of these functions, if it is `older` still.
    async fn raise_format(&self, what: &'static str, older: i64) -> PortResult<()> {
        let change = UpdateChange::default().set_value(FORMAT, number_attribute(i64::from(RECORD_FORMAT)));
        let unchanged = Expression::new(format!("#{FORMAT} = :older")).with_number(":older", older);
        let key = TableKey::for_identity_key();
        let raised = self.table.update_record(what, key, &change, Some(unchanged));
        // Refused: another function did it.
        if raised.await?.is_ok() {
            tracing::info!(
                from = older,
                to = RECORD_FORMAT,
                "the table was brought to this format"
            );
        }
        Ok(())
    }

    /// Returns the identity key; `None` if there is none yet.
    async fn read_identity_key(&self) -> PortResult<Option<IdentityKey>> {
        const WHAT: &str = "reading the identity key";
        if let Some(known) = self.identity.get() {
            return Ok(Some(known.clone()));
        }
        let Some(item) = self.table.get_record(WHAT, TableKey::for_identity_key()).await? else {
            return Ok(None);
        };
        self.accept_identity_item(WHAT, &item).await.map(Some)
    }

    /// Returns the identity key; stores what `make` makes if there is none yet.
    pub(super) async fn find_or_store_identity_key(
        &self,
        make: &(dyn Fn() -> IdentityKey + Sync),
    ) -> PortResult<IdentityKey> {
        const WHAT: &str = "keeping the identity key";
        if let Some(known) = self.read_identity_key().await? {
            return Ok(known);
        }
        let new = make();
        let item = TableKey::for_identity_key().into_item(Item::from([
            (KEY.to_owned(), text_attribute(new.to_hex())),
            (FORMAT.to_owned(), number_attribute(i64::from(RECORD_FORMAT))),
        ]));
        let absent = Some(Expression::record_absent());
        let Err(refused) = self.table.put_record(WHAT, item, absent).await? else {
            return Ok(self.identity.get_or_init(|| new).clone());
        };
        let found = refused.0;
        let found = found.ok_or_else(|| PortError::unavailable(WHAT, "it was not told"))?;
        self.accept_identity_item(WHAT, &found).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: KnownFormats = KnownFormats {
        oldest: 6,
        current: 8,
    };

    fn parse_with_format(format: Option<i64>) -> PortResult<IdentityItem> {
        let key = (KEY.to_owned(), text_attribute("ab".repeat(32)));
        let format = format.map(|format| (FORMAT.to_owned(), number_attribute(format)));
        parse_identity_item("test", &[key].into_iter().chain(format).collect(), LATER)
    }

    #[test]
    fn a_table_of_an_older_release_is_taken_and_known_as_older() {
        for (format, older) in [(6, Some(6)), (7, Some(7)), (8, None)] {
            assert_eq!(parse_with_format(Some(format)).unwrap().older, older);
        }
    }

    #[test]
    fn a_table_of_any_other_format_is_refused_with_what_to_do_and_may_be_tried_again() {
        for (format, told) in [
            (Some(9), "newer functions"),
            (Some(5), "recado-on-aws export"),
            (None, "recado-on-aws export"),
        ] {
            match parse_with_format(format) {
                Err(PortError::Unavailable { source, .. }) => {
                    assert!(source.to_string().contains(told), "{source}");
                }
                _ => panic!("the key was taken"),
            }
        }
    }
}
