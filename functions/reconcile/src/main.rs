//! The function `reconcile`: every minute, enqueues work that has been open too long, and records the messages that the
//! queues dead-lettered by themselves.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_lambda::{compose_aws_deps, required_variables, telemetry, use_cases};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let deps = &compose_aws_deps(required_variables::RECONCILE).await?.deps;
    lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| {
        let done = use_cases::reconcile_open_work(deps).await?;
        tracing::info!(
            events = done.events,
            send_jobs = done.send_jobs,
            turns = done.turns,
            probes = done.probes,
            parked = done.parked,
            collected = done.collected,
            expired = done.expired,
            failed = done.failed,
            "reconciled"
        );
        Ok::<_, Error>(())
    }))
    .await
}
