//! The table of all records that are not on the path of a message.

use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::effects::Journal;
use recado_domain::opt_out::OptOut;
use recado_pipeline::ports::{PortResult, Store};
use recado_pipeline::table::{
    ItemPage, Key, Kind, Query, Record, Refusal, StoredItem, Table, Version, Write, WriteResult,
};

impl<S: Store> FaultyPort<S> {
    /// Whether a mutation hides this item from the function.
    fn is_hidden(&self, key: &Key) -> bool {
        let is_unasked = key.partition.name == OptOut::KIND
            && self.injector.function == "sender"
            && self.injector.lacks(Mutation::OptOutsUnasked);
        is_unasked || self.is_forgotten(key)
    }
}

#[async_trait]
impl<S: Store> Table for FaultyPort<S> {
    async fn get(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        let found = self.around("find_item", self.inner.get(key)).await?;
        let found = found.filter(|item| !self.is_hidden(&item.key));
        Ok(self.spoil_found(key, found))
    }

    async fn get_cached(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        self.around("find_cached_item", self.inner.get_cached(key)).await
    }

    async fn get_many(&self, keys: &[Key]) -> PortResult<Vec<StoredItem>> {
        let mut found = self.around("find_items", self.inner.get_many(keys)).await?;
        found.retain(|item| !self.is_hidden(&item.key));
        Ok(found)
    }

    async fn write(&self, writes: &[Write]) -> PortResult<WriteResult> {
        let effect = async move {
            let Some(made) = self.spoil_writes(writes) else {
                return Ok(Ok(vec![Version(1); writes.len()]));
            };
            let made = self.spoil_invitation_writes(self.spoil_client_writes(&made));
            let Some(made) = self.spoil_effect_writes(made).await? else {
                return Ok(Err(Refusal(vec![0])));
            };
            let written = self.write_noting_mail(&made).await?;
            Ok(self.note_effect_writes(&made, written))
        };
        self.around("write_items", effect).await
    }

    async fn page(&self, query: &Query) -> PortResult<ItemPage> {
        self.around("list_items", self.inner.page(query)).await
    }

    async fn count(&self, query: &Query) -> PortResult<u64> {
        self.around("count_items", self.inner.count(query)).await
    }

    async fn list_due(&self, kind: &Kind, now: Timestamp, limit: usize) -> PortResult<Vec<Key>> {
        let listed = self.inner.list_due(kind, now, limit);
        let mut due = self.around("list_due_items", listed).await?;
        if kind.name == Journal::KIND && self.injector.lacks(Mutation::EffectsNotOverdue) {
            due.clear();
        }
        Ok(due)
    }
}
