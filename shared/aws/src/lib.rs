//! Recado's ports on AWS: records on `DynamoDB`, queues on SQS, the schedule on `EventBridge` Scheduler, large bodies
//! on S3, secrets in Parameter Store and Secrets Manager.
//!
//! ```no_run
//! # async fn compose() -> Result<(), Vec<&'static str>> {
//! use recado_aws::{AwsConfig, AwsQueues, Clients, DynamoStore, SystemAmbient, variable};
//! use std::time::Duration;
//!
//! let config = AwsConfig::from_env(&[variable::TABLE])?;
//! let clients = Clients::load().await;
//! let table = config.table.clone().unwrap_or_default();
//! let (config_ttl, delivery_ttl) = (Duration::from_secs(30), Duration::from_secs(30 * 86_400));
//! let store = DynamoStore::new(clients.dynamodb.clone(), table, SystemAmbient, config_ttl, delivery_ttl);
//! let queues = AwsQueues::new(clients, config, SystemAmbient);
//! # Ok(())
//! # }
//! ```

mod ambient;
mod cache;
mod clients;
mod config;
mod error;
mod queues;
mod requests;
mod secrets;
mod store;

pub use ambient::SystemAmbient;
pub use clients::Clients;
pub use config::{AwsConfig, variable};
pub use error::AwsError;
pub use queues::{AwsQueues, Depth};
pub use secrets::AwsSecrets;
pub use store::DynamoStore;
