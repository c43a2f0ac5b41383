//! Records on `DynamoDB`: one table with five indexes. [`keys`] lists the key of each kind of record.

mod changed_record;
mod conversation_lists;
mod conversations;
mod deliveries;
mod expression;
mod identity;
mod inbox;
mod instances;
mod item;
mod keys;
mod lists;
mod log_head;
mod moving;
mod outbox;
mod overviews;
mod parking;
mod published_events;
mod publishing;
mod push_connections;
mod record_indexes;
mod record_query;
mod record_removal;
mod records;
mod request_attempts;
mod stream_record;
mod table;
mod table_port;
mod tenant_records;
mod transaction;
mod unacknowledged;
mod usage;
mod waiting;

pub use publishing::PublishedChanges;
pub use push_connections::PushConnection;
pub use stream_record::StreamRecord;

use crate::cache::Cache;
use crate::system::OsSystem;
use aws_sdk_dynamodb::Client;
use keys::TableKey;
use recado_domain::config::InstanceConfig;
use recado_domain::identity::IdentityKey;
use recado_ports::ports::{InstanceName, System};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::KINDS;
use recado_ports::table::{Kind, StoredItem};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use table::DynamoTable;

/// The store on one table. The table is not created here: `template.yaml` declares it. Clones share their caches.
#[derive(Debug, Clone)]
pub struct DynamoStore<A = OsSystem> {
    table: DynamoTable<A>,
    /// The kinds of records that the table's port holds.
    kinds: &'static [Kind],
    configs: Cache<InstanceName, Arc<InstanceConfig>>,
    items: Cache<TableKey, StoredItem>,
    /// The identity key. It never changes, so a process reads it once.
    identity: Arc<OnceLock<IdentityKey>>,
}

impl<A: System> DynamoStore<A> {
    /// Returns a random text by which a request recognizes its own effect.
    fn random_nonce(&self) -> String {
        generate_nonce(&self.table.system).as_str().to_owned()
    }

    /// Creates the store on the table `name`. Configuration, and what `get_cached` reads, may be `config_ttl` old (zero: it is
    /// read every time).
    pub fn new(client: Client, name: impl Into<String>, system: A, config_ttl: Duration) -> Self {
        // A missing instance is looked for again sooner: somebody may have just configured it, and waits.
        let missed = config_ttl.min(Duration::from_secs(3));
        Self {
            table: DynamoTable {
                client,
                name: name.into(),
                system,
            },
            kinds: &KINDS,
            configs: Cache::new(config_ttl, missed),
            items: Cache::new(config_ttl, missed),
            identity: Arc::default(),
        }
    }

    /// Makes these the kinds of records that move, are published, and go with their tenants.
    #[must_use]
    pub fn with_kinds(self, kinds: &'static [Kind]) -> Self {
        Self { kinds, ..self }
    }
}
