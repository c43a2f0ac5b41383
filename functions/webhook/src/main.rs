//! The function `webhook`: checks a webhook's proof, records and enqueues each event, and answers 200.

use lambda_http::Error;
use recado_http::webhook_router;
use recado_lambda::{AwsKeys, compose_aws_deps, required_variables, telemetry};
use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(required_variables::WEBHOOK).await?;
    let keys = AwsKeys::new(composed.secrets);
    let limits = composed.environment.webhook_limits;
    lambda_http::run(webhook_router(Arc::new(composed.deps), Arc::new(keys), limits)).await
}
