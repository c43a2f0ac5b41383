//! The function `publisher`: takes changes of the records from the stream of the table, in their order, writes what they tell
//! into the log of published events, and tells open pages that there is more.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_lambda::{NO_FEATURES, StreamEvent, compose_aws_deps, required_variables, telemetry, use_cases};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = &compose_aws_deps(&required_variables::PUBLISHER, &NO_FEATURES).await?;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<StreamEvent>| {
        let answer = use_cases::publish_changes(composed, event.payload).await?;
        Ok::<_, Error>(answer)
    }))
    .await
}
