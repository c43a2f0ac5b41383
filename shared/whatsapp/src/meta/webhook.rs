//! Meta's webhook: `GET, POST /webhooks/meta`, `/webhooks/whatsapp`, `/webhook/whatsapp`, with its handshake. An app of a
//! tenant has the path `/webhooks/meta/{number}`, so that notices, which name no number, can be proven, too.

use super::parse::{TrustedNumbers, list_named_numbers};
use super::verify::has_signature;
use super::{answer_handshake, split_webhook, verify_signature};
use crate::webhook::{
    AnswerHandshake, NamedKey, ProvenWebhook, RequiredKeys, SimulatedInbound, WebhookHandler, WebhookKeys,
    WebhookRefusal, WebhookRequest, WebhookSetup, restrict_notices,
};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const PATHS: [&str; 4] = [
    "/webhooks/meta",
    "/webhooks/meta/{number}",
    "/webhooks/whatsapp",
    "/webhook/whatsapp",
];

const SIGNATURE_HEADER: &str = "x-hub-signature-256";

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

    /// Returns no number for a request without a well-formed signature: it is refused whatever the secrets are.
    fn list_numbers_with_apps(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
    ) -> BTreeSet<ExternalId> {
        if !has_signature(request.header(SIGNATURE_HEADER)) {
            return BTreeSet::new();
        }
        let trusted = Signers::find(request, keys).is_anybody();
        let of_path = number_of_path(request).ok().flatten();
        let named = list_named_numbers(request.body, trusted).into_iter();
        named.chain(of_path).collect()
    }

    /// Verifies the signature of the received bytes, then reads the changes of the numbers that it holds for.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<ProvenWebhook, WebhookRefusal> {
        let of_path = number_of_path(request)?;
        let signers = Signers::find(request, keys);
        if !signers.is_anybody() {
            if keys.named_secrets(APP_SECRET.setting).is_empty() && keys.apps().is_empty() {
                return Err(WebhookRefusal::NotConfigured("Meta's app secret"));
            }
            return Err(WebhookRefusal::Unauthorized {
                what: "a webhook of Meta was refused: its signature is missing or wrong",
                instance: None,
            });
        }
        let by_own_app = of_path.filter(|number| signers.apps.get(number) == Some(&true));
        let trusted = TrustedNumbers {
            unnamed: signers.installation || by_own_app.is_some(),
            others: signers.installation,
            listed: signers.apps,
        };
        let mut items = split_webhook(request.body, Some(trusted), now)?;
        if let Some(number) = by_own_app.filter(|_| !signers.installation) {
            restrict_notices(&mut items, &number);
        }
        Ok(ProvenWebhook { items, secret: None })
    }

    fn describe_webhook_setup(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        _: bool,
    ) -> WebhookSetup {
        let own_app = instance
            .app_secret
            .as_ref()
            .and_then(|_| instance.resolve_external_id());
        WebhookSetup {
            url: Some(match &own_app {
                Some(number) => format!("{base}{}/{number}", PATHS[0]),
                None => format!("{base}{}", PATHS[0]),
            }),
            proof_set: own_app.is_some() || !keys.named_secrets(APP_SECRET.setting).is_empty(),
            verify_token_set: Some(!keys.named_secrets(VERIFY_TOKEN.setting).is_empty()),
            ..WebhookSetup::NOTHING
        }
    }

    fn write_simulated_webhook(&self, external: &ExternalId, message: &SimulatedInbound<'_>) -> Value {
        json!({
            "object": "whatsapp_business_account",
            "entry": [{"changes": [{"field": "messages", "value": {
                "messaging_product": "whatsapp",
                "metadata": {"phone_number_id": external},
                "contacts": [{"wa_id": message.phone, "profile": {"name": message.name}}],
                "messages": [{
                    "from": message.phone,
                    "id": message.id,
                    "timestamp": message.at.as_second().to_string(),
                    "type": "text",
                    "text": {"body": message.text},
                }],
            }}]}],
        })
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

/// Returns the number in the path; `None` if the path has none.
pub(crate) fn number_of_path(request: &WebhookRequest<'_>) -> Result<Option<ExternalId>, WebhookRefusal> {
    let number = request.path_param("number").map(ExternalId::parse).transpose();
    number.map_err(|_| WebhookRefusal::BadRequest("the path names no number"))
}

/// The apps that signed a request.
struct Signers {
    /// `true` if it was an app of the installation.
    installation: bool,
    /// The numbers with apps of their own, and `true` for those whose app signed.
    apps: BTreeMap<ExternalId, bool>,
}

impl Signers {
    fn find(request: &WebhookRequest<'_>, keys: &WebhookKeys) -> Self {
        let signed = |secrets| verify_signature(request.header(SIGNATURE_HEADER), request.body, secrets);
        let apps = keys.apps().iter();
        Self {
            installation: signed(keys.named_secrets(APP_SECRET.setting)),
            apps: apps
                .map(|(number, secrets)| (number.clone(), signed(secrets)))
                .collect(),
        }
    }

    fn is_anybody(&self) -> bool {
        self.installation || self.apps.values().any(|signed| *signed)
    }
}
