//! The hook for what falls due in a feature: records with a time of their own.

use crate::Deps;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::InstanceId;
use recado_ports::ports::{OverdueWork, PortResult};

/// The records of a feature that have a time of their own. `reconcile` asks each minute which are due, and has them handled.
#[async_trait]
pub trait FeatureTimer: Send + Sync {
    /// Returns the name by which the report of `reconcile` counts the records that were handled.
    fn name_in_report(&self) -> &'static str;

    /// Lists the feature's records of the table that were due at `now`, the longest due first, at most `limit`.
    async fn list_due_records(&self, _deps: &Deps, _now: Timestamp, _limit: usize) -> PortResult<DueRecords> {
        Ok(Vec::new())
    }

    /// Returns what the index of open records names, if it is a record of this feature.
    fn claim_indexed_record(&self, _work: &OverdueWork) -> Option<Box<dyn DueRecord>> {
        None
    }

    /// Handles a conversation whose time has come and in which the agent owes no answer. Returns `false` if nothing of this feature was
    /// to be done.
    async fn handle_conversation(&self, _deps: &Deps, _conversation: &Conversation) -> PortResult<bool> {
        Ok(false)
    }
}

/// A record of a feature that is due.
#[async_trait]
pub trait DueRecord: std::fmt::Debug + Send + Sync {
    /// Handles the record, and begins nothing after `until`. Returns `false` if nothing was to be done. What is left is listed again.
    async fn handle_due_record(&self, deps: &Deps, until: Timestamp) -> PortResult<bool>;

    /// Finds the instance that owes somebody what the record stands for. `None`: it needs no instance, or is gone.
    async fn find_owing_instance(&self, _deps: &Deps) -> PortResult<Option<InstanceId>> {
        Ok(None)
    }
}

/// The due records of a timer.
pub type DueRecords = Vec<Box<dyn DueRecord>>;

/// Puts the records of one kind into the list of a timer.
pub fn box_records<R: DueRecord + 'static>(records: impl IntoIterator<Item = R>) -> DueRecords {
    let boxed = |record: R| -> Box<dyn DueRecord> { Box::new(record) };
    records.into_iter().map(boxed).collect()
}
