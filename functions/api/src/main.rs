//! The function `api`: serves health, configuration, conversations, messages and dead letters, and sets instances up.

use lambda_http::Error;
use recado_lambda::{compose_aws_deps, required_variables, telemetry, use_cases};
use recado_onboarding::SetupDesk;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(required_variables::API).await?;
    let desk = SetupDesk {
        http: composed.http.clone(),
        config: composed.environment.provider_config(),
        secrets: composed.secrets.clone(),
        hosts: composed.deps.settings.onboarding_hosts.clone(),
    };
    lambda_http::run(use_cases::build_api_router(composed, desk.into_setup())).await
}
