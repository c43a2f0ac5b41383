//! Reads votes that come as `messages.update` of the poll: version 1, and version 2 before 2.3.5. (From 2.3.7 on a vote
//! is a message of its own, and the update that comes with it is ignored.)

use super::chat::{ChatPeer, choose_chat_peer, parse_jid};
use super::message::NO_CHAT;
use super::{EvolutionEnvelope, find_message_id};
use crate::wire::json::{get_text, get_untrimmed_text, list_members, parse_timestamp};
use crate::wire::{ReadEvent, ReadItem};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::MessageContext;
use recado_domain::event::{EventKind, derive_event_id_from_body};
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::{Value, json};

/// Returns `true` if an update reports a vote. Other updates have no `pollUpdates`, and the updates of 2.3.7 have a
/// status.
pub(super) fn is_poll_vote(part: &Value) -> bool {
    let status = get_text(part, "status").filter(|status| !status.eq_ignore_ascii_case("DELETED"));
    status.is_none() && !list_members(part.get("pollUpdates")).is_empty()
}

pub(super) fn build_vote_item(envelope: &EvolutionEnvelope, part: &Value) -> ReadItem {
    let data = json!({
        "keyId": find_message_id(part),
        "remoteJid": part.get("remoteJid"),
        "pollUpdates": part.get("pollUpdates"),
        "datetime": part.get("datetime"),
    });
    let payload = envelope.build_message_payload(data);
    let address = find_voter_chat(&payload).into_person(NO_CHAT)?;
    let kind = EventKind::Message;
    // The id includes the envelope's time, because a person may vote for the same option again.
    let id = derive_event_id_from_body(Provider::Evolution, &envelope.instance, kind, &payload);
    Ok(WebhookItem::Event(WebhookEvent {
        lookalike: envelope.date_time.is_none() && parse_timestamp(part.get("datetime")).is_none(),
        ..envelope.build_event(kind, id, Some(address), payload)
    }))
}

/// Finds the chat of a vote by `remoteJid`, or by the phone of the person who voted.
fn find_voter_chat(payload: &Value) -> ChatPeer {
    let data = payload.get("data").unwrap_or(&Value::Null);
    let own = get_text(payload, "sender").and_then(parse_jid);
    let others = voter_addresses(data).filter(|voter| own.as_ref() != Some(voter));
    let phone = others.filter(|voter| voter.phone_number().is_some()).last();
    let beside = phone.as_ref().map(ContactAddress::as_str);
    choose_chat_peer(
        &json!({ "remoteJid": data.get("remoteJid"), "remoteJidAlt": beside }),
        get_text(payload, "sender"),
    )
}

fn voter_addresses(data: &Value) -> impl Iterator<Item = ContactAddress> {
    list_members(data.get("pollUpdates"))
        .iter()
        .flat_map(|option| list_members(option.get("voters")))
        .filter_map(|voter| parse_jid(voter.as_str()?))
}

pub(super) fn interpret_vote(payload: &Value) -> ReadEvent {
    let data = payload.get("data").unwrap_or(&Value::Null);
    let own = get_text(payload, "sender").and_then(parse_jid);
    let address = find_voter_chat(payload).into_person(NO_CHAT)?;
    let options = list_members(data.get("pollUpdates"))
        .iter()
        .filter(|option| !list_members(option.get("voters")).is_empty())
        .filter_map(|option| get_untrimmed_text(option, "name"));
    Ok(InboundEvent::Message(Box::new(InboundMessage {
        phone: address.phone_number(),
        address,
        numberless_identity: None,
        name: None,
        provider_message_id: None,
        from_me: own.is_some() && voter_addresses(data).any(|voter| own.as_ref() == Some(&voter)),
        sent_at: parse_timestamp(data.get("datetime")),
        content: Content::PollVote {
            target: get_text(data, "keyId").map(str::to_owned),
            options: options.collect(),
        },
        context: MessageContext::default(),
        not_owed: None,
        thread: None,
    })))
}
