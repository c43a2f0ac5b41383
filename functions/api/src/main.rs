//! The function `api`: serves health, configuration, conversations, messages and dead letters.

use lambda_http::Error;
use recado_lambda::{compose_aws_deps, required_variables, telemetry, use_cases};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(required_variables::API).await?;
    lambda_http::run(use_cases::build_api_router(composed)).await
}
