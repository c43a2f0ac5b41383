//! Tells push connections, by the management API of API Gateway, that there is more to read.
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-how-to-call-websocket-api-connections.html>

use crate::error::error_code;
use crate::request_log::RequestLog;
use crate::store::PushConnection;
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_apigatewaymanagement::Client;
use aws_sdk_apigatewaymanagement::config::Builder;
use aws_sdk_apigatewaymanagement::primitives::Blob;
use futures::stream::{self, StreamExt};
use std::time::Duration;

/// The message that a connection gets. It says nothing of what happened: the client asks for that.
const NEWS: &[u8] = br#"{"more":true}"#;

/// The number of connections that are told side by side.
const TOLD_AT_ONCE: usize = 32;

/// Longest time for one connection. A healthy answer takes milliseconds.
const ONE_LIMIT: Duration = Duration::from_millis(500);

/// Longest time after which a request is repeated.
const REPEATED_AFTER: Duration = Duration::from_millis(50);

/// Longest time for all connections.
const ALL_LIMIT: Duration = Duration::from_secs(1);

/// Tells push connections that there is more to read.
#[derive(Debug, Clone)]
pub struct PushSender {
    client: Client,
}

/// The results of notifying connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PushReport {
    /// The number of connections that were told.
    pub told: usize,
    /// The connections that are gone, or not open yet.
    pub gone: Vec<PushConnection>,
    /// The number of connections that could not be told.
    pub failed: usize,
    /// The number of connections for which no time was left.
    pub left: usize,
}

impl PushReport {
    /// Returns whether the management API was slow, or told nobody.
    pub fn is_in_trouble(&self) -> bool {
        self.left > 0 || (self.failed > 0 && self.told == 0)
    }
}

/// The answer about one connection.
enum PushOutcome {
    Notified,
    Gone,
    Failed,
}

impl PushSender {
    /// Creates it for the WebSocket API at `url`: `wss://`, the host and the stage. With `log_requests`, each request writes one log
    /// line.
    pub fn new(shared: &SdkConfig, url: &str, log_requests: bool) -> Self {
        let address = url
            .strip_prefix("ws")
            .map_or_else(|| url.to_owned(), |rest| format!("http{rest}"));
        let limits = TimeoutConfig::builder()
            .connect_timeout(ONE_LIMIT)
            .operation_timeout(ONE_LIMIT);
        // Once more: what was kept open while the function slept may be closed.
        let retry = RetryConfig::standard()
            .with_max_attempts(2)
            .with_initial_backoff(REPEATED_AFTER);
        let mut config = Builder::from(shared)
            .endpoint_url(address)
            .retry_config(retry)
            .timeout_config(limits.build());
        if log_requests {
            config = config.interceptor(RequestLog);
        }
        Self {
            client: Client::from_conf(config.build()),
        }
    }

    /// Tells connections that there is more to read, several at a time, within a second in all.
    pub async fn notify_connections(&self, connections: Vec<PushConnection>) -> PushReport {
        let count = connections.len();
        let told = stream::iter(connections).map(|connection| async move {
            let outcome = self.notify_connection(&connection.id).await;
            (connection, outcome)
        });
        let until = Box::pin(tokio::time::sleep(ALL_LIMIT));
        let mut answers = Box::pin(told.buffer_unordered(TOLD_AT_ONCE).take_until(until));
        let mut report = PushReport::default();
        while let Some((connection, outcome)) = answers.next().await {
            match outcome {
                PushOutcome::Notified => report.told += 1,
                PushOutcome::Gone => report.gone.push(connection),
                PushOutcome::Failed => report.failed += 1,
            }
        }
        report.left = count - report.told - report.gone.len() - report.failed;
        report
    }

    async fn notify_connection(&self, id: &str) -> PushOutcome {
        let request = self.client.post_to_connection().connection_id(id);
        match request.data(Blob::new(NEWS)).send().await {
            Ok(_) => PushOutcome::Notified,
            Err(error)
                if error
                    .raw_response()
                    .is_some_and(|raw| raw.status().as_u16() == 410) =>
            {
                PushOutcome::Gone
            }
            Err(error) => {
                tracing::debug!(code = error_code(&error), "a push connection could not be told");
                PushOutcome::Failed
            }
        }
    }
}
