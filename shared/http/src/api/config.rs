//! `/v1/config`: what is configured, and the webhook URLs and secrets to enter at the provider.

use super::{Api, BODY_MAX, Depths};
use crate::keys::{Keys, WebhookKeys};
use crate::problem::Problem;
use crate::query::{json, read};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};
use recado_domain::config::{Document, Instance};
use recado_domain::event::Provider;
use recado_domain::ids::InstanceId;
use recado_domain::secret::webhook_secret;
use recado_pipeline::World;
use recado_pipeline::configure::{self, Change};
use recado_whatsapp::dialog360::SECRET_HEADER;
use serde::Serialize;
use std::sync::Arc;

/// What a shown URL has in place of a secret.
const HIDDEN: &str = "{secret}";

/// How a provider is to be set up for an instance.
#[derive(Debug, Serialize)]
pub(super) struct Webhook {
    id: InstanceId,
    provider: Provider,
    /// Absent for AWS, whose events come by a queue.
    #[serde(rename = "webhook_url")]
    url: Option<String>,
    /// The webhook secret: Evolution's header `apikey` or its `jwt_key`, 360dialog's `secret_header` or Basic password. Only
    /// in the answer to who applies; always absent for Meta, which signs with its app secret, and for AWS.
    secret: Option<String>,
    /// The header in which 360dialog is to send the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_header: Option<&'static str>,
    /// Whether what proves this instance's webhooks is configured: the master secret, or Meta's app secret. (AWS needs
    /// nothing: its queue's policy does it.)
    proof_set: bool,
    /// Whether Meta's verify token is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_token_set: Option<bool>,
}

/// What applying did.
#[derive(Debug, Serialize)]
pub(super) struct AppliedView {
    changes: Vec<Change>,
    /// The instances that the document names.
    instances: Vec<Webhook>,
}

/// What is configured.
#[derive(Debug, Serialize)]
pub(super) struct ConfigurationView {
    document: Document,
    instances: Vec<Webhook>,
}

/// Everything that is configured, without secrets.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Json<ConfigurationView>, Problem> {
    let document = configure::show(&*api.world).await?;
    let site = Site::of(&api, &headers, &uri).await?;
    let instances = document
        .instances
        .iter()
        .map(|instance| site.webhook(instance, false))
        .collect();
    Ok(Json(ConfigurationView { document, instances }))
}

/// Applies a document: creates and changes what it names, leaves the rest alone.
pub(super) async fn apply<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    headers: HeaderMap,
    uri: Uri,
    body: Body,
) -> Result<Json<AppliedView>, Problem> {
    let document: Document = json(&read(&headers, body, BODY_MAX).await?)?;
    let named = document.instances.clone();
    let site = Site::of(&api, &headers, &uri).await?;
    let applied = configure::apply(&*api.world, document).await?;
    let instances = named
        .iter()
        .map(|instance| site.webhook(instance, true))
        .collect();
    Ok(Json(AppliedView {
        changes: applied.changes,
        instances,
    }))
}

/// Where providers reach us, and how they prove themselves.
struct Site {
    base: String,
    evolution: Arc<WebhookKeys>,
    meta: Arc<WebhookKeys>,
    dialog360: Arc<WebhookKeys>,
}

impl Site {
    async fn of<W, K: Keys, D>(api: &Api<W, K, D>, headers: &HeaderMap, uri: &Uri) -> Result<Self, Problem> {
        let base = match &api.options.public_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => addressed(headers, uri)?,
        };
        Ok(Self {
            base,
            evolution: api.keys.webhook(recado_whatsapp::evolution::NAME).await?,
            meta: api.keys.webhook(recado_whatsapp::meta::NAME).await?,
            dialog360: api.keys.webhook(recado_whatsapp::dialog360::NAME).await?,
        })
    }

    fn webhook(&self, instance: &Instance, with_secret: bool) -> Webhook {
        let webhook = Webhook {
            id: instance.id.clone(),
            provider: instance.provider,
            url: None,
            secret: None,
            secret_header: None,
            proof_set: true,
            verify_token_set: None,
        };
        match instance.provider {
            recado_whatsapp::meta::NAME => Webhook {
                url: Some(format!("{}/webhooks/meta", self.base)),
                proof_set: !self.meta.meta_app_secrets.is_empty(),
                verify_token_set: Some(self.meta.meta_verify_token.is_some()),
                ..webhook
            },
            recado_whatsapp::evolution::NAME => {
                let secret = secret(&self.evolution, instance, with_secret);
                let plain = format!("{}/webhooks/evolution", self.base);
                // Version 1 can send no header: its secret stands in the path.
                let url = match instance.api_version {
                    1 => format!("{plain}/k/{}", secret.as_deref().unwrap_or(HIDDEN)),
                    _ => plain,
                };
                Webhook {
                    url: Some(url),
                    secret,
                    proof_set: !self.evolution.masters.is_empty(),
                    ..webhook
                }
            }
            // The number stands in the URL: on-premise bodies do not name it.
            recado_whatsapp::dialog360::NAME => Webhook {
                url: instance
                    .external()
                    .map(|number| format!("{}/webhooks/360dialog/{}", self.base, segment(number.as_str()))),
                secret: secret(&self.dialog360, instance, with_secret),
                secret_header: Some(SECRET_HEADER),
                proof_set: !self.dialog360.masters.is_empty(),
                ..webhook
            },
            _ => webhook,
        }
    }
}

/// The secret of an instance under the present master.
fn secret(keys: &WebhookKeys, instance: &Instance, with_secret: bool) -> Option<String> {
    let master = keys.masters.first().filter(|_| with_secret)?;
    let secret = webhook_secret(master, instance.provider, &instance.external()?);
    Some(secret.expose().to_owned())
}

/// One segment of a path, percent-encoded.
fn segment(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|half| char::from(HEX[usize::from(half)]));
            encoded.extend(['%', high, low]);
        }
    }
    encoded
}

/// The base URL by which this request came: `Host`, and the scheme that the proxy in front names.
fn addressed(headers: &HeaderMap, uri: &Uri) -> Result<String, Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).or_else(|| uri.authority().map(Authority::as_str));
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-:[]".contains(c);
    let host = host.filter(|host| !host.is_empty() && host.chars().all(fine));
    let host = host.ok_or_else(|| Problem::bad_request("the Host header is missing or malformed"))?;
    let forwarded = headers
        .get("x-forwarded-proto")
        .and_then(|value| value.to_str().ok());
    let scheme = if forwarded.or(uri.scheme_str()) == Some("https") {
        "https"
    } else {
        "http"
    };
    Ok(format!("{scheme}://{host}"))
}
