//! The shell of the Lambda functions: what they are made of, how they take a batch, how they log.
//!
//! A function that works on a queue is this, with its own use case in place of `process`:
//!
//! ```no_run
//! use recado_lambda::{QueueVisibility, SqsEvent, compose, deadline, run_batch, telemetry};
//! use lambda_runtime::{Error, LambdaEvent, service_fn};
//! use recado_domain::dead_letter::QueueName;
//!
//! async fn function() -> Result<(), Error> {
//!     telemetry::start();
//!     let composed = compose(&[recado_aws::variable::INBOUND_QUEUE]).await?;
//!     let world = &composed.world;
//!     lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
//!         let visibility = QueueVisibility { queues: &world.queues, queue: QueueName::Inbound };
//!         let ends = deadline(&event.context);
//!         let handle = |received: recado_lambda::Received| async move {
//!             recado_pipeline::process::process(world, &received.body, received.receives).await
//!         };
//!         Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
//!     }))
//!     .await
//! }
//! ```

mod batch;
mod compose;
mod event;
mod keys;
pub mod needs;
mod social;
#[cfg(feature = "aws-social")]
mod social_files;
pub mod telemetry;

pub use batch::{Received, Visibility, run_batch};
pub use compose::{AwsWorld, ComposeError, Composed, QueueVisibility, compose};
pub use event::{BatchItemFailure, SqsAttributes, SqsBatchResponse, SqsEvent, SqsRecord};
pub use keys::{AwsKeys, webhook_limits};
pub use social::{Social, SocialVisibility, take_social};

use jiff::Timestamp;
use recado_domain::millis::instant;

/// When the invocation's time runs out.
pub fn deadline(context: &lambda_runtime::Context) -> Timestamp {
    instant(i64::try_from(context.deadline).unwrap_or(i64::MAX))
}
