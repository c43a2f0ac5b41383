//! 360dialog's webhooks.

use super::{Webhook, not_an_envelope, not_set_up};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Segment, read};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_pipeline::World;
use recado_pipeline::ports::Ambient;
use recado_whatsapp::dialog360::{
    Addressed, Proof, SECRET_HEADER, SIGNATURE_HEADER, addressed, split, verify,
};
use std::collections::BTreeSet;

/// The request without its path.
type Rest = (HeaderMap, Extension<CorrelationId>, Body);

pub(super) async fn plain<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    headers: HeaderMap,
    correlation: Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    receive(&webhook, None, (headers, correlation, body)).await
}

pub(super) async fn named<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    Segment(number): Segment<String>,
    headers: HeaderMap,
    correlation: Extension<CorrelationId>,
    body: Body,
) -> Result<Response, Problem> {
    let number = ExternalId::parse(&number).map_err(|_| Problem::bad_request("the path names no number"))?;
    receive(&webhook, Some(number), (headers, correlation, body)).await
}

/// Size, then the numbers that it is about (the secret is derived from them), then the proof, then the rest of the body.
async fn receive<W: World, K: Keys>(
    webhook: &Webhook<W, K>,
    instance: Option<ExternalId>,
    (headers, Extension(correlation), body): Rest,
) -> Result<Response, Problem> {
    let provider = recado_whatsapp::dialog360::NAME;
    tracing::Span::current().record("provider", provider.as_str());
    let body = read(&headers, body, webhook.limits.bytes_max).await?;
    let said = match &instance {
        Some(number) => Addressed::Numbers(BTreeSet::from([number.clone()])),
        None => addressed(&body).map_err(|_| not_an_envelope(provider))?,
    };
    prove(webhook, &headers, &said, &body).await?;
    let now = webhook.world.ambient().now();
    let items = split(&body, instance.as_ref(), now).map_err(|_| not_an_envelope(provider))?;
    webhook.take_items(items, &correlation).await
}

async fn prove<W: World, K: Keys>(
    webhook: &Webhook<W, K>,
    headers: &HeaderMap,
    said: &Addressed,
    body: &[u8],
) -> Result<(), Problem> {
    let keys = webhook.keys(recado_whatsapp::dialog360::NAME).await?;
    if keys.masters.is_empty() && keys.dialog360_partner_secrets.is_empty() {
        return Err(not_set_up("the webhook master secret"));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let proof = Proof {
        secret: text(SECRET_HEADER),
        authorization: text(header::AUTHORIZATION.as_str()),
        signature: text(SIGNATURE_HEADER),
    };
    let none = BTreeSet::new();
    let numbers = match said {
        Addressed::Numbers(numbers) => numbers,
        Addressed::Unnamed => &none,
    };
    if verify(
        &proof,
        &keys.masters,
        numbers,
        &keys.dialog360_partner_secrets,
        body,
    ) {
        return Ok(());
    }
    if *said == Addressed::Unnamed {
        return Err(Problem::bad_request(
            "the body names no number, so the URL must: /webhooks/360dialog/{number}",
        ));
    }
    tracing::warn!("a webhook of 360dialog was refused: its proof is missing or wrong");
    Err(Problem::unproven())
}
