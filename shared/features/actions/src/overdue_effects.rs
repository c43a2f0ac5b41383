//! Settles effects of agents' tools whose end nobody stored in time, also where people answer or the conversation is resolved.

use crate::due_bookings::look_at_due_bookings;
use crate::effects::{SettlingEnd, find_tool_of_effect, leave_note, remove_fence_left, settle_effect};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::effects::{EffectEntry, EffectState, Journal};
use recado_domain::ids::{TenantId, ThreadId};
use recado_pipeline::Deps;
use recado_pipeline::hooks::feature_timer::{DueRecord, DueRecords, FeatureTimer, box_records};
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_pipeline::steps::wake_up;
use recado_ports::ports::{MissingEffectTool, PortError, PortResult};
use recado_ports::random_id::{generate_correlation_id, generate_nonce};
use recado_ports::records::effects::{find_journal, list_due_journals};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::time_limit::run_within;
use std::time::Duration;

/// Longest time for one effect. A tool that does not answer must not hold the pass up; what is cut off here is asked again.
const ONE_EFFECT: Duration = Duration::from_secs(30);

/// Effects whose end nobody stored are settled. Fences that are left behind are removed, and booked events are looked at.
#[derive(Debug)]
pub struct OverdueEffects;

#[async_trait]
impl FeatureTimer for OverdueEffects {
    fn name_in_report(&self) -> &'static str {
        "effects"
    }

    async fn list_due_records(&self, deps: &Deps, now: Timestamp, limit: usize) -> PortResult<DueRecords> {
        let due = list_due_journals(deps.store(), now, limit).await?.into_iter();
        Ok(box_records(
            due.map(|(tenant, thread)| DueJournal(tenant, thread)),
        ))
    }
}

/// A thread whose journal is due.
#[derive(Debug)]
struct DueJournal(TenantId, ThreadId);

#[async_trait]
impl DueRecord for DueJournal {
    /// Settles the due effects of a thread, removes fences that are left behind, and looks at its booked events. Returns
    /// whether there were any. Each begins before `until`; what does not is still due.
    async fn handle_due_record(&self, deps: &Deps, until: Timestamp) -> PortResult<bool> {
        if deps.system().now() >= until {
            return Ok(false);
        }
        let Self(tenant, thread) = self;
        let Some(found) = find_journal(deps.store(), tenant, thread).await? else {
            return Ok(false);
        };
        let journal = found.record;
        let now = deps.system().now();
        let (open, fences) = (journal.entries_to_settle(now), journal.fences_to_remove(now));
        for entry in open.iter().chain(&fences) {
            if deps.system().now() >= until {
                return Ok(true);
            }
            let works = Box::pin(handle_due_entry(deps, &journal, entry));
            run_within(deps.system(), ONE_EFFECT, works).await.transpose()?;
        }
        let looked = look_at_due_bookings(deps, &journal, until).await?;
        Ok(looked || !(open.is_empty() && fences.is_empty()))
    }
}

/// Settles an entry, or removes its fence, with the tool that it names.
async fn handle_due_entry(deps: &Deps, journal: &Journal, entry: &EffectEntry) -> PortResult<()> {
    let tool = find_tool_of_effect(deps, &journal.tenant, &entry.tool).await?;
    let private_hosts = deps.settings().private_tools;
    let opened = tool
        .as_ref()
        .and_then(|tool| deps.llm().open_effect_tool(tool, private_hosts));
    if opened.is_none() && entry.state.is_open() {
        tracing::warn!(tool = %entry.tool.name, "the tool of an open effect is not configured any more");
    }
    let acting = opened.unwrap_or_else(|| Box::new(MissingEffectTool));
    if !entry.state.is_open() {
        return remove_fence_left(deps, &*acting, &journal.tenant, entry).await;
    }
    let of = (journal.tenant_and_thread(), entry.number);
    match settle_effect(deps, &*acting, of, &entry.nonce, generate_nonce(deps.system())).await? {
        SettlingEnd::Ended { journal, .. } => go_on_after_end(deps, &journal.record, entry).await,
        SettlingEnd::BecameUnknown { journal, .. } => {
            tracing::error!(thread = %journal.record.thread.as_str(), number = entry.number, "an effect of an agent is unknown");
            note_for_people(deps, &journal.record, entry).await
        }
        SettlingEnd::StillOpen { .. } | SettlingEnd::NotOurs => Ok(()),
    }
}

/// Asks for a turn that tells of an effect that ended. If people have the conversation, a note tells them what was done.
async fn go_on_after_end(deps: &Deps, journal: &Journal, entry: &EffectEntry) -> PortResult<()> {
    enqueue_turn_if_owed(deps, journal, entry).await?;
    let ended = journal.find_entry(entry.number);
    let Some(done) = ended.filter(|ended| ended.state == EffectState::Done) else {
        return Ok(());
    };
    let found = deps.store().find_conversation(&entry.conversation).await?;
    if found.is_some_and(|conversation| !conversation.agent_owes_answer()) {
        leave_note(deps, &entry.conversation, &done.describe_for_people()).await?;
    }
    Ok(())
}

/// Asks for a turn, if the agent owes an answer in the conversation of the effect.
async fn enqueue_turn_if_owed(deps: &Deps, journal: &Journal, entry: &EffectEntry) -> PortResult<()> {
    let state = journal.find_entry(entry.number).map(|ended| ended.state.as_str());
    tracing::info!(number = entry.number, tool = %entry.tool.name, state, was = entry.state.as_str(), "an effect was settled");
    let found = deps.store().find_conversation(&entry.conversation).await?;
    let Some(conversation) = found.filter(Conversation::agent_owes_answer) else {
        return Ok(());
    };
    wake_up::enqueue_turn(deps, &conversation, &generate_correlation_id(deps.system())).await
}

/// Tells people of an effect that is unknown: by the next reply if the agent owes one, else by a note in the conversation.
async fn note_for_people(deps: &Deps, journal: &Journal, entry: &EffectEntry) -> PortResult<()> {
    let unknown = journal.find_entry(entry.number);
    let Some(text) = unknown.map(EffectEntry::describe_for_people) else {
        return Ok(());
    };
    retry_lost_write(PortError::contended("conversation"), (), |()| async {
        let found = deps.store().find_conversation(&entry.conversation).await?;
        let Some(mut conversation) = found else {
            return Ok(WriteAttempt::Done(()));
        };
        if conversation.agent_owes_answer() {
            let enqueues = enqueue_turn_if_owed(deps, journal, entry);
            return enqueues.await.map(WriteAttempt::Done);
        }
        if !conversation.note_open_effect(&text, deps.system().now()) {
            return Ok(WriteAttempt::Done(()));
        }
        let written = save_conversation(deps, &mut conversation).await?;
        Ok(WriteAttempt::after_write(written, ()))
    })
    .await
}
