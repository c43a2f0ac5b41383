//! sender: takes `outbound`, one kick at a time; the only function that sends.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_domain::dead_letter::QueueName;
use recado_lambda::{QueueVisibility, Received, SqsEvent, compose, deadline, needs, run_batch, telemetry};
use recado_pipeline::send::send;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start();
    let world = &compose(needs::SENDER).await?.world;
    let visibility = QueueVisibility {
        queues: &world.queues,
        queue: QueueName::Outbound,
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let ends = deadline(&event.context);
        let handle = |received: Received| async move {
            // On the heap: with everything that a send may come to, it is a large one.
            Box::pin(send(world, &received.body, received.receives, received.deadline)).await
        };
        Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
    }))
    .await
}
