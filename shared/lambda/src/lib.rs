//! The common parts of the Lambda functions: their dependencies, their handling of batches, their logs, their metrics.
//!
//! A function that works on a queue looks like this, with its own use case of [`use_cases`]:
//!
//! ```no_run
//! use recado_lambda::{
//!     FEATURES, QueueVisibility, SqsEvent, compose_aws_deps, invocation_deadline, required_variables, run_batch, telemetry, use_cases,
//! };
//! use lambda_runtime::{Error, LambdaEvent, service_fn};
//! use recado_domain::dead_letter::QueueName;
//!
//! async fn function() -> Result<(), Error> {
//!     telemetry::start_logging();
//!     let composed = compose_aws_deps(&required_variables::PROCESSOR, &FEATURES).await?;
//!     let deps = &composed.deps;
//!     lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
//!         let visibility = QueueVisibility { queues: &deps.queues, queue: QueueName::Inbound };
//!         let ends = invocation_deadline(&event.context);
//!         let handle = |received| use_cases::process_event(deps, received);
//!         Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
//!     }))
//!     .await
//! }
//! ```

mod batch;
mod compose;
mod emf;
mod endpoint_posts;
mod event;
mod http_events;
mod keys;
mod process_end;
mod push;
mod read_ahead;
pub mod required_variables;
mod settings_record;
mod social;
#[cfg(feature = "aws-social")]
mod social_files;
pub mod telemetry;
pub mod use_cases;

pub use batch::{BatchMessage, MessageVisibility, run_batch};
pub use compose::{AwsComposition, ComposeError, LambdaEnvironment, QueueVisibility, compose_aws_deps};
pub use emf::{MetricsMode, MetricsSettings};
pub use endpoint_posts::{AwsEndpointPosts, EndpointJobVisibility};
pub use event::{BatchItemFailure, BatchResponse, SqsAttributes, SqsEvent, SqsRecord, StreamEvent};
pub use http_events::serve_router;
pub use push::PushNotifier;
pub use recado_features::FEATURES;
pub use recado_pipeline::NO_FEATURES;
pub use social::{SocialQueue, SocialVisibility};

use jiff::Timestamp;
use recado_ai::Model;
use recado_aws::{AwsQueues, AwsSecrets, DynamoStore, OsSystem};
use recado_domain::millis::from_unix_millis;
use recado_pipeline::Components;
use recado_whatsapp::WhatsApp;

/// The dependencies of the Lambda functions.
pub type AwsDeps = Components<
    DynamoStore<OsSystem>,
    AwsQueues<OsSystem>,
    WhatsApp<AwsSecrets<OsSystem>, OsSystem>,
    Model<AwsSecrets<OsSystem>, OsSystem>,
    OsSystem,
>;

/// Returns the time at which the invocation ends.
pub fn invocation_deadline(context: &lambda_runtime::Context) -> Timestamp {
    from_unix_millis(i64::try_from(context.deadline).unwrap_or(i64::MAX))
}
