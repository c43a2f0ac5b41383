//! Meta's webhook: `GET, POST /webhooks/meta`, `/webhooks/whatsapp`, `/webhook/whatsapp`, with its handshake.

use super::{answer_handshake, split_webhook, verify_signature};
use crate::webhook::{
    AnswerHandshake, NamedKey, ProvenWebhook, RequiredKeys, WebhookHandler, WebhookKeys, WebhookRefusal,
    WebhookRequest, WebhookSetup,
};
use jiff::Timestamp;
use recado_domain::config::Instance;

const PATHS: [&str; 3] = ["/webhooks/meta", "/webhooks/whatsapp", "/webhook/whatsapp"];

/// App secrets that sign webhooks: the current one, and during a rotation the previous one.
const APP_SECRET: NamedKey = NamedKey {
    setting: "META_APP_SECRET",
    several: true,
};

/// Token of the handshake.
const VERIFY_TOKEN: NamedKey = NamedKey {
    setting: "META_VERIFY_TOKEN",
    several: false,
};

/// The webhook handler of Meta.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MetaWebhook;

impl WebhookHandler for MetaWebhook {
    fn paths(&self) -> &'static [&'static str] {
        &PATHS
    }

    fn handshake(&self) -> Option<AnswerHandshake> {
        Some(receive_handshake)
    }

    fn required_keys(&self) -> RequiredKeys {
        RequiredKeys {
            masters: false,
            named: &[APP_SECRET, VERIFY_TOKEN],
        }
    }

    /// Verifies the signature of the received bytes, then reads the body.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<ProvenWebhook, WebhookRefusal> {
        let (body, secrets) = (request.body, keys.named_secrets(APP_SECRET.setting));
        if secrets.is_empty() {
            return Err(WebhookRefusal::NotConfigured("Meta's app secret"));
        }
        if !verify_signature(request.header("x-hub-signature-256"), body, secrets) {
            return Err(WebhookRefusal::Unauthorized {
                what: "a webhook of Meta was refused: its signature is missing or wrong",
                instance: None,
            });
        }
        Ok(ProvenWebhook {
            items: split_webhook(body, now)?,
            secret: None,
        })
    }

    fn describe_webhook_setup(&self, _: &Instance, keys: &WebhookKeys, base: &str, _: bool) -> WebhookSetup {
        WebhookSetup {
            url: Some(format!("{base}{}", PATHS[0])),
            proof_set: !keys.named_secrets(APP_SECRET.setting).is_empty(),
            verify_token_set: Some(!keys.named_secrets(VERIFY_TOKEN.setting).is_empty()),
            ..WebhookSetup::NOTHING
        }
    }
}

/// Answers the verification handshake: a caller with the right token gets the challenge back as plain text.
/// <https://developers.facebook.com/docs/graph-api/webhooks/getting-started>
fn receive_handshake(query: &str, keys: &WebhookKeys) -> Result<String, WebhookRefusal> {
    let Some(token) = keys.named_secrets(VERIFY_TOKEN.setting).first() else {
        return Err(WebhookRefusal::NotConfigured("Meta's verify token"));
    };
    answer_handshake(query, token).ok_or(WebhookRefusal::Unauthorized {
        what: "a verification handshake of Meta was refused",
        instance: None,
    })
}
