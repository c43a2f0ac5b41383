//! `POST /v1/events/tickets`: a ticket that opens a WebSocket, which tells that there is more to read.

use crate::asked_of_events::AskedOfEvents;
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::problem::HttpProblem;
use serde::Serialize;

/// A ticket of a push connection.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PushTicketView {
    /// The URL of the WebSocket, with the ticket in it. It opens one connection.
    #[cfg_attr(
        feature = "schema",
        schema(example = "wss://abcdef1234.execute-api.us-east-1.amazonaws.com/live?ticket=4f2a")
    )]
    url: String,
    /// Time from which the ticket is refused: half a minute later.
    expires_at: Timestamp,
    /// Seconds for which the connection is told of news, from when it is opened. Then open the next one with a new ticket.
    #[cfg_attr(feature = "schema", schema(example = 900))]
    connection_seconds: i64,
}

/// Makes a ticket for a WebSocket that tells when there are more events.
///
/// The WebSocket tells nothing else: each message is `{"more": true}`, after which the client follows `GET /v1/events`. It is told of
/// what the token sees. On AWS alone; a 404 elsewhere, where `GET /v1/events/stream` is.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/events/tickets",
    responses((status = 201, body = PushTicketView, description = "The ticket"), NotFound)
))]
pub async fn post_push_ticket(
    AskedOfEvents(api, caller): AskedOfEvents,
) -> Result<(StatusCode, Json<PushTicketView>), HttpProblem> {
    let Some(issuer) = &api.options.push_ticket_issuer else {
        return Err(HttpProblem::not_found(
            "there are tickets only on AWS: here events come by `GET /v1/events/stream`",
        ));
    };
    let ticket = issuer.make_ticket(caller.scope.tenant().cloned()).await?;
    Ok((
        StatusCode::CREATED,
        Json(PushTicketView {
            url: issuer.write_connection_url(&ticket),
            expires_at: ticket.expires_at,
            connection_seconds: ticket.connection_time.as_secs(),
        }),
    ))
}
