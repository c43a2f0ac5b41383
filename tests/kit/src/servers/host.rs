//! A server on a thread with a runtime of its own, gone when dropped.

use super::cut::{Cut, CuttableListener};
use axum::Router;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// See the module.
#[derive(Debug)]
pub(super) struct Host {
    address: SocketAddr,
    /// Dropping it stops the server.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Host {
    /// Serves `router` on this port of 127.0.0.1; on any free one for 0. It takes connections when this returns.
    pub(super) fn start(port: u16, router: Router) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _entered = runtime.enter();
            CuttableListener(tokio::net::TcpListener::from_std(listener)?)
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("stand-in".to_owned())
            .spawn(move || serve(&runtime, listener, router, stopped))?;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens, such as `http://127.0.0.1:40001`.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Serves until stopped. The runtime ends with the thread, and with it every connection and every hanging answer.
fn serve(runtime: &Runtime, listener: CuttableListener, router: Router, stopped: oneshot::Receiver<()>) {
    runtime.block_on(async {
        let service = router.into_make_service_with_connect_info::<Cut>();
        let serving = async { axum::serve(listener, service).await };
        tokio::select! {
            _ = serving => {}
            _ = stopped => {}
        }
    });
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread was printed when it happened.
            thread.join().ok();
        }
    }
}
