//! Tells people what was done for messages whose reply was cancelled.

use crate::effects::{describe_done_effects, is_left_by_agent};
use async_trait::async_trait;
use recado_domain::conversation::Conversation;
use recado_domain::effects::EffectEntry;
use recado_domain::message::Outgoing;
use recado_pipeline::Deps;
use recado_pipeline::hooks::after_commit::AfterCommit;
use recado_ports::ports::PortResult;

/// The notes about effects of cancelled replies.
#[derive(Debug)]
pub struct EffectNotes;

#[async_trait]
impl AfterCommit for EffectNotes {
    /// Leaves a note in a conversation that people have. The note tells what was done for the messages that a cancelled reply would
    /// have answered.
    async fn reply_was_cancelled(
        &self,
        deps: &Deps,
        conversation: &mut Conversation,
        reply: &Outgoing,
    ) -> PortResult<()> {
        let turn = reply.out.turn.as_ref();
        let known = turn.and_then(|turn| Some((turn.effects_upto?, turn.asked_at?)));
        let known = known.filter(|(upto, _)| *upto > 0 && is_left_by_agent(conversation));
        let Some((upto, asked_at)) = known else {
            return Ok(());
        };
        let covers = reply.out.covers;
        let is_of_turn =
            |entry: &EffectEntry| entry.is_of_turn(&reply.conversation, (upto, covers), asked_at);
        if let Some(note) = describe_done_effects(deps, conversation, is_of_turn).await? {
            conversation.note_for_people(&note, deps.system().now());
        }
        Ok(())
    }
}
