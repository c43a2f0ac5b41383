//! The function `poster`: takes jobs of endpoints from `webhooks`, one of an endpoint at a time, and posts published events to them.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_lambda::{
    AwsEndpointPosts, EndpointJobVisibility, NO_FEATURES, SqsEvent, compose_aws_deps, invocation_deadline,
    required_variables, run_batch, telemetry, use_cases,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = compose_aws_deps(&required_variables::POSTER, &NO_FEATURES).await?;
    let (deps, posts) = (&composed.deps, &AwsEndpointPosts::new(composed.secrets.clone()));
    let visibility = EndpointJobVisibility { deps };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<SqsEvent>| {
        let ends = invocation_deadline(&event.context);
        let handle = |received| use_cases::run_endpoint_job(deps, posts, received);
        Ok::<_, Error>(run_batch(event.payload, true, &visibility, Some(ends), handle).await)
    }))
    .await
}
