//! Evolution's webhooks.

use super::{Webhook, not_an_envelope, not_set_up};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Segment, read};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::Response;
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_pipeline::World;
use recado_pipeline::ports::Ambient;
use recado_whatsapp::evolution::{Proof, instance_of, verify};

/// What the path says of a webhook, beyond its body.
#[derive(Debug, Default)]
struct Said {
    /// The instance, or in `byEvents` mode without an instance in the URL the event.
    segment: Option<String>,
    /// The instance's secret.
    token: Option<String>,
    /// Whether `segment` may be an event's name.
    event_allowed: bool,
}

/// The request without its path.
type Rest = (HeaderMap, Extension<CorrelationId>, Body);

pub(super) async fn plain<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    headers: HeaderMap,
    correlation: Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    receive(&webhook, Said::default(), (headers, correlation, body)).await
}

pub(super) async fn named<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    Segment(segment): Segment<String>,
    headers: HeaderMap,
    correlation: Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    let said = Said {
        segment: Some(segment),
        event_allowed: true,
        ..Said::default()
    };
    receive(&webhook, said, (headers, correlation, body)).await
}

pub(super) async fn by_event<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    Segment((instance, _event)): Segment<(String, String)>,
    headers: HeaderMap,
    correlation: Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    let said = Said {
        segment: Some(instance),
        ..Said::default()
    };
    receive(&webhook, said, (headers, correlation, body)).await
}

pub(super) async fn with_token<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    Segment(token): Segment<String>,
    headers: HeaderMap,
    correlation: Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    receive(
        &webhook,
        Said {
            token: Some(token),
            ..Said::default()
        },
        (headers, correlation, body),
    )
    .await
}

pub(super) async fn with_token_by_event<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    Segment((token, _event)): Segment<(String, String)>,
    headers: HeaderMap,
    correlation: Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    receive(
        &webhook,
        Said {
            token: Some(token),
            ..Said::default()
        },
        (headers, correlation, body),
    )
    .await
}

/// Size, then the instance that the body names (the secret is derived from it), then the proof, then the rest of it.
async fn receive<W: World, K: Keys>(
    webhook: &Webhook<W, K>,
    said: Said,
    (headers, Extension(correlation), body): Rest,
) -> Result<Response, Problem> {
    tracing::Span::current().record("provider", recado_whatsapp::evolution::NAME.as_str());
    let body = read(&headers, body, webhook.limits.bytes_max).await?;
    let instance = instance_of(&body).map_err(|_| not_an_envelope(recado_whatsapp::evolution::NAME))?;
    if let Some(segment) = &said.segment {
        let fits = segment == instance.as_str() || (said.event_allowed && is_event(segment));
        if !fits {
            return Err(Problem::bad_request(
                "the path names another instance than the body",
            ));
        }
    }
    prove(webhook, &headers, said.token.as_deref(), &instance).await?;
    webhook
        .take(recado_whatsapp::evolution::NAME, &body, &correlation)
        .await
}

async fn prove<W: World, K: Keys>(
    webhook: &Webhook<W, K>,
    headers: &HeaderMap,
    path_token: Option<&str>,
    instance: &ExternalId,
) -> Result<(), Problem> {
    let keys = webhook.keys(recado_whatsapp::evolution::NAME).await?;
    if keys.masters.is_empty() {
        return Err(not_set_up("the webhook master secret"));
    }
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let proof = Proof {
        apikey: text(HeaderName::from_static("apikey")),
        authorization: text(header::AUTHORIZATION),
        path_token,
    };
    if verify(&proof, &keys.masters, instance, webhook.world.ambient().now()) {
        return Ok(());
    }
    tracing::warn!("a webhook of Evolution was refused: its proof is missing or wrong");
    Err(Problem::unproven())
}

/// Whether `segment` is an event as `byEvents` writes it at the end of the URL: its name in kebab case.
fn is_event(segment: &str) -> bool {
    const EVENTS: [&str; 32] = [
        "application-startup",
        "call",
        "chats-delete",
        "chats-set",
        "chats-update",
        "chats-upsert",
        "connection-update",
        "contacts-set",
        "contacts-update",
        "contacts-upsert",
        "group-participants-update",
        "group-update",
        "groups-update",
        "groups-upsert",
        "instance-create",
        "instance-delete",
        "labels-association",
        "labels-edit",
        "logout-instance",
        "messages-delete",
        "messages-edited",
        "messages-set",
        "messages-update",
        "messages-upsert",
        "new-jwt-token",
        "presence-update",
        "qrcode-updated",
        "remove-instance",
        "send-message",
        "send-message-update",
        "typebot-change-status",
        "typebot-start",
    ];
    EVENTS.contains(&segment)
}
