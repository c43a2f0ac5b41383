//! Meta's webhook: `GET, POST /webhooks/meta`, `/webhooks/whatsapp`, `/webhook/whatsapp`, with its handshake.

use super::{handshake, split, verify};
use crate::webhook::{Door, KeyNeeds, Method, NamedKey, Refusal, Request, Taken, WebhookKeys, WebhookSetup};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::provider::Provider;

const PATHS: [&str; 3] = ["/webhooks/meta", "/webhooks/whatsapp", "/webhook/whatsapp"];

/// The app secrets, which sign: the present one and the one before.
const APP_SECRET: NamedKey = NamedKey {
    setting: "META_APP_SECRET",
    several: true,
};

/// The token of the handshake.
const VERIFY_TOKEN: NamedKey = NamedKey {
    setting: "META_VERIFY_TOKEN",
    several: false,
};

/// Meta's door.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Webhook;

impl Door for Webhook {
    fn provider(&self) -> Provider {
        crate::meta::NAME
    }

    fn paths(&self) -> &'static [&'static str] {
        &PATHS
    }

    fn methods(&self, rest: &[String]) -> &'static [Method] {
        match rest {
            [] => &[Method::Get, Method::Post],
            _ => &[],
        }
    }

    fn keys(&self) -> KeyNeeds {
        KeyNeeds {
            masters: false,
            named: &[APP_SECRET, VERIFY_TOKEN],
        }
    }

    fn receive(&self, request: &Request<'_>, keys: &WebhookKeys, now: Timestamp) -> Result<Taken, Refusal> {
        match request.method {
            Method::Get => shake_hands(request, keys),
            Method::Post => take(request, keys, now),
        }
    }

    fn setting_up(&self, _: &Instance, keys: &WebhookKeys, base: &str, _: bool) -> WebhookSetup {
        WebhookSetup {
            url: Some(format!("{base}{}", PATHS[0])),
            proof_set: !keys.named(APP_SECRET.setting).is_empty(),
            verify_token_set: Some(!keys.named(VERIFY_TOKEN.setting).is_empty()),
            ..WebhookSetup::NOTHING
        }
    }
}

/// The verification handshake: the challenge comes back, as plain text, to whoever knows the token.
/// <https://developers.facebook.com/docs/graph-api/webhooks/getting-started>
fn shake_hands(request: &Request<'_>, keys: &WebhookKeys) -> Result<Taken, Refusal> {
    let Some(token) = keys.named(VERIFY_TOKEN.setting).first() else {
        return Err(Refusal::NotSetUp("Meta's verify token"));
    };
    let challenge = handshake(request.brings.query.unwrap_or_default(), token);
    challenge
        .map(Taken::Answer)
        .ok_or(Refusal::Unproven("a verification handshake of Meta was refused"))
}

/// The signature over the bytes as they came, then what they say.
fn take(request: &Request<'_>, keys: &WebhookKeys, now: Timestamp) -> Result<Taken, Refusal> {
    let (body, secrets) = (request.brings.body, keys.named(APP_SECRET.setting));
    if secrets.is_empty() {
        return Err(Refusal::NotSetUp("Meta's app secret"));
    }
    if !verify(request.header("x-hub-signature-256"), body, secrets) {
        return Err(Refusal::Unproven(
            "a webhook of Meta was refused: its signature is missing or wrong",
        ));
    }
    Ok(Taken::Items(split(body, now)?))
}
