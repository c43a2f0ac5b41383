//! Recado's ports on AWS: records on `DynamoDB`, queues on SQS, the schedule on `EventBridge` Scheduler, large bodies
//! on S3, secrets in Parameter Store and Secrets Manager, news to open web sockets by API Gateway.
//!
//! The feature `services` (default) holds everything but the store.
//!
//! ```no_run
//! # async fn compose() -> Result<(), Box<dyn std::error::Error>> {
//! use recado_aws::{AwsConfig, AwsQueues, Clients, DynamoStore, OsSystem, variable};
//! use recado_ports::settings::VariableReader;
//! use std::time::Duration;
//!
//! let mut reader = VariableReader::new(std::env::vars_os());
//! let config = AwsConfig::from_environment(&mut reader, &[variable::TABLE]);
//! let clients = Clients::load_from_env(false).await?;
//! let table = config.table.clone().unwrap_or_default();
//! let config_ttl = Duration::from_secs(30);
//! let store = DynamoStore::new(clients.dynamodb.clone(), table, OsSystem, config_ttl);
//! let queues = AwsQueues::new(clients, config, OsSystem);
//! # Ok(())
//! # }
//! ```

mod cache;
#[cfg(feature = "services")]
mod clients;
#[cfg(feature = "services")]
mod config;
mod error;
#[cfg(feature = "services")]
mod https;
#[cfg(feature = "services")]
mod push;
#[cfg(feature = "services")]
mod queues;
#[cfg(feature = "services")]
mod request_log;
#[cfg(feature = "services")]
mod secrets;
mod store;
mod system;

#[cfg(feature = "services")]
pub use clients::Clients;
#[cfg(feature = "services")]
pub use config::{AwsConfig, variable};
pub use error::AwsError;
#[cfg(feature = "services")]
pub use push::{PushReport, PushSender};
#[cfg(feature = "services")]
pub use queues::AwsQueues;
#[cfg(feature = "services")]
pub use secrets::{AwsSecrets, OWN_SECRET_VARIABLES, OwnParameters};
pub use store::{DynamoStore, PublishedChanges, PushConnection, StreamRecord};
pub use system::OsSystem;
