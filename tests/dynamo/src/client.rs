//! The SDK's client for the in-process database: no socket, no runtime, no time but the simulator's.

use crate::connector::Connector;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    AsyncSleep, BehaviorVersion, Config, IdentityCache, Region, Sleep, StalledStreamProtectionConfig,
};
use aws_smithy_async::time::TimeSource;
use futures::future::BoxFuture;
use recado_pipeline::ports::System;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

/// A client that tries each request `attempts` times, with the same waits in every run.
pub(crate) fn client<A: System + 'static>(connector: &Connector, system: Arc<A>, attempts: u32) -> Client {
    let retries = match attempts {
        0 | 1 => RetryConfig::disabled(),
        attempts => RetryConfig::standard()
            .with_max_attempts(attempts)
            .with_use_static_exponential_base(true),
    };
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::from_static("us-east-1"))
        .endpoint_url("http://dynamodb.invalid")
        // The database asks for no signature, which would take a tenth of the time.
        .allow_no_auth()
        .identity_cache(IdentityCache::no_cache())
        .http_client(connector.clone())
        .time_source(Time(connector.clone()))
        .sleep_impl(Waits(system))
        .retry_config(retries)
        // A lost answer is a fault of the simulator's, not the end of a wait.
        .timeout_config(TimeoutConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build();
    Client::from_conf(config)
}

#[derive(Debug)]
struct Time(Connector);

impl TimeSource for Time {
    fn now(&self) -> SystemTime {
        self.0.hooks().now().into()
    }
}

struct Waits<A>(Arc<A>);

impl<A: System + 'static> AsyncSleep for Waits<A> {
    fn sleep(&self, duration: Duration) -> Sleep {
        let system = Arc::clone(&self.0);
        let wait: BoxFuture<'static, ()> = Box::pin(async move { system.sleep(duration).await });
        Sleep::new(Shared(Mutex::new(wait)))
    }
}

impl<A> fmt::Debug for Waits<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waits")
    }
}

/// A wait that may be shared between threads, as the SDK wants it. Only its owner polls it.
struct Shared(Mutex<BoxFuture<'static, ()>>);

impl Future for Shared {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let wait = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        wait.as_mut().poll(context)
    }
}
