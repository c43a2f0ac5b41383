//! webhook: verifies the payload, records each event, enqueues, answers 200.

use lambda_http::Error;
use recado_http::webhook_router;
use recado_lambda::{AwsKeys, compose, needs, telemetry, webhook_limits};
use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start();
    let composed = compose(needs::WEBHOOK).await?;
    let keys = AwsKeys::new(composed.secrets);
    lambda_http::run(webhook_router(
        Arc::new(composed.world),
        Arc::new(keys),
        webhook_limits()?,
    ))
    .await
}
