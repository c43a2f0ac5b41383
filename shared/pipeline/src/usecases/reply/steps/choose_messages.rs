//! The step [`recado_domain::turn::TurnStep::Choose`]: chooses the messages that the turn reads.

use crate::Deps;
use crate::usecases::reply::reading::{TurnReading, wants_answer};
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use futures::future::try_join_all;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_ports::ports::PortResult;

/// Number of messages that one further read returns.
const PAGE: usize = 100;

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
