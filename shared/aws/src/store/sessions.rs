//! The sessions of the console: an item for each, under the hash of its text, which expires with it.

use super::DynamoStore;
use super::expression::{Expression, UpdateChange};
use super::item::{self, Item, number_attribute};
use super::keys::TableKey;
use aws_sdk_dynamodb::types::ReturnValue;
use jiff::Timestamp;
use recado_domain::access::{ConsoleSession, TokenHash};
use recado_ports::ports::{PortResult, Sessions, System};

fn session_item(what: &'static str, session: &ConsoleSession) -> PortResult<Item> {
    let mut item = item::encode_record(what, session)?;
    item.insert("ttl".to_owned(), number_attribute(session.expires_at.as_second()));
    Ok(TableKey::for_session(&session.hash).into_item(item))
}

impl<A: System> Sessions for DynamoStore<A> {
    async fn put_session(&self, session: &ConsoleSession) -> PortResult<()> {
        const WHAT: &str = "keeping a session";
        let item = session_item(WHAT, session)?;
        let _unconditional = self.table.put_record(WHAT, item, None).await?;
        Ok(())
    }

    async fn find_session(&self, hash: &TokenHash) -> PortResult<Option<ConsoleSession>> {
        const WHAT: &str = "looking a session up";
        let found = self.table.get_record(WHAT, TableKey::for_session(hash)).await?;
        // One that cannot be read counts as ended: its person signs in again.
        let read = |item| item::keep_readable(item::decode_record(WHAT, &item));
        let found: Option<ConsoleSession> = found.and_then(read);
        let now = self.table.system.now();
        Ok(found.filter(|session| session.is_valid_at(now)))
    }

    async fn renew_session(&self, hash: &TokenHash, expires: Timestamp) -> PortResult<()> {
        let change = UpdateChange::default()
            .set_value("expires_at", number_attribute(expires.as_millisecond()))
            .set_value("ttl", number_attribute(expires.as_second()));
        // A session that ended meanwhile stays ended.
        let exists = Some(Expression::new("attribute_exists(#pk)"));
        let key = TableKey::for_session(hash);
        let _ended = self
            .table
            .update_record("renewing a session", key, &change, exists, ReturnValue::None)
            .await?;
        Ok(())
    }

    async fn delete_session(&self, hash: &TokenHash) -> PortResult<()> {
        self.delete_any("ending a session", TableKey::for_session(hash))
            .await
    }
}
