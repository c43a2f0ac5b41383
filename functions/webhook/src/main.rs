//! The function `webhook`: checks a webhook's proof, records and enqueues each event, and answers 200.

use lambda_http::Error;
use recado_lambda::{NO_FEATURES, compose_aws_deps, required_variables, serve_router, telemetry, use_cases};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(&required_variables::WEBHOOK, &NO_FEATURES).await?;
    serve_router(use_cases::build_webhook_router(composed)).await
}
