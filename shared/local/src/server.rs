//! The HTTP server of one machine. Connections are limited in number and in time, so that a client that opens many and
//! sends nothing cannot keep others out.

mod addresses;
mod body;
mod connections;
mod descriptors;
mod limits;
mod proxies;
mod stream;
mod unread;

pub use limits::ServerLimits;
pub use proxies::TrustedProxies;

use addresses::{AddressLimits, customer_network};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use body::TimedBody;
use connections::{AdmittedConnection, ConnectionPhase, ConnectionPool, ServerConnection};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use recado_http::{ClientAddress, HttpProblem};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use stream::MonitoredStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;
use unread::limit_unread_time;

/// The number of bytes that are read ahead on a connection at most, headers included.
const BUFFER_MAX: usize = 64 * 1024;

/// Time to wait after the system failed to give a connection, because descriptors or memory ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Time that a new connection gets for its request when the server closes.
const FIRST_BYTES: Duration = Duration::from_secs(1);

/// The state that all connections share.
struct HttpServer {
    router: Router,
    limits: ServerLimits,
    connections: ConnectionPool,
    addresses: AddressLimits,
    closing: watch::Receiver<bool>,
}

/// Serves until `closing` is `true`, then finishes the requests that are under way.
pub(crate) async fn serve_connections(
    listener: TcpListener,
    router: Router,
    limits: ServerLimits,
    mut closing: watch::Receiver<bool>,
) {
    let room = descriptors::limit_connections(limits.connections);
    tracing::info!(connections = room, "connections are limited");
    let server = Arc::new(HttpServer {
        router,
        connections: ConnectionPool::with_capacity(room),
        addresses: AddressLimits::with_limit(limits.per_address),
        limits,
        closing: closing.clone(),
    });
    let mut running = JoinSet::new();
    loop {
        let (stream, peer) = tokio::select! {
            accepted = accept_connection(&listener) => accepted,
            () = wait_for_closing(&mut closing) => break,
        };
        while running.try_join_next().is_some() {}
        let entered = tokio::select! {
            // If there is room, a connection that was taken is served.
            biased;
            entered = server.connections.admit_connection(peer.ip().to_canonical()) => entered,
            () = wait_for_closing(&mut closing) => break,
        };
        running.spawn(Arc::clone(&server).handle_connection(stream, peer, entered, closing.clone()));
    }
    drop(listener);
    while running.join_next().await.is_some() {}
}

/// Waits until the server must stop.
async fn wait_for_closing(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Waits for the next connection. Errors of the system are logged, and it tries again.
async fn accept_connection(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_client_error(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection could be taken");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_client_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

impl HttpServer {
    /// Serves one connection until it ends, is idle for too long, or must make room for another.
    async fn handle_connection(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        entered: AdmittedConnection,
        mut closing: watch::Receiver<bool>,
    ) {
        let AdmittedConnection { connection, given_up } = entered;
        let own = self.limits.proxies.is_trusted(peer.ip().to_canonical());
        let work = async {
            // Clients behind a proxy are limited by request, not by connection.
            let _place = if own {
                None
            } else {
                Some(self.addresses.acquire_permit(peer.ip().to_canonical()).await?)
            };
            connection.enter_phase(ConnectionPhase::Opening);
            // A failure here only costs milliseconds.
            let _ = stream.set_nodelay(true);
            limit_unread_time(&stream, ServerLimits::IDLE);
            let io = TokioIo::new(MonitoredStream::new(stream, connection.clone()));
            let service = service_fn(|request| self.answer_request(request, peer, connection.clone()));
            let mut http = http1::Builder::new();
            // The connection's own timer is used, since it distinguishes a pause between requests from headers that do
            // not end.
            http.header_read_timeout(None);
            let mut serving = std::pin::pin!(http.max_buf_size(BUFFER_MAX).serve_connection(io, service));
            let ended = tokio::select! {
                ended = serving.as_mut() => Some(ended),
                () = wait_for_closing(&mut closing) => None,
            };
            // One whose first bytes are under way is not closed at once: nobody else would answer its request.
            let ended = match ended {
                None if connection.is_opening() => {
                    tokio::time::timeout(FIRST_BYTES, serving.as_mut()).await.ok()
                }
                ended => ended,
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
            () = connection.wait_until_overdue(&self.limits) => tracing::debug!("a connection said nothing for too long"),
        }
    }

    /// Answers one request.
    async fn answer_request(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
        connection: ServerConnection,
    ) -> Result<Response, Infallible> {
        let phase = if request.body().is_end_stream() {
            ConnectionPhase::Answering
        } else {
            ConnectionPhase::Receiving
        };
        connection.enter_phase(phase);
        let client = self
            .limits
            .proxies
            .find_client(peer.ip().to_canonical(), request.headers());
        let place = match client {
            None => None,
            Some(client) => {
                let waited =
                    tokio::time::timeout(self.limits.header_time, self.addresses.acquire_permit(client));
                let Ok(Some(place)) = waited.await else {
                    connection.note_answered();
                    return Ok(too_many_requests());
                };
                Some(place)
            }
        };
        connection.enter_phase(phase);
        let limit = self.limits.body_time;
        let mut request = request.map(|body| Body::new(TimedBody::new(body, limit, connection.clone())));
        let address = customer_network(client.unwrap_or(peer.ip().to_canonical()));
        request.extensions_mut().insert(ClientAddress(address));
        let mut response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        drop(place);
        if connection.note_answered() || *self.closing.borrow() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        Ok(response)
    }
}

/// Returns the answer to an address that has too many requests at a time.
fn too_many_requests() -> Response {
    let why = "too many requests from one address at a time: try again";
    HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, why).into_response()
}
