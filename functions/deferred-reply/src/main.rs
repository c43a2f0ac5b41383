//! deferred-reply: takes `turns`, one at a time; asks the model, commits the reply, kicks the sender.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_domain::dead_letter::QueueName;
use recado_lambda::{QueueVisibility, Received, SqsEvent, compose, deadline, needs, run_batch, telemetry};
use recado_pipeline::reply::reply;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start();
    let world = &compose(needs::DEFERRED_REPLY).await?.world;
    let visibility = QueueVisibility {
        queues: &world.queues,
        queue: QueueName::Turns,
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let ends = deadline(&event.context);
        let handle =
            |received: Received| async move { reply(world, &received.body, received.receives).await };
        Ok::<_, Error>(run_batch(event.payload, false, &visibility, Some(ends), handle).await)
    }))
    .await
}
