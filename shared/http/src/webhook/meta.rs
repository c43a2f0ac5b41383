//! Meta's webhooks.

use super::{Webhook, not_set_up};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::read;
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recado_domain::ids::CorrelationId;
use recado_pipeline::World;
use recado_whatsapp::meta;

/// The verification handshake: the challenge comes back, as plain text, to whoever knows the token.
/// <https://developers.facebook.com/docs/graph-api/webhooks/getting-started>
pub(super) async fn handshake<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    tracing::Span::current().record("provider", recado_whatsapp::meta::NAME.as_str());
    let keys = webhook.keys(recado_whatsapp::meta::NAME).await?;
    let Some(token) = &keys.meta_verify_token else {
        return Err(not_set_up("Meta's verify token"));
    };
    let Some(challenge) = meta::handshake(query.as_deref().unwrap_or_default(), token) else {
        tracing::warn!("a verification handshake of Meta was refused");
        return Err(Problem::unproven());
    };
    // Plain text and not to be guessed otherwise: the challenge is the caller's own text.
    let headers = [
        (header::CONTENT_TYPE, "text/plain"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((StatusCode::OK, headers, challenge).into_response())
}

/// Size, then the signature over the bytes as they came, then what they say.
pub(super) async fn receive<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    headers: HeaderMap,
    Extension(correlation): Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    tracing::Span::current().record("provider", recado_whatsapp::meta::NAME.as_str());
    let body = read(&headers, body, webhook.limits.bytes_max).await?;
    let keys = webhook.keys(recado_whatsapp::meta::NAME).await?;
    if keys.meta_app_secrets.is_empty() {
        return Err(not_set_up("Meta's app secret"));
    }
    let signature = headers
        .get("x-hub-signature-256")
        .and_then(|value| value.to_str().ok());
    if !meta::verify(signature, &body, &keys.meta_app_secrets) {
        tracing::warn!("a webhook of Meta was refused: its signature is missing or wrong");
        return Err(Problem::unproven());
    }
    webhook
        .take(recado_whatsapp::meta::NAME, &body, &correlation)
        .await
}
