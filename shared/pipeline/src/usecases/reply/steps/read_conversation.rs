//! The steps [`recado_domain::turn::TurnStep::Read`], [`recado_domain::turn::TurnStep::Instance`] and
//! [`recado_domain::turn::TurnStep::Choose`]: reads the conversation and its newest messages, finds the configuration with which the
//! turn works, and chooses the messages that it reads.

use crate::Deps;
use crate::steps::enabled_instance::find_instance_of;
use crate::steps::turn::reading::{TurnReading, wants_answer};
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use futures::future::try_join_all;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::Message;
use recado_ports::ports::PortResult;
use std::sync::Arc;

/// Number of tries to read a conversation of which only half of a change was visible.
const TRIES: usize = 3;

/// Number of messages that one further read returns.
const PAGE: usize = 100;

/// Reads a conversation and its newest messages, ordered by ordinal, as they were at one moment. A reader may see a
/// transaction's record before its message, and a message that was not seen must not count as read.
pub(in crate::usecases::reply) async fn read_conversation(
    deps: &Deps,
    id: &ConversationId,
) -> Result<(Conversation, Vec<Message>), TurnStop> {
    let limit = deps.settings().turn_reads.messages;
    for _ in 0..TRIES {
        let Some((conversation, messages)) = deps.store().find_with_history(id, limit).await? else {
            return Err(TurnEnd::NoConversation.into());
        };
        // Of a conversation whose erasure has begun nothing is owed, and its messages go one by one.
        if conversation.erased_at.is_some() || is_contiguous(&messages, conversation.last) {
            return Ok((conversation, messages));
        }
        tracing::warn!(
            last = conversation.last.0,
            "half of a change was read: reading again"
        );
    }
    Err(TurnEnd::ChangedMeanwhile.into())
}

/// Returns `true` if the ordinals of `messages` are consecutive and end with `last`.
fn is_contiguous(messages: &[Message], last: Ordinal) -> bool {
    let newest = messages.last().map(|message| message.ordinal);
    newest == Some(last)
        && messages
            .windows(2)
            .all(|pair| pair[1].ordinal == pair[0].ordinal.next_ordinal())
}

/// Returns the configuration of the conversation's instance. Ends the turn if it is not configured, disabled, or another tenant's by now.
pub(in crate::usecases::reply) async fn find_instance(
    deps: &Deps,
    conversation: &Conversation,
) -> Result<Arc<InstanceConfig>, TurnStop> {
    let found = find_instance_of(deps, &conversation.instance, &conversation.tenant).await?;
    found.ok_or_else(|| TurnEnd::NoInstance.into())
}

/// Chooses the messages that the turn reads. `newest` are the newest messages of the conversation; if older ones are
/// owed an answer, they are read now.
pub(in crate::usecases::reply) async fn choose_messages(
    deps: &Deps,
    conversation: &Conversation,
    newest: Vec<Message>,
) -> Result<TurnReading, TurnStop> {
    let known = read_older_messages(deps, conversation, newest).await?;
    let (answered, upto) = (conversation.answered, conversation.turn_upto);
    let mut reading = TurnReading::choose_messages(answered, upto, known, &deps.settings().turn_reads);
    if reading.covers <= answered {
        return Err(TurnEnd::MessagesMissing.into());
    }
    let linked = read_linked_histories(deps, conversation, &reading).await?;
    if !linked.is_empty() {
        reading.link_histories(linked);
    }
    Ok(reading)
}

/// Reads the newest messages of the person's other conversations that belong to one history with this one. A conversation
/// without such others costs no read.
async fn read_linked_histories(
    deps: &Deps,
    conversation: &Conversation,
    own: &TurnReading,
) -> PortResult<Vec<TurnReading>> {
    let limit = deps.settings().turn_reads.messages;
    let linked = conversation.history_conversations();
    let found = linked.map(|id| deps.store().find_with_history(id, limit));
    let found = try_join_all(found).await?.into_iter().flatten();
    Ok(found
        .filter(|(linked, _)| linked.erased_at.is_none())
        .map(|(linked, messages)| TurnReading::from_linked_conversation(linked.answered, messages, own))
        .collect())
}

/// Adds the messages after the answered ordinal that are older than `newest`, as far as one turn can read them.
async fn read_older_messages(
    deps: &Deps,
    conversation: &Conversation,
    newest: Vec<Message>,
) -> PortResult<Vec<Message>> {
    let from = newest.first().map_or(conversation.last, |oldest| oldest.ordinal);
    let mut known = Vec::new();
    let (mut after, mut owed) = (conversation.answered, 0);
    while after.next_ordinal() < from && owed < deps.settings().turn_reads.messages {
        let page = deps
            .store()
            .list_messages_after(&conversation.id, after, PAGE)
            .await?;
        let Some(last) = page.last() else { break };
        after = last.ordinal;
        owed += page.iter().filter(|message| wants_answer(message)).count();
        known.extend(page.into_iter().filter(|message| message.ordinal < from));
    }
    known.extend(newest);
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::turn::transcript::tests::message;
    use recado_domain::message::Role;

    fn read(ordinals: &[u64]) -> Vec<Message> {
        let messages = ordinals.iter();
        messages
            .map(|ordinal| message(*ordinal, Role::User, 1, "oi"))
            .collect()
    }

    /// A turn that covers a message unread leaves it unanswered. So it reads again where messages have a gap.
    #[test]
    fn a_record_and_messages_of_different_moments_are_told_from_whole_ones() {
        let known = read(&[4, 5, 6]);
        assert!(is_contiguous(&known, Ordinal(6)));
        assert!(!is_contiguous(&known, Ordinal(7)), "the newest is not there yet");
        assert!(!is_contiguous(&known, Ordinal(5)), "the record is older");
        assert!(!is_contiguous(&read(&[4, 6]), Ordinal(6)), "a part is missing");
        assert!(!is_contiguous(&[], Ordinal(1)));
    }
}
