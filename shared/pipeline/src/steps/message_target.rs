//! Finds the message that another message is about, by its id at the provider. The other replies to it, reacts to it, edits it, deletes
//! it or votes on it.

use crate::Deps;
use crate::deps::capabilities;
use crate::steps::identity::derive_thread_id;
use crate::steps::linked_threads::find_latest_conversation;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::ids::ExternalId;
use recado_domain::message::Message;
use recado_ports::ports::PortResult;

/// Number of the conversation's newest messages that are looked through where the provider's id leads to no message.
const NEWEST: usize = 100;

/// Returns the message with the provider's id `target`: one that came in, by its event; one that was sent, by its
/// delivery. Where statuses carry Recado's own id, one may name another id of the provider than its answer did, and an id may be written
/// for the contact's user id or for the number. Then the newest messages of the contact at `address` are looked through. The message may be another instance's: a number may have belonged to it
/// when the message was stored.
pub async fn find_target_message(
    deps: &Deps,
    bound: &InstanceConfig,
    external: &ExternalId,
    address: Option<&ContactAddress>,
    target: &str,
) -> PortResult<Option<Message>> {
    let provider = bound.instance.provider;
    let event = derive_event_id(provider, external, EventKind::Message, target);
    let came = deps.store().find_event(&event).await?;
    let mut id = came
        .and_then(|record| record.stored)
        .map(|place| place.conversation.message_id(place.ordinal));
    if id.is_none() {
        let sent = DeliveryKey::from_provider_id(provider, external, target);
        let sent = deps.store().find_delivery(&sent).await?;
        id = sent.and_then(|delivery| delivery.message);
    }
    match (id, address) {
        (Some(id), _) => deps.store().find_message(&id).await,
        (None, Some(address)) if capabilities(deps, bound).echoes_our_id => {
            let newest = read_newest_messages(deps, bound, address).await?;
            let same = newest.iter().find(|message| has_provider_id(message, target));
            match same {
                Some(same) => Ok(Some(same.clone())),
                None => find_told_message(deps, bound, external, newest, target).await,
            }
        }
        (None, _) => Ok(None),
    }
}

/// Finds a message that was sent in the contact's newest conversation. The provider's id stands in the message, or in its
/// delivery if the provider's answer had another id.
pub async fn find_sent_message(
    deps: &Deps,
    bound: &InstanceConfig,
    external: &ExternalId,
    address: &ContactAddress,
    target: &str,
) -> PortResult<Option<Message>> {
    let newest = read_newest_messages(deps, bound, address).await?;
    let is_sent = |message: &&Message| message.out.is_some() && has_provider_id(message, target);
    if let Some(found) = newest.iter().find(is_sent) {
        return Ok(Some(found.clone()));
    }
    find_told_message(deps, bound, external, newest, target).await
}

/// Reads the newest messages of the contact's newest conversation.
async fn read_newest_messages(
    deps: &Deps,
    bound: &InstanceConfig,
    address: &ContactAddress,
) -> PortResult<Vec<Message>> {
    let thread = derive_thread_id(deps, &bound.instance.id, address.as_str()).await?;
    let (_, Some(newest)) = find_latest_conversation(deps, thread).await? else {
        return Ok(Vec::new());
    };
    let found = deps.store().find_with_history(&newest.id, NEWEST).await?;
    Ok(found.map(|(_, messages)| messages).unwrap_or_default())
}

fn has_provider_id(message: &Message, target: &str) -> bool {
    let id = message.provider_message_id.as_deref();
    id.is_some_and(|id| is_same_message(id, target))
}

/// Finds the sent message among `messages` whose delivery has the provider's id `target`.
async fn find_told_message(
    deps: &Deps,
    bound: &InstanceConfig,
    external: &ExternalId,
    messages: Vec<Message>,
    target: &str,
) -> PortResult<Option<Message>> {
    let sent: Vec<Message> = messages
        .into_iter()
        .filter(|message| message.out.is_some())
        .collect();
    if sent.is_empty() {
        return Ok(None);
    }
    let key = |message: &Message| {
        DeliveryKey::from_own_id(bound.instance.provider, external, &message.message_id())
    };
    let keys: Vec<DeliveryKey> = sent.iter().map(key).collect();
    let deliveries = deps.store().find_deliveries(&keys).await?;
    let is_told = |delivery: &Option<recado_domain::delivery::Delivery>| {
        let delivery = delivery.as_ref();
        let id = delivery.and_then(|delivery| delivery.provider_message_id.as_deref());
        id.is_some_and(|id| is_same_message(id, target))
    };
    let found = sent
        .into_iter()
        .zip(deliveries)
        .find(|(_, delivery)| is_told(delivery));
    Ok(found.map(|(message, _)| message))
}

/// The text before the encoded part of an id that holds a token.
const PREFIX: &str = "wamid.";

/// The shortest token that is compared: a shorter one could be a part of something else.
const TOKEN_MIN: usize = 16;

/// Returns `true` if the ids are equal, or if both hold the same token.
pub fn is_same_message(one: &str, other: &str) -> bool {
    one == other || find_token(one).is_some_and(|token| find_token(other).as_ref() == Some(&token))
}

/// Returns the token that an id of a provider holds; `None` if the id has another form. The token is the last field of the decoded
/// bytes: its length, as many hexadecimal digits, and a zero.
pub fn find_token(id: &str) -> Option<Vec<u8>> {
    let encoded = id.strip_prefix(PREFIX)?.trim_end_matches('=');
    let decoded = STANDARD_NO_PAD.decode(encoded).ok()?;
    let fields = decoded.strip_suffix(&[0])?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
    let begins = fields.iter().rposition(|byte| !is_digit(byte))?;
    let token = &fields[begins + 1..];
    let is_whole = usize::from(fields[begins]) == token.len() && token.len() >= TOKEN_MIN;
    is_whole.then(|| token.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    fn id(address: &str, token: &str) -> String {
        let mut bytes = vec![0x1d, 0x08, u8::try_from(address.len()).unwrap()];
        bytes.extend(address.as_bytes());
        bytes.extend([0x15, 0x02, 0x00, 0x12, 0x18, u8::try_from(token.len()).unwrap()]);
        bytes.extend(token.as_bytes());
        bytes.push(0);
        format!("{PREFIX}{}", STANDARD.encode(bytes))
    }

    #[test]
    fn one_message_has_two_ids_and_another_has_none_of_them() {
        let (first, second) = ("3EB0C767D097B7C0A1B2", "A5F0C767D097B7C0A1B2C3D4E5F60718");
        for token in [first, second] {
            let (number, user) = (id("5511900000001", token), id("BR.7001234567890123", token));
            assert_ne!(number, user);
            assert!(is_same_message(&number, &user));
            assert!(is_same_message(&number, user.trim_end_matches('=')), "{user}");
        }
        assert!(!is_same_message(
            &id("5511900000001", first),
            &id("5511900000001", second)
        ));
    }

    #[test]
    fn only_equal_ids_of_another_form_name_the_same_message() {
        for id in [
            "W1",
            "wamid.W1",
            "wamid.",
            "wamid.AAAA",
            "3EB0C767D097B7C0A1B2",
            "",
        ] {
            assert_eq!(find_token(id), None, "{id}");
            assert!(is_same_message(id, id));
        }
        let short = id("5511900000001", "ABCDEF");
        assert_eq!(find_token(&short), None);
        assert!(!is_same_message(&short, &id("BR.7001234567890123", "ABCDEF")));
    }
}
