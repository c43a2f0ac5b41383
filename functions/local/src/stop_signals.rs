//! The signals that stop the process.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, SIGTERM and SIGHUP (a terminal that was closed). The process listens for them from the start, so that none is
/// missed between two waits.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl StopSignals {
    pub(crate) fn register_handlers() -> Result<Self> {
        let listen = |kind, name| signal(kind).with_context(|| format!("cannot listen for {name}"));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt(), "Ctrl-C")?,
            terminate: listen(SignalKind::terminate(), "SIGTERM")?,
            hang_up: listen(SignalKind::hangup(), "SIGHUP")?,
        })
    }

    pub(crate) async fn wait_for_signal(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
