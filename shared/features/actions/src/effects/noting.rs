//! Leaves notes for people about what an agent's tools did.

use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::effects::{EffectEntry, EffectState};
use recado_domain::ids::ConversationId;
use recado_pipeline::Deps;
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::effects::find_journal;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Leaves a note in a conversation that people have or read. The same note again changes nothing.
pub async fn leave_note(deps: &Deps, conversation: &ConversationId, text: &str) -> PortResult<()> {
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

/// Returns whether people have a conversation or resolved it, so that the agent tells nothing more in it.
pub fn is_left_by_agent(conversation: &Conversation) -> bool {
    conversation.mode == ConversationMode::Manual || conversation.status == ConversationStatus::Resolved
}

/// Describes for people the effects of a thread that are done and that `which` chooses. `None`: there are none.
pub async fn describe_done_effects(
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
