//! The step [`recado_domain::turn::TurnStep::Read`]: reads the conversation and its newest messages.

use crate::Deps;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::Message;
/// Number of tries to read a conversation of which only half of a change was visible.
const TRIES: usize = 3;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usecases::reply::transcript::tests::message;
    use recado_domain::message::Role;

    fn read(ordinals: &[u64]) -> Vec<Message> {
        let messages = ordinals.iter();
        messages
            .map(|ordinal| message(*ordinal, Role::User, 1, "oi"))
            .collect()
    }

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
