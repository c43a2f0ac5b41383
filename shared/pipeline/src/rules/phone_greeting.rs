//! Greetings and away messages that the phone's WhatsApp Business app writes by itself. No person answered with them, so they take no
//! conversation over.

use crate::Deps;
use crate::hooks::inbound_rule::InboundRule;
use crate::steps::inbound_arrival::InboundArrival;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::{Message, Role};
use recado_ports::ports::{ConversationFilter, PageRequest, PortResult};

/// The longest time between the contact's message and the app's. Nobody reads, writes and sends as fast, and providers tell whole
/// seconds.
const QUICK: SignedDuration = SignedDuration::from_secs(2);

/// Number of other conversations in which the same greeting is looked for.
const COMPARED: usize = 20;

/// Number of messages that are read of a conversation. One with more began too long ago to be compared.
const READ: usize = 50;

/// Tells a greeting that the phone's app writes by itself from a person's answer: it takes no conversation over.
///
/// Test: `tests/kit/tests/use_cases/phone.rs#a_greeting_that_the_phone_writes_to_several_contacts_takes_over_the_first_conversation_alone`.
#[derive(Debug)]
pub struct PhoneGreetingRule;

#[async_trait]
impl InboundRule for PhoneGreetingRule {
    /// Returns `true` if the phone's app wrote `inbound` by itself: it is the first message of the business in the conversation, it came at
    /// most two seconds after the contact's, and another conversation of the instance began with the same text as quickly. With
    /// `phone_greets`, the first two suffice; with `phone_greets = false` nothing is taken for a greeting.
    async fn is_automatic(
        &self,
        deps: &Deps,
        arrival: &InboundArrival<'_>,
        conversation: &Conversation,
    ) -> PortResult<bool> {
        let instance = &arrival.bound.instance;
        let (Content::Text { text }, Some(written_at)) = (&arrival.inbound.content, arrival.inbound.sent_at)
        else {
            return Ok(false);
        };
        // Where people answer already, nothing is taken over.
        let is_of_people =
            conversation.mode == ConversationMode::Manual || conversation.human != Ordinal::default();
        if instance.phone_greets == Some(false) || !instance.phone_takes_over || is_of_people {
            return Ok(false);
        }
        let Some(messages) = read_whole_conversation(deps, &conversation.id).await? else {
            return Ok(false);
        };
        let answered = messages.iter().any(|message| message.role == Role::Operator);
        if answered || !follows_quickly(&messages, written_at) {
            return Ok(false);
        }
        if instance.phone_greets == Some(true) {
            return Ok(true);
        }
        let filter = ConversationFilter::of_instance(&conversation.tenant, &instance.id);
        let page = PageRequest::first(COMPARED);
        for other in deps.store().search_conversations(&filter, &page).await?.items {
            if other.id != conversation.id && began_with(deps, &other.id, text).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the messages of a conversation; `None` if there are too many to read, or none.
async fn read_whole_conversation(deps: &Deps, id: &ConversationId) -> PortResult<Option<Vec<Message>>> {
    let found = deps.store().find_with_history(id, READ).await?;
    let messages = found.map(|(_, messages)| messages);
    let is_whole = |messages: &Vec<Message>| messages.first().map(|first| first.ordinal) == Some(Ordinal(1));
    Ok(messages.filter(is_whole))
}

/// Returns `true` if the newest message of the contact was written at most [`QUICK`] before `written_at`.
fn follows_quickly(messages: &[Message], written_at: Timestamp) -> bool {
    let mut of_contact = messages.iter().filter(|message| message.role == Role::User);
    of_contact.next_back().is_some_and(|message| {
        let since = message.told_at.unwrap_or(message.written_at);
        // Only whole seconds are told.
        let gap = SignedDuration::from_secs(written_at.as_second() - since.as_second());
        (SignedDuration::ZERO..=QUICK).contains(&gap)
    })
}

/// Returns `true` if the first message of people in the conversation `id` is `text`. It was typed on the phone, and came quickly.
async fn began_with(deps: &Deps, id: &ConversationId, text: &str) -> PortResult<bool> {
    let Some(messages) = read_whole_conversation(deps, id).await? else {
        return Ok(false);
    };
    let Some(at) = messages.iter().position(|message| message.role == Role::Operator) else {
        return Ok(false);
    };
    let first = &messages[at];
    let is_same = matches!(&first.content, Content::Text { text: said } if said.trim() == text.trim());
    let is_typed = first.out.is_none();
    Ok(is_same && is_typed && follows_quickly(&messages[..at], first.written_at))
}
