//! The function `processor`: takes events from `inbound`, ten at a time, the groups of a batch side by side.
//!
//! If AWS End User Messaging Social is set up, it takes that queue too and puts its events into `inbound`, as the
//! function `webhook` does.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_domain::dead_letter::QueueName;
use recado_lambda::{
    FEATURES, QueueVisibility, SocialVisibility, SqsEvent, compose_aws_deps, invocation_deadline,
    required_variables, run_batch, telemetry, use_cases,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(&required_variables::PROCESSOR, &FEATURES).await?;
    let (deps, social) = (&composed.deps, &composed.environment.social);
    let visibility = QueueVisibility {
        queues: &deps.queues,
        queue: QueueName::Inbound,
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        deps.store.check_format().await?;
        let ends = invocation_deadline(&event.context);
        if social.is_source_of(&event.payload) {
            let handle = |received| use_cases::ingest_social_message(deps, social, received);
            let visibility = SocialVisibility { deps, social };
            return Ok::<_, Error>(run_batch(event.payload, false, &visibility, Some(ends), handle).await);
        }
        let handle = |received| use_cases::process_event(deps, received);
        Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
    }))
    .await
}
