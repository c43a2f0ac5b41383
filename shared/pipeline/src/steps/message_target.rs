//! Finds the message that another message is about, by its id at the provider. The other replies to it, reacts to it, edits it, deletes
//! it or votes on it.

use crate::steps::identity::derive_thread_id;
use crate::steps::linked_threads::find_latest_conversation;
use crate::steps::message_token::is_same_message;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::ids::ExternalId;
use recado_domain::message::Message;
use recado_ports::Deps;
use recado_ports::deps::capabilities;
use recado_ports::ports::PortResult;

/// Number of the conversation's newest messages that are looked through where the provider's id leads to no message.
const NEWEST: usize = 100;

/// Returns the message with the provider's id `target`: one that came in, by its event; one that was sent, by its
/// delivery. Where statuses carry Recado's own id, one may name another id of the provider than its answer did, and an id may be written
/// for the contact's user id or for the number. Then the newest messages of the contact at `address` are looked through. The message may be another instance's: a number may have belonged to it
/// when the message was stored.
pub(crate) async fn find_target_message(
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
pub(crate) async fn find_sent_message(
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
