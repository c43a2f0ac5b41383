//! The database that a simulation's processes share.

use crate::SimulationError;
use crate::client::client;
use crate::connector::Connector;
use crate::hooks::Hooks;
use crate::operation::{Record, RecordKey};
use crate::publisher_filter::publisher_filter;
use crate::template::TABLE;
use jiff::Timestamp;
use recado_aws::{DynamoStore, StreamRecord};
use recado_pipeline::Settings;
use recado_pipeline::ports::System;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How a store is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How old configuration may be; zero: it is read every time.
    pub config_ttl: Duration,
    /// How often the SDK tries a request. 1: every fault is seen; 3 is what is deployed.
    pub attempts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            config_ttl: Settings::default().config_ttl.unsigned_abs(),
            attempts: 1,
        }
    }
}

/// A database in memory with the table of `template.yaml`. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Dynamo(Connector);

impl Dynamo {
    /// A new, empty one.
    pub fn new(hooks: Hooks) -> Result<Self, SimulationError> {
        Connector::new(hooks).map(Self)
    }

    /// A store on it, as a process has one. The waits of the adapter, and of the SDK between its tries, are `system`'s.
    pub fn store<A: System + Clone + 'static>(&self, system: A, options: &Options) -> DynamoStore<A> {
        let client = client(&self.0, Arc::new(system.clone()), options.attempts);
        DynamoStore::new(client, TABLE, system, options.config_ttl)
    }

    /// Removes what has expired by now; how many records. It is no request: no hook is asked but the clock.
    pub fn expire(&self) -> Result<usize, SimulationError> {
        self.0.expire()
    }

    /// All records by their keys. It is no request either.
    pub fn records(&self) -> Result<Vec<Record>, SimulationError> {
        self.0.records()
    }

    /// Has the table tell its changes from now on. Nothing is published unless somebody reads them.
    pub fn start_stream(&self) -> Result<(), SimulationError> {
        self.0.start_stream()
    }

    /// Returns at most `limit` changes behind a place (`None`: all that are told), and the place behind them. It is no request.
    pub fn changes(
        &self,
        place: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<StreamRecord>, Option<String>), SimulationError> {
        let (changes, next) = self.0.changes(place, limit)?;
        Ok((read_changes(changes)?, next))
    }

    /// Returns of [`Self::changes`] those that the filter of `publisher` in `template.yaml` lets through. Those of partitions whose keys
    /// begin with one of `others` are let through, too.
    pub fn changes_for_publisher(
        &self,
        place: Option<&str>,
        limit: usize,
        others: &[&str],
    ) -> Result<(Vec<StreamRecord>, Option<String>), SimulationError> {
        let (mut changes, next) = self.0.changes(place, limit)?;
        let filter = publisher_filter()?;
        changes.retain(|change| {
            let key = change.pointer("/dynamodb/Keys/pk/S").and_then(Value::as_str);
            let is_other = key.is_some_and(|key| others.iter().any(|other| key.starts_with(other)));
            is_other || filter.lets_through(change)
        });
        Ok((read_changes(changes)?, next))
    }

    /// Counts the read units of requests from here on. Returns those that were counted before.
    pub fn count_read_units(&self) -> f64 {
        self.0.count_read_units()
    }

    /// Counts the write units of requests from here on, but for those of transactions that are done item by item. Returns those that
    /// were counted before.
    pub fn count_write_units(&self) -> f64 {
        self.0.count_write_units()
    }

    /// Puts items as an export of a table holds them. It is no request either.
    pub fn put_items(&self, items: &[Value]) -> Result<(), SimulationError> {
        self.0.put_items(items)
    }

    /// Changes an attribute of a record into a text, as nothing of ours would write it. It is no request either.
    pub fn damage(&self, key: &RecordKey, attribute: &str) -> Result<(), SimulationError> {
        self.0.damage(key, attribute)
    }

    /// When the first of the open records falls due; `None` if nothing is open. What asking the port for what is overdue
    /// takes 40 requests for, this knows unless something was written; it is no request, and never late.
    pub fn first_due(&self) -> Result<Option<Timestamp>, SimulationError> {
        let first = self.0.first_due()?;
        Ok(first.and_then(|first| Timestamp::from_millisecond(first).ok()))
    }

    /// How many requests have arrived.
    pub fn requests(&self) -> u64 {
        self.0.requests()
    }
}

/// Reads changes in the form in which Lambda passes them on.
fn read_changes(changes: Vec<Value>) -> Result<Vec<StreamRecord>, SimulationError> {
    let read = changes.into_iter().map(serde_json::from_value);
    let read: Result<_, serde_json::Error> = read.collect();
    read.map_err(|error| SimulationError::Change(error.to_string()))
}
