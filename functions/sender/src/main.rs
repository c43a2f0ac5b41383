//! The function `sender`: takes jobs from `outbound`, one at a time. It sends what turns did not send themselves.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_domain::dead_letter::QueueName;
use recado_lambda::{
    FEATURES, QueueVisibility, SqsEvent, compose_aws_deps, invocation_deadline, required_variables,
    run_batch, telemetry, use_cases,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = &compose_aws_deps(&required_variables::SENDER, &FEATURES).await?;
    let visibility = QueueVisibility {
        queues: &composed.deps.queues,
        queue: QueueName::Outbound,
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        composed.deps.store.check_format().await?;
        let ends = invocation_deadline(&event.context);
        let handle = |received| use_cases::run_outbound_job(composed, received);
        Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
    }))
    .await
}
