use crate::db_error::{DbError, DbResult};
use crate::installation_values::read_value;
use recado_domain::identity::IdentityKey;
use rusqlite::Connection;

/// The name of the identity key in the table `installation`.
pub(super) const IDENTITY_KEY: &str = "identity-key";

pub(super) fn select_identity_key(db: &Connection) -> DbResult<Option<IdentityKey>> {
    let text = read_value(db, IDENTITY_KEY)?;
    text.map(|text| {
        IdentityKey::from_hex(&text).ok_or_else(|| DbError::Argument("the identity key is unreadable"))
    })
    .transpose()
}
