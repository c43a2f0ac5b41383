//! The newest sign of each contact's typing: one item, which expires after a minute.

use super::DynamoStore;
use super::item::{self, number_attribute};
use super::keys::TableKey;
use recado_domain::ids::ThreadId;
use recado_domain::millis::add_duration;
use recado_domain::typing::{TYPING_SIGN_KEPT, TypingSign};
use recado_ports::ports::{PortResult, System, TypingSigns};

impl<A: System> TypingSigns for DynamoStore<A> {
    async fn put_typing_sign(&self, thread: &ThreadId, sign: &TypingSign) -> PortResult<()> {
        const WHAT: &str = "keeping a sign of typing";
        let mut record = item::encode_record(WHAT, sign)?;
        let expires = add_duration(sign.at, TYPING_SIGN_KEPT);
        record.insert("ttl".to_owned(), number_attribute(expires.as_second()));
        // The write has no condition, so it is never refused: the newest sign wins.
        let _kept = self
            .table
            .put_record(WHAT, TableKey::for_typing(thread).into_item(record), None)
            .await?;
        Ok(())
    }

    async fn find_typing_sign(&self, threads: &[ThreadId]) -> PortResult<Option<TypingSign>> {
        const WHAT: &str = "reading signs of typing";
        let keys = threads.iter().map(TableKey::for_typing).collect();
        let found = self.table.get_records(WHAT, keys, false).await?;
        let now = self.table.system.now();
        let kept = found.into_iter().filter_map(|found| item::unexpired(found, now));
        let signs: Vec<TypingSign> = item::decode_readable(WHAT, kept);
        Ok(signs.into_iter().max_by_key(|sign| sign.at))
    }
}
