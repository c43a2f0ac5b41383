//! Evolution's webhook.
//!
//! | route | accepts |
//! | --- | --- |
//! | `POST /webhooks/evolution`, `/api/webhook/evolution` | events |
//! | `POST …/{instance or event}`, `…/{instance}/{event}` | events of `byEvents` |
//! | `POST …/k/{token}`, `…/k/{token}/{event}` | events of version 1, which cannot send a header |
//!
//! If the body names no instance, the instance in the path counts.

use super::{EvolutionCredentials, read_instance_name, split_instance_webhook, verify_credentials};
use crate::webhook::{
    AcceptedWebhook, HIDDEN_SECRET, RequiredKeys, WebhookHandler, WebhookKeys, WebhookMethod, WebhookRefusal,
    WebhookRequest, WebhookSetup, current_webhook_secret,
};
use crate::wire::json::WebhookParseError;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;

const PATHS: [&str; 2] = ["/webhooks/evolution", "/api/webhook/evolution"];

/// The webhook handler of Evolution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvolutionWebhook;

/// The information in a webhook's path.
#[derive(Default)]
struct EvolutionWebhookPath<'a> {
    /// Instance name; or the event name, in `byEvents` mode without an instance in the URL.
    segment: Option<&'a str>,
    /// `true` if `segment` may be an event name instead of an instance name.
    event_allowed: bool,
    /// Secret of the instance.
    token: Option<&'a str>,
}

impl<'a> EvolutionWebhookPath<'a> {
    /// Reads the segments after the provider's path; `None` if there is no such route.
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

    /// Returns the instance in the path; `None` if there is none, or if the segment may be an event name.
    fn certain_instance(&self) -> Option<ExternalId> {
        let segment = self.segment?;
        let may_be_event = self.event_allowed && is_event_name(segment);
        ExternalId::parse(segment).ok().filter(|_| !may_be_event)
    }
}

impl WebhookHandler for EvolutionWebhook {
    fn provider(&self) -> Provider {
        Provider::Evolution
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

    /// Reads the instance name of the body first, because the secret is derived from it. Then checks the proof, and then
    /// reads the rest.
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
