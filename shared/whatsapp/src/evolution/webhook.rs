//! Evolution's webhook.
//!
//! | route | accepts |
//! | --- | --- |
//! | `POST /webhooks/evolution`, `/api/webhook/evolution` | events |
//! | `POST …/{instance or event}`, `…/{instance}/{event}` | events of `byEvents` |
//! | `POST …/k/{token}`, `…/k/{token}/{event}` | events of version 1, which cannot send a header |
//!
//! If the body names no instance, the instance in the path counts.

use super::verify::shows_jwt;
use super::{EvolutionCredentials, find_proven_secrets, read_instance_name, split_instance_webhook};
use crate::webhook::{
    HIDDEN_SECRET, ProvenSecret, ProvenWebhook, RequiredKeys, SimulatedInbound, WebhookHandler, WebhookKeys,
    WebhookRefusal, WebhookRequest, WebhookSetup, current_webhook_secret,
};
use crate::wire::json::WebhookParseError;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use serde_json::{Value, json};

const PATHS: [&str; 10] = [
    "/webhooks/evolution",
    "/webhooks/evolution/{segment}",
    "/webhooks/evolution/{instance}/{event}",
    "/webhooks/evolution/k/{token}",
    "/webhooks/evolution/k/{token}/{event}",
    "/api/webhook/evolution",
    "/api/webhook/evolution/{segment}",
    "/api/webhook/evolution/{instance}/{event}",
    "/api/webhook/evolution/k/{token}",
    "/api/webhook/evolution/k/{token}/{event}",
];

/// The webhook handler of Evolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvolutionWebhook;

/// The information in a webhook's path.
struct EvolutionWebhookPath<'a> {
    /// Instance name; or the event name, in `byEvents` mode without an instance in the URL.
    segment: Option<&'a str>,
    /// `true` if `segment` may be an event name instead of an instance name.
    event_allowed: bool,
    /// Secret of the instance.
    token: Option<&'a str>,
}

impl<'a> EvolutionWebhookPath<'a> {
    fn from_request(request: &WebhookRequest<'a>) -> Self {
        let segment = request.path_param("segment");
        Self {
            segment: segment.or(request.path_param("instance")),
            event_allowed: segment.is_some(),
            token: request.path_param("token"),
        }
    }

    /// Returns the parts of the request that can prove it.
    fn collect_credentials(&self, request: &WebhookRequest<'a>) -> EvolutionCredentials<'a> {
        EvolutionCredentials {
            apikey: request.header("apikey"),
            authorization: request.header("authorization"),
            path_token: self.token,
        }
    }

    /// Returns the instance that the body names, or else the path. Both must not name two.
    fn find_instance(&self, request: &WebhookRequest<'_>) -> Result<ExternalId, WebhookRefusal> {
        let instance = match (read_instance_name(request.body), self.certain_instance()) {
            (Err(WebhookParseError::NotEnvelope { .. }), Some(instance)) => instance,
            (named, _) => named?,
        };
        if let Some(segment) = self.segment {
            let fits = segment == instance.as_str() || (self.event_allowed && is_event_name(segment));
            if !fits {
                return Err(WebhookRefusal::BadRequest(
                    "the path names another instance than the body",
                ));
            }
        }
        Ok(instance)
    }

    /// Returns the instance in the path; `None` if there is none, or if the segment may be an event name.
    fn certain_instance(&self) -> Option<ExternalId> {
        let segment = self.segment?;
        let may_be_event = self.event_allowed && is_event_name(segment);
        ExternalId::parse(segment).ok().filter(|_| !may_be_event)
    }
}

impl WebhookHandler for EvolutionWebhook {
    fn paths(&self) -> &'static [&'static str] {
        &PATHS
    }

    fn required_keys(&self) -> RequiredKeys {
        RequiredKeys {
            masters: true,
            named: &[],
        }
    }

    fn find_hidden_salt_owner(&self, request: &WebhookRequest<'_>, now: Timestamp) -> Option<ExternalId> {
        let said = EvolutionWebhookPath::from_request(request);
        if !shows_jwt(&said.collect_credentials(request), now) {
            return None;
        }
        said.find_instance(request).ok()
    }

    /// Reads the instance name of the body first, because the secret is derived from it. Then checks the proof, and then
    /// reads the rest.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<ProvenWebhook, WebhookRefusal> {
        let said = EvolutionWebhookPath::from_request(request);
        let instance = said.find_instance(request)?;
        if keys.masters.is_empty() {
            return Err(WebhookRefusal::NotConfigured("the webhook master secret"));
        }
        let proof = said.collect_credentials(request);
        let salt = keys.find_salt(&instance);
        let proven = find_proven_secrets(&proof, &keys.masters, &instance, salt, now);
        if proven.is_empty() {
            return Err(WebhookRefusal::Unauthorized {
                what: "a webhook of Evolution was refused: its proof is missing or wrong",
                instance: Some(instance),
            });
        }
        Ok(ProvenWebhook {
            items: split_instance_webhook(request.body, &instance, now)?,
            secret: Some(ProvenSecret { instance, proven }),
        })
    }

    fn describe_webhook_setup(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup {
        let secret = current_webhook_secret(instance, keys).filter(|_| with_secret);
        let plain = format!("{base}{}", PATHS[0]);
        // Version 1 cannot send a header, so the secret is in the path.
        let url = match instance.api_version {
            1 => format!(
                "{plain}/k/{}",
                secret.as_ref().map_or(HIDDEN_SECRET, Secret::expose_secret)
            ),
            _ => plain,
        };
        WebhookSetup {
            url: Some(url),
            secret,
            proof_set: !keys.masters.is_empty(),
            ..WebhookSetup::NOTHING
        }
    }

    fn write_simulated_webhook(&self, external: &ExternalId, message: &SimulatedInbound<'_>) -> Value {
        json!({
            "event": "messages.upsert",
            "instance": external,
            "data": {
                "key": {
                    "remoteJid": format!("{}@s.whatsapp.net", message.phone),
                    "fromMe": false,
                    "id": message.id,
                },
                "pushName": message.name,
                "message": {"conversation": message.text},
                "messageType": "conversation",
                "messageTimestamp": message.at.as_second(),
            },
            "date_time": message.at.to_string(),
        })
    }
}

/// Returns `true` if `segment` is an event name in kebab case, as `byEvents` appends it to the URL.
fn is_event_name(segment: &str) -> bool {
    const EVENTS: [&str; 35] = [
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
        "creds-update",
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
        "messaging-history-set",
        "messages-set",
        "messages-update",
        "messages-upsert",
        "new-jwt-token",
        "presence-update",
        "qrcode-updated",
        "remove-instance",
        "send-message",
        "send-message-update",
        "status-instance",
        "typebot-change-status",
        "typebot-start",
    ];
    EVENTS.contains(&segment)
}
