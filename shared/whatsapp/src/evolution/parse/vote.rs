//! Votes that come as `messages.update` of the poll: version 1 and version 2 before 2.3.5. (From 2.3.7 on a vote is a
//! message of its own, and the update that comes beside it is left alone.)

use super::Envelope;
use super::chat::{Chat, address, chat_of};
use crate::json::{instant, list, prose, text};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::Context;
use recado_domain::event::{EventKind, event_id_of_body};
use recado_domain::inbound::{Inbound, InboundMessage, WebhookEvent, WebhookItem};
use serde_json::{Value, json};

/// Whether an update tells of a vote: the others carry no `pollUpdates`, and what 2.3.7 sends has a status.
pub(super) fn is_vote(part: &Value) -> bool {
    let status = text(part, "status").filter(|status| !status.eq_ignore_ascii_case("DELETED"));
    status.is_none() && !list(part.get("pollUpdates")).is_empty()
}

/// One vote as an item.
pub(super) fn item(envelope: &Envelope, part: &Value) -> WebhookItem {
    let ignored = |what: &str| WebhookItem::Ignored {
        what: what.to_owned(),
    };
    let data = json!({
        "keyId": super::status::message_id(part),
        "remoteJid": part.get("remoteJid"),
        "pollUpdates": part.get("pollUpdates"),
        "datetime": part.get("datetime"),
    });
    let mut payload = envelope.payload(data);
    if let Some(own) = &envelope.own {
        payload["sender"] = json!(own);
    }
    let address = match voter(&payload) {
        Chat::Person(address) => address,
        Chat::Many(what) => return ignored(what),
        Chat::Nobody => return ignored("message without a chat"),
    };
    let (provider, kind) = (crate::evolution::NAME, EventKind::Message);
    WebhookItem::Event(WebhookEvent {
        // With the envelope's time: one may vote for the same again.
        id: event_id_of_body(provider, &envelope.instance, kind, &payload),
        provider,
        external: envelope.instance.clone(),
        kind,
        address: Some(address),
        lookalike: envelope.date_time.is_none() && instant(part.get("datetime")).is_none(),
        payload,
    })
}

/// With whom the chat is: as `remoteJid` says, or by the phone of who voted.
fn voter(payload: &Value) -> Chat {
    let data = payload.get("data").unwrap_or(&Value::Null);
    let own = text(payload, "sender").and_then(address);
    let others = voters(data).filter(|voter| own.as_ref() != Some(voter));
    let phone = others.filter(|voter| voter.phone().is_some()).last();
    let beside = phone.as_ref().map(ContactAddress::as_str);
    chat_of(
        &json!({ "remoteJid": data.get("remoteJid"), "remoteJidAlt": beside }),
        text(payload, "sender"),
    )
}

fn voters(data: &Value) -> impl Iterator<Item = ContactAddress> {
    list(data.get("pollUpdates"))
        .iter()
        .flat_map(|option| list(option.get("voters")))
        .filter_map(|voter| address(voter.as_str()?))
}

/// Reads the payload of a vote.
pub(super) fn interpret(payload: &Value) -> Inbound {
    let ignored = |what: &str| Inbound::Ignored {
        what: what.to_owned(),
    };
    let data = payload.get("data").unwrap_or(&Value::Null);
    let own = text(payload, "sender").and_then(address);
    let address = match voter(payload) {
        Chat::Person(address) => address,
        Chat::Many(what) => return ignored(what),
        Chat::Nobody => return ignored("message without a chat"),
    };
    let options = list(data.get("pollUpdates"))
        .iter()
        .filter(|option| !list(option.get("voters")).is_empty())
        .filter_map(|option| prose(option, "name"));
    Inbound::Message(Box::new(InboundMessage {
        phone: address.phone(),
        address,
        also: None,
        name: None,
        provider_message_id: None,
        from_me: own.is_some() && voters(data).any(|voter| own.as_ref() == Some(&voter)),
        sent_at: instant(data.get("datetime")),
        content: Content::PollVote {
            target: text(data, "keyId").map(str::to_owned),
            options: options.collect(),
        },
        context: Context::default(),
    }))
}
