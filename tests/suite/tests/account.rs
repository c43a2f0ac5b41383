//! An account of the emulator: each 12-digit access key is a world of its own there.

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use recado_aws::Clients;
use std::time::Duration;

/// Where stacks and accounts are.
pub(crate) const REGION: &str = "us-east-1";

/// The emulator that `make suite` started.
pub(crate) fn emulator() -> String {
    std::env::var("RECADO_EMULATOR")
        .ok()
        .filter(|url| !url.is_empty())
        .expect("RECADO_EMULATOR is not set: these tests need a running emulator; run them with `make suite`")
}

/// Clients for an account. They belong to the runtime they are first used in: each test makes its own.
pub(crate) fn clients(account: &str) -> Clients {
    // The emulator is one process that all tests share: it is slow to answer, and that is no failure.
    let patient = Duration::from_secs(60);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(patient)
        .read_timeout(patient)
        .operation_timeout(patient * 2);
    let credentials = Credentials::new(account, "test", None, None, "tests");
    let shared = SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::new(REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .timeout_config(timeouts.build())
        .sleep_impl(aws_sdk_dynamodb::config::SharedAsyncSleep::new(Sleep))
        .endpoint_url(emulator());
    Clients::new(&shared.build(), false)
}

/// Tokio's timer.
#[derive(Debug)]
struct Sleep;

impl aws_sdk_dynamodb::config::AsyncSleep for Sleep {
    fn sleep(&self, duration: Duration) -> aws_sdk_dynamodb::config::Sleep {
        aws_sdk_dynamodb::config::Sleep::new(tokio::time::sleep(duration))
    }
}
