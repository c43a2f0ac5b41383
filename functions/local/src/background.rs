//! The threads of the work in the background: what follows from webhooks, and what runs by the clock.
//!
//! A webhook waits for its acknowledgement, and a person for an answer of the API. Nobody waits for the work in the background as
//! closely. So it has threads of its own, whose share of the processors is smaller where these have more to do than they can. On
//! a machine with free processors it is as fast as it would be without that.

use crate::alert_monitor::AlertMonitor;
use anyhow::{Context, Result};
use recado_embedded::Embedded;
use recado_http::LoopWatchdog;
use recado_pipeline::Deps;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// The runtime of the work in the background. Dropping it ends the threads without waiting for tasks.
#[derive(Debug)]
pub(crate) struct BackgroundRuntime(Option<Runtime>);

impl BackgroundRuntime {
    /// Starts the threads.
    pub(crate) fn start_threads() -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .thread_name("recado-work")
            .on_thread_start(recado_embedded::yield_to_acknowledgements)
            .build()
            .context("the threads of the background could not be started")?;
        Ok(Self(Some(runtime)))
    }

    /// Runs `work` on the threads. The handle can be waited for elsewhere.
    pub(crate) fn spawn_work<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match &self.0 {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        }
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        // A runtime that is dropped within another one must not wait for its tasks.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Time between two checks of the loops in the background.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Time between two looks for alerts while the background stands still.
const ALERT_INTERVAL: Duration = Duration::from_secs(60);

/// Checks the loops in the background from outside of their threads, for ever. Logs when one is late. While it is, nobody there looks
/// for alerts: this does. It requests no heartbeat, so that whoever watches that is told, too.
pub(crate) async fn watch_background(
    watchdog: LoopWatchdog,
    alert_monitor: AlertMonitor,
    deps: Arc<Deps>,
    embedded: Embedded,
) {
    let mut looked_at: Option<Instant> = None;
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let late = watchdog.list_late();
        if late.is_empty() {
            if looked_at.take().is_some() {
                tracing::info!("the work in the background goes on");
            }
        } else if looked_at.is_none_or(|at| at.elapsed() >= ALERT_INTERVAL) {
            looked_at = Some(Instant::now());
            tracing::error!(event = "background_stands_still", late = %late.join(", "), "the work in the background stands still");
            alert_monitor.run_pass(&deps, &embedded, None).await;
        }
    }
}
