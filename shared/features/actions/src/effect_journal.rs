//! The journal of what the agent's tools did for the contact: a draft knows it, and its reply is committed only if no more was done.
//! A conversation is handed over to a person if the contact may not learn of an effect, which was performed or may have been.

use crate::effects::{DraftedJournal, describe_done_effects, is_left_by_agent, leave_note};
use async_trait::async_trait;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::decision::AgentDecision;
use recado_domain::effects::{EffectEntry, EffectState, Journal};
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::tools::Tool;
use recado_domain::turn::TurnStep;
use recado_pipeline::Deps;
use recado_pipeline::hooks::reply_check::ReplyCheck;
use recado_pipeline::hooks::turn_part::TurnPart;
use recado_pipeline::steps::turn::draft::DraftedReply;
use recado_pipeline::steps::turn::turn_end::{TurnEnd, TurnStop};
use recado_pipeline::steps::turn::{LeasedTurn, StepTimes, TurnState};
use recado_ports::ports::{LlmRequest, PortResult};
use recado_ports::records::effects::{find_journal, is_journal_unchanged};
use recado_ports::table::{Versioned, Write};

/// Pause before a turn looks again at an effect whose time is over and that is to be settled. Who settles it asks for a turn.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(20);

/// Longest note for the person, in characters.
const NOTE_CHARACTERS_MAX: usize = 2_000;

/// The journal of effects.
#[derive(Debug)]
pub struct EffectJournal;

#[async_trait]
impl TurnPart for EffectJournal {
    /// Leaves a note of the effects that were done for messages that the agent will not answer. People took the conversation over or
    /// resolved it. `newest` are its newest messages. Only a conversation with a journal costs a read.
    async fn follow_nothing_owed(
        &self,
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

    async fn begin_turn(
        &self,
        deps: &Deps,
        bound: &InstanceConfig,
        conversation: &mut Conversation,
        state: &mut TurnState,
        times: &mut StepTimes,
    ) -> Result<(), TurnStop> {
        let reads = read_journal(deps, bound, conversation);
        if let Some(drafted) = times.run(deps, TurnStep::Journal, reads).await? {
            state.keep(drafted);
        }
        Ok(())
    }

    async fn add_to_request(&self, _deps: &Deps, turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
        let journal = turn.state.find::<DraftedJournal>();
        let told = journal.and_then(|drafted| drafted.journal.record.describe_entries());
        request.instructions.extend(told);
    }
}

#[async_trait]
impl ReplyCheck for EffectJournal {
    fn complete_reply(&self, turn: &mut LeasedTurn<'_>, reply: DraftedReply) -> DraftedReply {
        let journal = turn.state.find::<DraftedJournal>();
        turn.draft.turn.effects_upto = journal.map(|drafted| drafted.journal.record.last);
        hand_over_open_effects(turn, reply)
    }

    fn list_commit_conditions(&self, turn: &LeasedTurn<'_>) -> Option<Vec<Write>> {
        let Some(drafted) = turn.state.find::<DraftedJournal>() else {
            return Some(Vec::new());
        };
        let is_known = !drafted.has_writes_of_others();
        is_known.then(|| vec![drafted.journal.require_unchanged()])
    }

    async fn find_end_after_lost_commit(
        &self,
        deps: &Deps,
        turn: &LeasedTurn<'_>,
        conversation: &Conversation,
    ) -> PortResult<Option<TurnEnd>> {
        let known = turn.state.find::<DraftedJournal>();
        let is_changed = is_journal_changed(deps, conversation, known).await?;
        Ok(is_changed.then_some(TurnEnd::JournalChanged))
    }
}

/// Reads the journal of the thread, if it may have one or the agent has a tool that acts. Ends the turn while an effect is
/// under way: no attempt is counted, and the reply knows how it ended.
///
/// From now on the conversation says that it has a journal. The write of the lease stores that, before an effect can begin.
async fn read_journal(
    deps: &Deps,
    bound: &InstanceConfig,
    conversation: &mut Conversation,
) -> Result<Option<DraftedJournal>, TurnStop> {
    if !conversation.features.has_journal && !bound.tools.iter().any(Tool::acts) {
        return Ok(None);
    }
    let (thread, now) = (conversation.id.thread_id(), deps.system().now());
    let found = find_journal(deps.store(), &conversation.tenant, thread).await?;
    let journal = found.unwrap_or_else(|| {
        let (tenant, instance) = (conversation.tenant.clone(), conversation.instance.clone());
        Versioned::new(Journal::start_new(thread.clone(), tenant, instance, now))
    });
    if let Some(running) = journal.record.running_entry() {
        let is_overdue = running.until <= now;
        let until = if is_overdue {
            add_duration(now, LOOK_AGAIN)
        } else {
            running.until
        };
        return Err(TurnEnd::EffectUnderWay { until }.into());
    }
    conversation.features.has_journal = true;
    Ok(Some(DraftedJournal::from_read(journal)))
}

/// Returns the number of the newest effect that a reply knew, if it was not cancelled.
fn effects_told_by(message: &Message) -> Option<u64> {
    let out = message.out.as_ref()?;
    let is_cancelled = matches!(out.state, OutboxState::Cancelled { .. });
    out.turn.as_ref()?.effects_upto.filter(|_| !is_cancelled)
}

/// Returns whether an effect of the thread began or ended that the draft does not know.
async fn is_journal_changed(
    deps: &Deps,
    conversation: &Conversation,
    known: Option<&DraftedJournal>,
) -> PortResult<bool> {
    let Some(known) = known else {
        // The agent got a tool that acts since this turn began, and a later turn may have used it.
        return Ok(conversation.features.has_journal);
    };
    Ok(known.has_writes_of_others() || !is_journal_unchanged(deps.store(), &known.journal).await?)
}

/// Makes the reply a hand-over if an effect of this turn is unknown. So it does if one was done that the agent's error message
/// hides. The note tells the person of each such effect, before what the agent noted itself.
fn hand_over_open_effects(turn: &LeasedTurn<'_>, mut reply: DraftedReply) -> DraftedReply {
    let is_error = reply.is_error_reply();
    let of_turn = |entry: &&EffectEntry| {
        entry.conversation == turn.conversation.id && entry.base >= turn.draft.answered
    };
    let is_open = |entry: &&EffectEntry| {
        entry.state == EffectState::Unknown || (is_error && entry.state == EffectState::Done)
    };
    let journal = turn.state.find::<DraftedJournal>();
    let entries = journal.iter().flat_map(|drafted| &drafted.journal.record.entries);
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
