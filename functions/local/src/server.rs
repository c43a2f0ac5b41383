//! The HTTP server of one machine: connections have limits, in number and in time, so that who opens many and says nothing
//! keeps nobody else out.

mod addresses;
mod body;
mod connections;
mod descriptors;
mod limits;
mod proxies;
mod stream;

pub(crate) use limits::ServerLimits;
pub(crate) use proxies::Proxies;

use addresses::Addresses;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use body::TimedBody;
use connections::{Connection, Connections, Entered, Phase};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use recado_http::Problem;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stream::Watched;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;

/// The most that is read ahead of a connection, headers included, in bytes.
const BUFFER_MAX: usize = 64 * 1024;

/// How long to wait when the system gives no connection, for want of descriptors or memory.
const PAUSE: Duration = Duration::from_millis(100);

/// What all connections share.
struct Server {
    router: Router,
    limits: ServerLimits,
    connections: Connections,
    addresses: Addresses,
}

/// Serves until `closing` says so, then finishes what is under way.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ServerLimits,
    mut closing: watch::Receiver<bool>,
) {
    let room = descriptors::room(limits.connections);
    tracing::info!(connections = room, "connections are limited");
    let server = Arc::new(Server {
        router,
        connections: Connections::of(room),
        addresses: Addresses::of(limits.per_address),
        limits,
    });
    let mut running = JoinSet::new();
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = told(&mut closing) => break,
        };
        while running.try_join_next().is_some() {}
        let entered = tokio::select! {
            entered = server.connections.enter(peer.ip().to_canonical()) => entered,
            () = told(&mut closing) => break,
        };
        running.spawn(Arc::clone(&server).run(stream, peer, entered, closing.clone()));
    }
    drop(listener);
    while running.join_next().await.is_some() {}
}

/// Waits for the end.
async fn told(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// The next connection, however often the system fails to give one.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection could be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

impl Server {
    /// Serves one connection until it ends, is idle for too long, or is given up for another.
    async fn run(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        entered: Entered,
        mut closing: watch::Receiver<bool>,
    ) {
        let Entered { connection, given_up } = entered;
        let own = self.limits.proxies.are_trusted(peer.ip().to_canonical());
        let work = async {
            // Whoever stands behind a proxy is counted by request.
            let _place = if own {
                None
            } else {
                Some(self.addresses.enter(peer.ip().to_canonical()).await?)
            };
            connection.enter(Phase::Opening);
            // A failure costs milliseconds.
            let _ = stream.set_nodelay(true);
            let io = TokioIo::new(Watched::new(stream, connection.clone()));
            let service = service_fn(|request| self.answer(request, peer, connection.clone()));
            let mut http = http1::Builder::new();
            // The connection's own clock tells a pause from headers that do not end.
            http.header_read_timeout(None);
            let mut serving = std::pin::pin!(http.max_buf_size(BUFFER_MAX).serve_connection(io, service));
            let ended = tokio::select! {
                ended = serving.as_mut() => Some(ended),
                () = told(&mut closing) => None,
            };
            let ended = if let Some(ended) = ended {
                ended
            } else {
                serving.as_mut().graceful_shutdown();
                serving.await
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection broke off");
            }
            Some(())
        };
        tokio::select! {
            _ = work => {}
            _ = given_up => tracing::debug!("a connection was given up for another"),
            () = connection.overdue(&self.limits) => tracing::debug!("a connection said nothing for too long"),
        }
    }

    /// Answers one request.
    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        connection: Connection,
    ) -> Result<Response, Infallible> {
        let phase = if request.body().is_end_stream() {
            Phase::Answering
        } else {
            Phase::Receiving
        };
        connection.enter(phase);
        let client = self
            .limits
            .proxies
            .client(peer.ip().to_canonical(), request.headers());
        let place = match client {
            None => None,
            Some(client) => {
                let waited = tokio::time::timeout(self.limits.header_time, self.addresses.enter(client));
                let Ok(Some(place)) = waited.await else {
                    connection.answered();
                    return Ok(too_many());
                };
                Some(place)
            }
        };
        connection.enter(phase);
        let limit = self.limits.body_time;
        let request = request.map(|body| Body::new(TimedBody::new(body, limit, connection.clone())));
        let mut response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        drop(place);
        if connection.answered() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        Ok(response)
    }
}

/// What one address gets that asks for more at a time than others may.
fn too_many() -> Response {
    let why = "too many requests from one address at a time: try again";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, why).into_response()
}
