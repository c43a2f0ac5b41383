//! The SDK's clients. They share one HTTP client and send no request when they are created.

use crate::https::AwsHttpClient;
use crate::request_log::RequestLog;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use recado_http_client::ClientError;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// One client per service. Clones share those of services that not each process uses, which are created at their first use.
#[derive(Debug, Clone)]
pub struct Clients {
    /// `DynamoDB`: the records.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// SQS: the queues.
    pub sqs: aws_sdk_sqs::Client,
    /// The configuration that the clients share, for a client that only some builds have.
    pub shared: SdkConfig,
    log_requests: bool,
    others: Arc<OtherClients>,
}

/// The clients that are created at their first use.
#[derive(Debug, Default)]
struct OtherClients {
    s3: OnceLock<aws_sdk_s3::Client>,
    scheduler: OnceLock<aws_sdk_scheduler::Client>,
    ssm: OnceLock<aws_sdk_ssm::Client>,
    secrets: OnceLock<aws_sdk_secretsmanager::Client>,
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
    pub async fn load_from_env(log_requests: bool) -> Result<Self, ClientError> {
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(AwsHttpClient::new()?)
            .retry_config(RetryConfig::standard().with_max_attempts(3))
            .timeout_config(request_timeouts());
        // Lambda puts a function's credentials there. The chain that looks elsewhere too creates clients of its own.
        if std::env::var_os("AWS_LAMBDA_RUNTIME_API").is_some() {
            loader = loader.credentials_provider(EnvironmentVariableCredentialsProvider::new());
        }
        Ok(Self::new(&loader.load().await, log_requests))
    }

    /// Creates the clients from a shared configuration. With `log_requests`, each operation writes one log line.
    pub fn new(shared: &SdkConfig, log_requests: bool) -> Self {
        Self {
            dynamodb: build_client!(aws_sdk_dynamodb, shared, log_requests,),
            sqs: build_client!(aws_sdk_sqs, shared, log_requests,),
            shared: shared.clone(),
            log_requests,
            others: Arc::default(),
        }
    }

    /// Returns the client of S3, which holds large bodies and files.
    pub fn s3(&self) -> &aws_sdk_s3::Client {
        // Emulators serve buckets by path, since `bucket.localhost` is no host name.
        let by_path = self.shared.endpoint_url().is_some();
        self.others.s3.get_or_init(|| {
            build_client!(aws_sdk_s3, &self.shared, self.log_requests,
                .force_path_style(by_path).timeout_config(body_timeouts()))
        })
    }

    /// Returns the client of `EventBridge` Scheduler, for timers of more than 15 minutes.
    pub fn scheduler(&self) -> &aws_sdk_scheduler::Client {
        let build = || build_client!(aws_sdk_scheduler, &self.shared, self.log_requests,);
        self.others.scheduler.get_or_init(build)
    }

    /// Returns the client of Parameter Store, which holds the credentials of providers and models.
    pub fn ssm(&self) -> &aws_sdk_ssm::Client {
        let build = || build_client!(aws_sdk_ssm, &self.shared, self.log_requests,);
        self.others.ssm.get_or_init(build)
    }

    /// Returns the client of Secrets Manager, which holds Recado's own secrets.
    pub fn secrets(&self) -> &aws_sdk_secretsmanager::Client {
        let build = || build_client!(aws_sdk_secretsmanager, &self.shared, self.log_requests,);
        self.others.secrets.get_or_init(build)
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
