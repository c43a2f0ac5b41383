//! Leaves notes for people about what an agent's tools did.

use crate::steps::save_conversation::save_conversation;
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::effects::{EffectEntry, EffectState};
use recado_domain::ids::ConversationId;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_ports::Deps;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::effects::find_journal;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Leaves a note in a conversation that people have or read. The same note again changes nothing.
pub(crate) async fn leave_note(deps: &Deps, conversation: &ConversationId, text: &str) -> PortResult<()> {
    retry_lost_write(PortError::contended("conversation"), (), |()| async {
        let found = deps.store().find_conversation(conversation).await?;
        let Some(mut found) = found else {
            return Ok(WriteAttempt::Done(()));
        };
        if !found.note_for_people(text, deps.system().now()) {
            return Ok(WriteAttempt::Done(()));
        }
        let written = save_conversation(deps, &mut found).await?;
        Ok(WriteAttempt::after_write(written, ()))
    })
    .await
}

/// Leaves a note of the effects that were done for messages that the agent will not answer. People took the conversation over or
/// resolved it. `newest` are its newest messages. Only a conversation with a journal costs a read.
pub(crate) async fn note_untold_effects(
    deps: &Deps,
    conversation: &Conversation,
    newest: &[Message],
) -> PortResult<()> {
    if !conversation.features.has_journal || !is_left_by_agent(conversation) {
        return Ok(());
    }
    let told_upto = newest.iter().filter_map(effects_told_by).max();
    let since = newest.iter().map(|message| message.stored_at).min();
    let is_untold = |entry: &EffectEntry| {
        entry.conversation == conversation.id
            && Some(entry.number) > told_upto
            && since.is_some_and(|since| since <= entry.begun_at)
    };
    match describe_done_effects(deps, conversation, is_untold).await? {
        Some(note) => leave_note(deps, &conversation.id, &note).await,
        None => Ok(()),
    }
}

/// Returns whether people have a conversation or resolved it, so that the agent tells nothing more in it.
pub(crate) fn is_left_by_agent(conversation: &Conversation) -> bool {
    conversation.mode == ConversationMode::Manual || conversation.status == ConversationStatus::Resolved
}

/// Describes for people the effects of a thread that are done and that `which` chooses. `None`: there are none.
pub(crate) async fn describe_done_effects(
    deps: &Deps,
    conversation: &Conversation,
    which: impl Fn(&EffectEntry) -> bool,
) -> PortResult<Option<String>> {
    let (tenant, thread) = (&conversation.tenant, conversation.id.thread_id());
    let found = find_journal(deps.store(), tenant, thread).await?;
    let entries = found.map(|found| found.record.entries).unwrap_or_default();
    let done = entries.iter().filter(|entry| entry.state == EffectState::Done);
    let lines: Vec<String> = done
        .filter(|entry| which(entry))
        .map(EffectEntry::describe_for_people)
        .collect();
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// Returns the number of the newest effect that a reply knew, if it was not cancelled.
fn effects_told_by(message: &Message) -> Option<u64> {
    let out = message.out.as_ref()?;
    let is_cancelled = matches!(out.state, OutboxState::Cancelled { .. });
    out.turn.as_ref()?.effects_upto.filter(|_| !is_cancelled)
}
