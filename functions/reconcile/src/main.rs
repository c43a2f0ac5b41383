//! reconcile: every minute; kicks what has been open too long, and enters what queues gave up by themselves.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_lambda::{compose, needs, telemetry};
use recado_pipeline::reconcile::reconcile;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start();
    let world = &compose(needs::RECONCILE).await?.world;
    lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| {
        let done = Box::pin(reconcile(world)).await?;
        tracing::info!(
            events = done.events,
            kicked = done.kicked,
            turns = done.turns,
            probes = done.probes,
            parked = done.parked,
            collected = done.collected,
            failed = done.failed,
            "reconciled"
        );
        Ok::<_, Error>(())
    }))
    .await
}
