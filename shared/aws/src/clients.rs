//! The SDK's clients. They are created once per process, share one HTTP client, and send no request when they are
//! created.

use crate::request_log::RequestLog;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use std::time::Duration;

/// One client per service.
#[derive(Debug, Clone)]
pub struct Clients {
    /// `DynamoDB`: the records.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// SQS: the queues.
    pub sqs: aws_sdk_sqs::Client,
    /// S3: the large bodies.
    pub s3: aws_sdk_s3::Client,
    /// `EventBridge` Scheduler: timers of more than 15 minutes.
    pub scheduler: aws_sdk_scheduler::Client,
    /// Parameter Store: the credentials of providers and models.
    pub ssm: aws_sdk_ssm::Client,
    /// Secrets Manager: Recado's own secrets.
    pub secrets: aws_sdk_secretsmanager::Client,
    /// The configuration that the clients share, for a client that only some builds have.
    pub shared: SdkConfig,
}

/// Returns the time-outs of most requests. A request to AWS takes milliseconds. A slower one is given up while the
/// function still has time to report it: the shortest function time-out is 10 s.
fn request_timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .read_timeout(Duration::from_secs(3))
        .operation_attempt_timeout(Duration::from_secs(3))
        .operation_timeout(Duration::from_secs(8))
        .build()
}

/// Returns the time-outs of requests with a large body. A body of some megabytes takes longer.
fn body_timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .read_timeout(Duration::from_secs(6))
        .operation_attempt_timeout(Duration::from_secs(6))
        .operation_timeout(Duration::from_secs(9))
        .build()
}

/// Builds a service's client. With `$logs`, each operation writes one log line.
macro_rules! build_client {
    ($sdk:ident, $shared:expr, $logs:expr, $($extra:tt)*) => {{
        let mut builder = $sdk::config::Builder::from($shared)$($extra)*;
        if $logs {
            builder = builder.interceptor(RequestLog);
        }
        $sdk::Client::from_conf(builder.build())
    }};
}

impl Clients {
    /// Creates the clients for the region and credentials of the environment. `AWS_ENDPOINT_URL` points them at an
    /// emulator; with `log_requests` each operation writes one log line. No request is sent.
    pub async fn load_from_env(log_requests: bool) -> Self {
        let http = Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let shared = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(http)
            .retry_config(RetryConfig::standard().with_max_attempts(3))
            .timeout_config(request_timeouts())
            .load()
            .await;
        Self::new(&shared, log_requests)
    }

    /// Creates the clients from a shared configuration. With `log_requests`, each operation writes one log line.
    pub fn new(shared: &SdkConfig, log_requests: bool) -> Self {
        // Emulators serve buckets by path, since `bucket.localhost` is no host name.
        let by_path = shared.endpoint_url().is_some();
        Self {
            dynamodb: build_client!(aws_sdk_dynamodb, shared, log_requests,),
            sqs: build_client!(aws_sdk_sqs, shared, log_requests,),
            s3: build_client!(aws_sdk_s3, shared, log_requests,
                .force_path_style(by_path).timeout_config(body_timeouts())),
            scheduler: build_client!(aws_sdk_scheduler, shared, log_requests,),
            ssm: build_client!(aws_sdk_ssm, shared, log_requests,),
            secrets: build_client!(aws_sdk_secretsmanager, shared, log_requests,),
            shared: shared.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_before_the_function_that_makes_them() {
        let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs());
        for (limits, attempt, all) in [(request_timeouts(), 3, 8), (body_timeouts(), 6, 9)] {
            assert_eq!(seconds(limits.connect_timeout()), Some(1));
            assert_eq!(seconds(limits.operation_attempt_timeout()), Some(attempt));
            // The webhook function has 10 seconds, every other one more.
            assert_eq!(seconds(limits.operation_timeout()), Some(all));
        }
    }
}
