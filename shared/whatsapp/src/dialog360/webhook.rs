//! 360dialog's webhook: `POST /webhooks/360dialog`, `/deliver/webhook`, `/wa/webhook`, and each of them with `/{number}`,
//! which on-premise numbers need.

use super::{Addressed, Proof, Proven, SECRET_HEADER, SIGNATURE_HEADER, addressed, split, verify};
use crate::webhook::{
    Door, KeyNeeds, Method, NamedKey, Refusal, Request, Taken, WebhookKeys, WebhookSetup, encoded, secret_of,
};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use std::collections::BTreeSet;
use std::time::Duration;

const PATHS: [&str; 3] = ["/webhooks/360dialog", "/deliver/webhook", "/wa/webhook"];

/// The secrets with which it signs what it sends to a partner's platform; a number's own secret does without.
const PARTNER_SECRET: NamedKey = NamedKey {
    setting: "D360_PARTNER_SECRET",
    several: true,
};

/// 360dialog's door.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Webhook;

impl Door for Webhook {
    fn provider(&self) -> Provider {
        crate::dialog360::NAME
    }

    fn paths(&self) -> &'static [&'static str] {
        &PATHS
    }

    fn methods(&self, rest: &[String]) -> &'static [Method] {
        match rest {
            [] | [_] => &[Method::Post],
            _ => &[],
        }
    }

    fn keys(&self) -> KeyNeeds {
        KeyNeeds {
            masters: true,
            named: &[PARTNER_SECRET],
        }
    }

    /// It hangs up after 5 s, and some of those are its request's way.
    fn patience(&self) -> Option<Duration> {
        Some(Duration::from_secs(4))
    }

    /// The numbers that it is about (the secret is derived from them), then the proof, then the rest of the body.
    fn receive(&self, request: &Request<'_>, keys: &WebhookKeys, now: Timestamp) -> Result<Taken, Refusal> {
        let body = request.brings.body;
        let number = number(request.rest)?;
        let said = match &number {
            Some(number) => Addressed::Numbers(BTreeSet::from([number.clone()])),
            None => addressed(body)?,
        };
        let proven = prove(request, &said, keys)?;
        let mut items = split(body, number.as_ref(), now)?;
        if let Proven::Number(number) = proven {
            confine(&mut items, &number);
        }
        Ok(Taken::Items(items))
    }

    fn setting_up(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup {
        // The number stands in the URL: on-premise bodies do not name it.
        let url = instance
            .external()
            .map(|number| format!("{base}{}/{}", PATHS[0], encoded(number.as_str())));
        WebhookSetup {
            url,
            secret: secret_of(instance, keys).filter(|_| with_secret),
            secret_header: Some(SECRET_HEADER),
            proof_set: !keys.masters.is_empty(),
            ..WebhookSetup::NOTHING
        }
    }
}

/// The number that the path names.
fn number(rest: &[String]) -> Result<Option<ExternalId>, Refusal> {
    let number = match rest {
        [] => return Ok(None),
        [number] => ExternalId::parse(number),
        _ => return Err(Refusal::NoRoute),
    };
    let number = number.map_err(|_| Refusal::BadRequest("the path names no number"))?;
    Ok(Some(number))
}

/// A number's secret is its customer's, who may write whatever they like: notices count only of the number's own account.
fn confine(items: &mut [WebhookItem], number: &ExternalId) {
    for item in items {
        if let WebhookItem::Notice { proven_by, .. } = item {
            *proven_by = Some(number.clone());
        }
    }
}

fn prove(request: &Request<'_>, said: &Addressed, keys: &WebhookKeys) -> Result<Proven, Refusal> {
    let partners = keys.named(PARTNER_SECRET.setting);
    if keys.masters.is_empty() && partners.is_empty() {
        return Err(Refusal::NotSetUp("the webhook master secret"));
    }
    let proof = Proof {
        secret: request.header(SECRET_HEADER),
        authorization: request.header("authorization"),
        signature: request.header(SIGNATURE_HEADER),
    };
    let none = BTreeSet::new();
    let numbers = match said {
        Addressed::Numbers(numbers) => numbers,
        Addressed::Unnamed => &none,
    };
    if let Some(proven) = verify(&proof, &keys.masters, numbers, partners, request.brings.body) {
        return Ok(proven);
    }
    Err(match said {
        Addressed::Unnamed => {
            Refusal::BadRequest("the body names no number, so the URL must: /webhooks/360dialog/{number}")
        }
        Addressed::Numbers(_) => {
            Refusal::Unproven("a webhook of 360dialog was refused: its proof is missing or wrong")
        }
    })
}
