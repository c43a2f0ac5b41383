//! The function `api`: serves health, configuration, conversations, messages and dead letters.

use lambda_http::Error;
use recado_http::{ApiOptions, HealthProbe, api_router};
use recado_lambda::{AwsKeys, compose_aws_deps, required_variables, telemetry};
use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(required_variables::API).await?;
    let options = ApiOptions {
        public_url: composed.environment.public_url,
        simulator: None,
        depths: composed.deps.queues.clone(),
        health_probe: HealthProbe::on_request(),
    };
    let keys = AwsKeys::new(composed.secrets);
    lambda_http::run(api_router(Arc::new(composed.deps), Arc::new(keys), options)).await
}
