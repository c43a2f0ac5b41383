//! The function `api`: serves health, configuration, conversations, messages, knowledge and dead letters, sets instances up, and lets
//! pages connect to the WebSocket API. With the arguments of [`ReadingLimits`] it is the process that reads one document.

use lambda_http::Error;
use recado_documents::{ReadingLimits, print_document};
use recado_lambda::{FEATURES, compose_aws_deps, required_variables, serve_router, telemetry, use_cases};
use recado_onboarding::SetupService;

fn main() -> Result<(), Error> {
    if let Some(limits) = ReadingLimits::from_arguments(std::env::args().skip(1)) {
        return Ok(print_document(limits)?);
    }
    serve_requests()
}

#[tokio::main(flavor = "current_thread")]
async fn serve_requests() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(&required_variables::API, &FEATURES).await?;
    let service = SetupService {
        http: composed.http.clone(),
        config: composed.environment.provider_config(),
        secrets: composed.secrets.clone(),
    };
    serve_router(use_cases::build_api_router(composed, service.into_setup())).await
}
