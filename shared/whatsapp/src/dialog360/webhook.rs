//! 360dialog's webhook: `POST /webhooks/360dialog`, `/deliver/webhook`, `/wa/webhook`, and each of them with
//! `/{number}`, which on-premise numbers need.

use super::{
    AddressedNumbers, Dialog360Credentials, Dialog360Sender, SECRET_HEADER, SIGNATURE_HEADER,
    read_addressed_numbers, split_webhook, verify_credentials,
};
use crate::meta::webhook::{MetaWebhook, number_of_path};
use crate::webhook::{
    NamedKey, ProvenSecret, ProvenWebhook, RequiredKeys, SimulatedInbound, WebhookHandler, WebhookKeys,
    WebhookRefusal, WebhookRequest, WebhookSetup, current_webhook_secret, restrict_notices,
};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

const PATHS: [&str; 6] = [
    "/webhooks/360dialog",
    "/webhooks/360dialog/{number}",
    "/deliver/webhook",
    "/deliver/webhook/{number}",
    "/wa/webhook",
    "/wa/webhook/{number}",
];

/// Characters of a number's name that its URL has percent-encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Secrets with which 360dialog signs its requests to a partner's platform. An installation that uses the numbers' own
/// secrets does not need them.
const PARTNER_SECRET: NamedKey = NamedKey {
    setting: "D360_PARTNER_SECRET",
    several: true,
};

/// The webhook handler of 360dialog.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialog360Webhook;

impl WebhookHandler for Dialog360Webhook {
    fn paths(&self) -> &'static [&'static str] {
        &PATHS
    }

    fn required_keys(&self) -> RequiredKeys {
        RequiredKeys {
            masters: true,
            named: &[PARTNER_SECRET],
        }
    }

    /// Returns 4 seconds: 360dialog closes the connection after 5, and the request's way to Recado takes part of them.
    fn response_timeout(&self) -> Option<Duration> {
        Some(Duration::from_secs(4))
    }

    fn needs_configured_numbers(&self, request: &WebhookRequest<'_>) -> bool {
        let proof = read_credentials(request);
        let is_shown = [proof.secret, proof.authorization, proof.signature];
        request.path_param("number").is_none()
            && is_shown.iter().any(Option::is_some)
            && matches!(
                read_addressed_numbers(request.body),
                Ok(AddressedNumbers::Unnamed)
            )
    }

    /// Reads the numbers of the body first, because the secret is derived from them. Then checks the proof, and then
    /// reads the rest.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<ProvenWebhook, WebhookRefusal> {
        let body = request.body;
        let number = number_of_path(request)?;
        let said = match &number {
            Some(number) => AddressedNumbers::Numbers(BTreeSet::from([number.clone()])),
            None => read_addressed_numbers(body)?,
        };
        let (proven, number) = match &said {
            AddressedNumbers::Numbers(numbers) => (authenticate(request, numbers, keys)?, number),
            AddressedNumbers::Unnamed => {
                let (proven, number) = find_speaker(request, keys)?;
                (proven, Some(number))
            }
        };
        let mut items = split_webhook(body, number.as_ref(), now)?;
        let secret = match proven {
            Dialog360Sender::Number(instance, proven) => {
                restrict_notices(&mut items, &instance);
                Some(ProvenSecret { instance, proven })
            }
            Dialog360Sender::Partner => None,
        };
        Ok(ProvenWebhook { items, secret })
    }

    fn describe_webhook_setup(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup {
        // The URL contains the number, because on-premise bodies do not.
        let url = instance.resolve_external_id().map(|number| {
            format!(
                "{base}{}/{}",
                PATHS[0],
                utf8_percent_encode(number.as_str(), ENCODED)
            )
        });
        WebhookSetup {
            url,
            secret: current_webhook_secret(instance, keys).filter(|_| with_secret),
            secret_header: Some(SECRET_HEADER),
            proof_set: !keys.masters.is_empty(),
            ..WebhookSetup::NOTHING
        }
    }

    fn write_simulated_webhook(&self, external: &ExternalId, message: &SimulatedInbound<'_>) -> Value {
        MetaWebhook.write_simulated_webhook(external, message)
    }
}

fn read_credentials<'a>(request: &WebhookRequest<'a>) -> Dialog360Credentials<'a> {
    Dialog360Credentials {
        secret: request.header(SECRET_HEADER),
        authorization: request.header("authorization"),
        signature: request.header(SIGNATURE_HEADER),
    }
}

/// Returns the secrets with which partners sign, if anything can be proven at all.
fn find_partner_secrets(keys: &WebhookKeys) -> Result<&[Secret], WebhookRefusal> {
    let partners = keys.named_secrets(PARTNER_SECRET.setting);
    if keys.masters.is_empty() && partners.is_empty() {
        return Err(WebhookRefusal::NotConfigured("the webhook master secret"));
    }
    Ok(partners)
}

/// Returns the sender of a request that names `numbers`.
fn authenticate(
    request: &WebhookRequest<'_>,
    numbers: &BTreeSet<ExternalId>,
    keys: &WebhookKeys,
) -> Result<Dialog360Sender, WebhookRefusal> {
    let (proof, partners) = (read_credentials(request), find_partner_secrets(keys)?);
    verify_credentials(&proof, &keys.masters, numbers, partners, request.body).ok_or(
        WebhookRefusal::Unauthorized {
            what: "a webhook of 360dialog was refused: its proof is missing or wrong",
            instance: None,
        },
    )
}

/// Returns the sender of a request that names no number, and the number that it is about: the one whose secret it shows, or,
/// for a partner, the only one.
fn find_speaker(
    request: &WebhookRequest<'_>,
    keys: &WebhookKeys,
) -> Result<(Dialog360Sender, ExternalId), WebhookRefusal> {
    let (proof, partners) = (read_credentials(request), find_partner_secrets(keys)?);
    let configured = keys.configured_numbers();
    for number in configured {
        let sender = verify_credentials(&proof, &keys.masters, [number], &[], request.body);
        if let Some(sender) = sender {
            return Ok((sender, number.clone()));
        }
    }
    match (
        verify_credentials(&proof, &[], [], partners, request.body),
        configured,
    ) {
        (Some(partner), [only]) => Ok((partner, only.clone())),
        _ => Err(WebhookRefusal::BadRequest(
            "the body names no number, and no proof tells which one it is about: post it to /webhooks/360dialog/{number} or \
             /deliver/webhook/{number}, with the number's secret as x-recado-webhook-secret or as the password of Basic",
        )),
    }
}
