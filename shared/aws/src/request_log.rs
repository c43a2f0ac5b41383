//! Writes one log line per SDK operation, to count what a message costs.

use aws_sdk_dynamodb::config::interceptors::BeforeSerializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_smithy_runtime_api::client::orchestrator::Metadata;

/// An interceptor that logs `service` and `operation` of every operation once, however often the SDK repeats it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestLog;

impl Intercept for RequestLog {
    fn name(&self) -> &'static str {
        "RequestLog"
    }

    // The first hook at which the operation is known, and the last hook that runs once for all its attempts.
    fn read_before_serialization(
        &self,
        _context: &BeforeSerializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(operation) = config.load::<Metadata>() {
            let (service, operation) = (operation.service(), operation.name());
            tracing::info!(target: "recado::aws", service, operation, "request");
        }
        Ok(())
    }
}
