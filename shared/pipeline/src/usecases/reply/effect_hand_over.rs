//! Hands a conversation over to a person if the contact may not learn of an effect. The effect was performed, or may have been.

use super::draft::DraftedReply;
use super::leased_turn::LeasedTurn;
use recado_domain::decision::AgentDecision;
use recado_domain::effects::{EffectEntry, EffectState};

/// Longest note for the person, in characters.
const NOTE_CHARACTERS_MAX: usize = 2_000;

/// Makes the reply a hand-over if an effect of this turn is unknown. So it does if one was done that the agent's error message
/// hides. The note tells the person of each such effect, before what the agent noted itself.
pub(super) fn hand_over_open_effects(turn: &LeasedTurn<'_>, mut reply: DraftedReply) -> DraftedReply {
    let is_error = reply.is_error_reply();
    let of_turn = |entry: &&EffectEntry| {
        entry.conversation == turn.conversation.id && entry.base >= turn.draft.answered
    };
    let is_open = |entry: &&EffectEntry| {
        entry.state == EffectState::Unknown || (is_error && entry.state == EffectState::Done)
    };
    let entries = turn
        .journal
        .iter()
        .flat_map(|drafted| &drafted.journal.record.entries);
    let mut lines: Vec<String> = entries
        .filter(of_turn)
        .filter(is_open)
        .map(EffectEntry::describe_for_people)
        .collect();
    if lines.is_empty() {
        return reply;
    }
    if let Some(AgentDecision::HandOver { note }) = &reply.decision {
        lines.push(note.clone());
    }
    let note = lines.join("\n").chars().take(NOTE_CHARACTERS_MAX).collect();
    reply.decision = Some(AgentDecision::HandOver { note });
    reply
}
