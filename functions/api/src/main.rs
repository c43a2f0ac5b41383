//! api: health, configuration, conversations, messages, dead letters.

use lambda_http::Error;
use recado_aws::{AwsQueues, SystemAmbient};
use recado_domain::dead_letter::QueueName;
use recado_http::{ApiOptions, Pulse, api_router};
use recado_lambda::{AwsKeys, compose, needs, telemetry};
use recado_pipeline::ports::{Depths, PortResult, QueueDepth};
use std::sync::Arc;

struct SqsDepths(AwsQueues<SystemAmbient>);

impl Depths for SqsDepths {
    async fn depth(&self, queue: QueueName) -> PortResult<QueueDepth> {
        let depth = self.0.depth(queue).await?;
        Ok(QueueDepth {
            waiting: depth.waiting,
            in_flight: depth.in_flight,
            delayed: depth.delayed,
            oldest: None,
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start();
    let composed = compose(needs::API).await?;
    let options = ApiOptions {
        public_url: std::env::var("RECADO_PUBLIC_URL")
            .ok()
            .filter(|url| !url.is_empty()),
        simulator: None,
        depths: SqsDepths(composed.world.queues.clone()),
        pulse: Pulse::when_asked(),
    };
    let keys = AwsKeys::new(composed.secrets);
    lambda_http::run(api_router(Arc::new(composed.world), Arc::new(keys), options)).await
}
