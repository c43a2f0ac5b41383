//! processor: takes `inbound`, ten records at a time, the groups of a batch side by side. Where AWS End User Messaging Social
//! is set up, it takes that queue too: its events go into `inbound`, as a webhook's do.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_aws::variable;
use recado_domain::dead_letter::QueueName;
use recado_lambda::{
    QueueVisibility, Received, Social, SqsEvent, compose, deadline, run_batch, take_social, telemetry,
};
use recado_pipeline::process::process;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start();
    let required = [
        variable::INBOUND_QUEUE,
        variable::INBOUND_DLQ,
        variable::TURNS_QUEUE,
        variable::OUTBOUND_QUEUE,
    ];
    let world = &compose(&required).await?.world;
    let visibility = QueueVisibility {
        queues: &world.queues,
        queue: QueueName::Inbound,
    };
    let social = &Social::from_env();
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let ends = deadline(&event.context);
        if social.sent(&event.payload) {
            let handle = |received: Received| async move { take_social(world, social, &received).await };
            return Ok::<_, Error>(run_batch(event.payload, false, social, Some(ends), handle).await);
        }
        let handle =
            |received: Received| async move { process(world, &received.body, received.receives).await };
        Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
    }))
    .await
}
