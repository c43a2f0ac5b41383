//! The function `deferred-reply`: takes jobs from `turns`, some side by side. For a turn it asks the model, commits the reply and
//! sends it, or enqueues its send job.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_domain::dead_letter::QueueName;
use recado_lambda::{
    FEATURES, QueueVisibility, SqsEvent, compose_aws_deps, invocation_deadline, required_variables,
    run_batch, telemetry, use_cases,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let deps = &compose_aws_deps(&required_variables::DEFERRED_REPLY, &FEATURES)
        .await?
        .deps;
    let visibility = QueueVisibility {
        queues: &deps.queues,
        queue: QueueName::Turns,
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        deps.store.check_format().await?;
        let ends = invocation_deadline(&event.context);
        let handle = |received| use_cases::run_turns_job(deps, received);
        Ok::<_, Error>(run_batch(event.payload, false, &visibility, Some(ends), handle).await)
    }))
    .await
}
