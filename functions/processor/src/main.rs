//! processor: takes `inbound`, ten records at a time, the groups of a batch side by side. Where AWS End User Messaging Social
//! is set up, it takes that queue too: its events go into `inbound`, as a webhook's do.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_domain::dead_letter::QueueName;
use recado_lambda::{
    QueueVisibility, Received, Social, SocialVisibility, SqsEvent, compose, deadline, needs, run_batch,
    take_social, telemetry,
};
use recado_pipeline::process::process;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start();
    let world = &compose(needs::PROCESSOR).await?.world;
    let visibility = QueueVisibility {
        queues: &world.queues,
        queue: QueueName::Inbound,
    };
    let social = &Social::from_env();
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let ends = deadline(&event.context);
        if social.sent(&event.payload) {
            let handle = |received: Received| async move { take_social(world, social, &received).await };
            let visibility = SocialVisibility { world, social };
            return Ok::<_, Error>(run_batch(event.payload, false, &visibility, Some(ends), handle).await);
        }
        let handle =
            |received: Received| async move { process(world, &received.body, received.receives).await };
        Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
    }))
    .await
}
