//! Writes of the table that are made beside those of other records, in one transaction.

use super::DynamoStore;
use super::keys::TableKey;
use super::table_port::to_action;
use super::transaction::{FailedConditions, TransactionAction};
use recado_ports::ports::System;
use recado_ports::table::{Version, Write};

impl<A: System> DynamoStore<A> {
    /// Returns the actions that make these writes, in their order. What is kept in memory of their items must be
    /// [forgotten](Self::forget_table_items) afterwards.
    pub(super) fn build_table_actions(&self, writes: &[Write]) -> Vec<TransactionAction> {
        let (version, now) = (Version(self.table.system.random_u64()), self.table.system.now());
        let actions = writes.iter().map(|write| to_action(write, version, now));
        actions.collect()
    }

    /// Forgets what is kept in memory of the items of these writes.
    pub(super) fn forget_table_items(&self, writes: &[Write]) {
        for write in writes {
            self.items.remove_key(&TableKey::for_table_item(write.key()));
        }
    }
}

/// Returns the places of those of `count` writes whose conditions did not hold. Their actions began at `first` of a transaction.
pub(super) fn list_refused_writes(failed: &FailedConditions, first: usize, count: usize) -> Vec<usize> {
    let is_refused = |place: &usize| failed.for_action(first + place).is_some();
    (0..count).filter(is_refused).collect()
}
