//! Evolution's webhook.
//!
//! | route | what |
//! | --- | --- |
//! | `POST /webhooks/evolution`, `/api/webhook/evolution` | events |
//! | `POST …/{instance or event}`, `…/{instance}/{event}` | the same, `byEvents`; of a body that names no instance the path's |
//! | `POST …/k/{token}`, `…/k/{token}/{event}` | the same, of version 1, which can send no header |

use super::{Proof, instance_of, split_of, verify};
use crate::ParseError;
use crate::webhook::{
    Door, HIDDEN, KeyNeeds, Method, Refusal, Request, Taken, WebhookKeys, WebhookSetup, secret_of,
};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;

const PATHS: [&str; 2] = ["/webhooks/evolution", "/api/webhook/evolution"];

/// Evolution's door.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Webhook;

/// What the path says of a webhook, beyond its body.
#[derive(Default)]
struct Said<'a> {
    /// The instance, or in `byEvents` mode without an instance in the URL the event.
    segment: Option<&'a str>,
    /// Whether `segment` may be an event's name.
    event_allowed: bool,
    /// The instance's secret.
    token: Option<&'a str>,
}

impl<'a> Said<'a> {
    /// `None` if there is no such route.
    fn read(rest: &'a [String]) -> Option<Self> {
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
    fn instance(&self) -> Option<ExternalId> {
        let segment = self.segment?;
        let may_be_event = self.event_allowed && is_event(segment);
        ExternalId::parse(segment).ok().filter(|_| !may_be_event)
    }
}

impl Door for Webhook {
    fn provider(&self) -> Provider {
        crate::evolution::NAME
    }

    fn paths(&self) -> &'static [&'static str] {
        &PATHS
    }

    fn methods(&self, rest: &[String]) -> &'static [Method] {
        match Said::read(rest) {
            Some(_) => &[Method::Post],
            None => &[],
        }
    }

    fn keys(&self) -> KeyNeeds {
        KeyNeeds {
            masters: true,
            named: &[],
        }
    }

    /// The instance that the body names (the secret is derived from it), then the proof, then the rest of the body.
    fn receive(&self, request: &Request<'_>, keys: &WebhookKeys, now: Timestamp) -> Result<Taken, Refusal> {
        let said = Said::read(request.rest).ok_or(Refusal::NoRoute)?;
        let instance = match (instance_of(request.brings.body), said.instance()) {
            (Err(ParseError::NotEnvelope { .. }), Some(instance)) => instance,
            (named, _) => named?,
        };
        if let Some(segment) = said.segment {
            let fits = segment == instance.as_str() || (said.event_allowed && is_event(segment));
            if !fits {
                return Err(Refusal::BadRequest(
                    "the path names another instance than the body",
                ));
            }
        }
        if keys.masters.is_empty() {
            return Err(Refusal::NotSetUp("the webhook master secret"));
        }
        let proof = Proof {
            apikey: request.header("apikey"),
            authorization: request.header("authorization"),
            path_token: said.token,
        };
        if !verify(&proof, &keys.masters, &instance, now) {
            return Err(Refusal::Unproven(
                "a webhook of Evolution was refused: its proof is missing or wrong",
            ));
        }
        Ok(Taken::Items(split_of(request.brings.body, &instance, now)?))
    }

    fn setting_up(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup {
        let secret = secret_of(instance, keys).filter(|_| with_secret);
        let plain = format!("{base}{}", PATHS[0]);
        // Version 1 can send no header: its secret stands in the path.
        let url = match instance.api_version {
            1 => format!("{plain}/k/{}", secret.as_ref().map_or(HIDDEN, Secret::expose)),
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
fn is_event(segment: &str) -> bool {
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
