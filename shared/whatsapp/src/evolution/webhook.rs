//! Evolution's webhook.
//!
//! | route | what |
//! | --- | --- |
//! | `POST /webhooks/evolution`, `/api/webhook/evolution` | events |
//! | `POST …/{instance or event}`, `…/{instance}/{event}` | the same, `byEvents`; of a body that names no instance the path's |
//! | `POST …/k/{token}`, `…/k/{token}/{event}` | the same, of version 1, which can send no header |

use super::{EvolutionCredentials, read_instance_name, split_instance_webhook, verify_credentials};
use crate::WebhookParseError;
use crate::webhook::{
    AcceptedWebhook, HIDDEN_SECRET, RequiredKeys, WebhookHandler, WebhookKeys, WebhookMethod, WebhookRefusal,
    WebhookRequest, WebhookSetup, current_webhook_secret,
};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;

const PATHS: [&str; 2] = ["/webhooks/evolution", "/api/webhook/evolution"];

/// Evolution's door.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvolutionWebhook;

/// What the path says of a webhook, beyond its body.
#[derive(Default)]
struct EvolutionWebhookPath<'a> {
    /// The instance, or in `byEvents` mode without an instance in the URL the event.
    segment: Option<&'a str>,
    /// Whether `segment` may be an event's name.
    event_allowed: bool,
    /// The instance's secret.
    token: Option<&'a str>,
}

impl<'a> EvolutionWebhookPath<'a> {
    /// `None` if there is no such route.
    fn from_segments(rest: &'a [String]) -> Option<Self> {
        let said = Self::default();
        match rest {
            [] => Some(said),
            [segment] => Some(Self {
                segment: Some(segment),
                event_allowed: true,
                ..said
            }),
            [k, token] | [k, token, _] if k == "k" => Some(Self {
                token: Some(token),
                ..said
            }),
            [instance, _event] => Some(Self {
                segment: Some(instance),
                ..said
            }),
            _ => None,
        }
    }

    /// The instance that the path certainly names.
    fn certain_instance(&self) -> Option<ExternalId> {
        let segment = self.segment?;
        let may_be_event = self.event_allowed && is_event_name(segment);
        ExternalId::parse(segment).ok().filter(|_| !may_be_event)
    }
}

impl WebhookHandler for EvolutionWebhook {
    fn provider(&self) -> Provider {
        crate::evolution::NAME
    }

    fn path_prefixes(&self) -> &'static [&'static str] {
        &PATHS
    }

    fn allowed_methods(&self, rest: &[String]) -> &'static [WebhookMethod] {
        match EvolutionWebhookPath::from_segments(rest) {
            Some(_) => &[WebhookMethod::Post],
            None => &[],
        }
    }

    fn required_keys(&self) -> RequiredKeys {
        RequiredKeys {
            masters: true,
            named: &[],
        }
    }

    /// The instance that the body names (the secret is derived from it), then the proof, then the rest of the body.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<AcceptedWebhook, WebhookRefusal> {
        let said =
            EvolutionWebhookPath::from_segments(request.path_segments).ok_or(WebhookRefusal::NoRoute)?;
        let instance = match (read_instance_name(request.parts.body), said.certain_instance()) {
            (Err(WebhookParseError::NotEnvelope { .. }), Some(instance)) => instance,
            (named, _) => named?,
        };
        if let Some(segment) = said.segment {
            let fits = segment == instance.as_str() || (said.event_allowed && is_event_name(segment));
            if !fits {
                return Err(WebhookRefusal::BadRequest(
                    "the path names another instance than the body",
                ));
            }
        }
        if keys.masters.is_empty() {
            return Err(WebhookRefusal::NotConfigured("the webhook master secret"));
        }
        let proof = EvolutionCredentials {
            apikey: request.header("apikey"),
            authorization: request.header("authorization"),
            path_token: said.token,
        };
        if !verify_credentials(&proof, &keys.masters, &instance, now) {
            return Err(WebhookRefusal::Unauthorized(
                "a webhook of Evolution was refused: its proof is missing or wrong",
            ));
        }
        Ok(AcceptedWebhook::Items(split_instance_webhook(
            request.parts.body,
            &instance,
            now,
        )?))
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
        // Version 1 can send no header: its secret stands in the path.
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
}

/// Whether `segment` is an event as `byEvents` writes it at the end of the URL: its name in kebab case.
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
