//! The service manager, such as systemd: it holds the listening socket, and is told the state of the process.

use anyhow::{Context, Result, bail};
use listenfd::ListenFd;
use sd_notify::NotifyState;
use tokio::net::TcpListener;

/// Takes the listening socket that the service manager handed over (`LISTEN_FDS`); `None` if it handed none over. It holds the
/// socket open while the process is started anew, so that whoever connects meanwhile waits and is not refused.
pub(crate) fn take_handed_socket() -> Result<Option<TcpListener>> {
    let mut handed = ListenFd::from_env();
    match handed.len() {
        0 => return Ok(None),
        1 => {}
        count => bail!("the service manager handed {count} sockets over: Recado listens on one"),
    }
    let listener = handed.take_tcp_listener(0);
    let listener = listener.context("the socket that the service manager handed over is not one of TCP")?;
    let Some(listener) = listener else { return Ok(None) };
    listener.set_nonblocking(true)?;
    Ok(Some(TcpListener::from_std(listener)?))
}

/// Tells the service manager that requests are answered.
pub(crate) fn tell_ready() {
    tell(NotifyState::Ready);
}

/// Tells the service manager that the process finishes what it began.
pub(crate) fn tell_stopping() {
    tell(NotifyState::Stopping);
}

/// Tells the service manager a state. Without one nothing is told, and a failure changes nothing.
fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(false, &[state]) {
        tracing::warn!(%error, "the service manager was not told the state");
    }
}
