//! Push: connections of the WebSocket API are told that there is more to read, and the API's events about them are answered.
//! The events come to `api`: a function of their own would carry the same store, role and alarms once more.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use lambda_http::RequestExt;
use lambda_http::request::RequestContext;
use recado_aws::{DynamoStore, OsSystem, PushConnection, PushSender};
use recado_domain::ids::TenantId;
use recado_domain::millis::add_duration;
use recado_pipeline::ports::{PortResult, System};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time for which nobody is told after the management API was slow or told nobody. Pages ask by themselves meanwhile.
const REST: SignedDuration = SignedDuration::from_secs(30);

/// Longest time for one round with its reads. The events are published before it.
const ROUND_LIMIT: Duration = Duration::from_secs(2);

/// Tells push connections that there is more to read. It holds publishing up by two seconds at most, and seldom twice: in trouble it rests.
#[derive(Debug)]
pub struct PushNotifier {
    sender: PushSender,
    rests_until: Mutex<Option<Timestamp>>,
}

impl PushNotifier {
    /// Creates it with the client of the management API.
    pub fn new(sender: PushSender) -> Self {
        Self {
            sender,
            rests_until: Mutex::new(None),
        }
    }

    /// Tells the connections of these listeners that there is more to read, and forgets those that are gone. A failure is logged alone.
    pub(crate) async fn notify_listeners(
        &self,
        store: &DynamoStore<OsSystem>,
        listening: &BTreeSet<Option<TenantId>>,
    ) {
        if listening.is_empty() || self.is_resting(OsSystem.now()) {
            return;
        }
        let round = async {
            let reads = listening
                .iter()
                .map(|tenant| store.list_push_connections(tenant.as_ref()));
            let connections = try_join_all(reads).await?.concat();
            let gone = self.notify_connections(connections).await;
            store.drop_gone_connections(&gone).await
        };
        let done: Option<PortResult<()>> = tokio::time::timeout(ROUND_LIMIT, round).await.ok();
        match done {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::warn!(%error, "push connections were not all told of news"),
            None => self.begin_rest(OsSystem.now()),
        }
    }

    /// Tells connections that there is more to read. Returns those that are gone.
    pub async fn notify_connections(&self, connections: Vec<PushConnection>) -> Vec<PushConnection> {
        if connections.is_empty() || self.is_resting(OsSystem.now()) {
            return Vec::new();
        }
        let report = self.sender.notify_connections(connections).await;
        if report.is_in_trouble() {
            self.begin_rest(OsSystem.now());
        }
        report.gone
    }

    fn is_resting(&self, now: Timestamp) -> bool {
        let until = self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| now < until)
    }

    fn begin_rest(&self, now: Timestamp) {
        tracing::warn!(
            seconds = REST.as_secs(),
            "push connections cannot be told of news: pages ask by themselves"
        );
        let mut until = self.rests_until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(add_duration(now, REST));
    }
}

/// An event of the WebSocket API.
#[derive(Debug, PartialEq)]
struct SocketEvent {
    /// `CONNECT` or `DISCONNECT`.
    kind: String,
    connection: String,
    /// The ticket in the URL; empty if there is none.
    ticket: String,
}

/// Reads an event of the WebSocket API. `None`: it is a request of the HTTP API.
fn read_socket_event<B>(request: &axum::http::Request<B>) -> Option<SocketEvent> {
    let RequestContext::WebSocket(context) = request.extensions().get()? else {
        return None;
    };
    let query = request.query_string_parameters_ref();
    let ticket = query.and_then(|query| query.first("ticket"));
    Some(SocketEvent {
        kind: context.event_type.clone().unwrap_or_default(),
        connection: context.connection_id.clone().unwrap_or_default(),
        ticket: ticket.unwrap_or_default().to_owned(),
    })
}

/// Answers the WebSocket API's events, and passes requests of the HTTP API on. A client without a ticket that counts is refused.
pub(crate) async fn answer_socket_events(
    State(store): State<DynamoStore<OsSystem>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(event) = read_socket_event(&request) else {
        return next.run(request).await;
    };
    let answered = match event.kind.as_str() {
        "CONNECT" => store.open_push_connection(&event.ticket, &event.connection).await,
        "DISCONNECT" => store
            .close_push_connection(&event.connection)
            .await
            .map(|()| true),
        _ => Ok(false),
    };
    match answered {
        Ok(true) => StatusCode::OK.into_response(),
        Ok(false) => StatusCode::UNAUTHORIZED.into_response(),
        Err(error) => {
            tracing::warn!(%error, kind = event.kind, "an event of the WebSocket API was not answered");
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

#[cfg(test)]
mod tests;
