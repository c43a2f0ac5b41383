//! Finds out how an effect ended whose end is not stored: asks and fences, and never calls again.

use crate::effects::changing::{allow_refusal, change_journal};
use jiff::{SignedDuration, Timestamp};
use recado_domain::effects::{EffectEntry, EffectState, EntryEnd, Journal, JournalChange};
use recado_domain::ids::{Nonce, TenantId, ThreadId};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::{AskAnswer, EffectTool, FenceAnswer, PortResult, SettlingAbility};
use recado_ports::table::Versioned;
use recado_ports::time_limit::run_within;

/// Number of times that one attempt asks.
const ROUNDS: usize = 3;

/// Time after an entry's own at which "not yet" counts as "never", where no fence keeps a late request off.
const LATE_REQUESTS: SignedDuration = SignedDuration::from_mins(5);

/// The end of one attempt to settle an effect.
#[derive(Debug)]
pub enum SettlingEnd {
    /// The end is known and stored.
    Ended {
        /// The journal with it.
        journal: Versioned<Journal>,
        /// Number of writes of this attempt.
        writes: u64,
    },
    /// Nobody could say, and from now on the effect counts as unknown.
    BecameUnknown {
        /// The journal with it.
        journal: Versioned<Journal>,
        /// Number of writes of this attempt.
        writes: u64,
    },
    /// Nobody could say yet.
    StillOpen {
        /// Time until which this attempt's claim holds.
        until: Timestamp,
    },
    /// The effect ended, or another attempt has it.
    NotOurs,
}

/// The result of asking.
enum SettlingFinding {
    End(EntryEnd, Option<String>),
    NobodyKnows,
    NobodyEverKnows,
}

/// Settles the effect of this number if it is still in the hands of `seen`. The attempt claims it as `own` first, so that of
/// several attempts one stores the end.
pub async fn settle_effect(
    deps: &Deps,
    tool: &dyn EffectTool,
    (of, number): ((&TenantId, &ThreadId), u64),
    seen: &Nonce,
    own: Nonce,
) -> PortResult<SettlingEnd> {
    let claimed = change_journal(deps, of, |journal, now| {
        journal.claim_entry(number, seen, own.clone(), now)?;
        Ok(JournalChange::default())
    });
    let Some(journal) = allow_refusal(claimed.await)? else {
        return Ok(SettlingEnd::NotOurs);
    };
    let Some(entry) = journal.record.find_entry(number).cloned() else {
        return Ok(SettlingEnd::NotOurs);
    };
    let (end, result) = match find_end(deps, tool, &entry).await {
        SettlingFinding::End(end, result) => (end, result),
        SettlingFinding::NobodyKnows => return give_up(deps, of, &entry, false).await,
        SettlingFinding::NobodyEverKnows => return give_up(deps, of, &entry, true).await,
    };
    let ended = change_journal(deps, of, |journal, now| {
        journal.end_entry(number, &own, end, result.clone(), now)
    });
    let Some(journal) = allow_refusal(ended.await)? else {
        return Ok(SettlingEnd::NotOurs);
    };
    if end != (EntryEnd::Failed { fence: true }) {
        return Ok(SettlingEnd::Ended { journal, writes: 2 });
    }
    // Only now: what is found deleted before the failure is stored counts as an event that people deleted.
    Ok(match take_fence_away(deps, tool, of.0, &entry).await? {
        Some(journal) => SettlingEnd::Ended { journal, writes: 3 },
        None => SettlingEnd::Ended { journal, writes: 2 },
    })
}

/// Asks, and fences what did not happen yet, until it is known whether the effect happened.
async fn find_end(deps: &Deps, tool: &dyn EffectTool, entry: &EffectEntry) -> SettlingFinding {
    let ability = tool.settling_ability();
    if ability == SettlingAbility::Blind {
        return SettlingFinding::NobodyEverKnows;
    }
    let (system, limit) = (deps.system(), entry.limit.unsigned_abs());
    for _ in 0..ROUNDS {
        let asked = run_within(system, limit, tool.ask_for_effect(entry)).await;
        match asked.unwrap_or(AskAnswer::Unanswered) {
            AskAnswer::Happened(result) => return SettlingFinding::End(EntryEnd::Done, result),
            AskAnswer::CannotHappen => {
                let fence = entry.fence && ability == SettlingAbility::Fenced;
                return SettlingFinding::End(EntryEnd::Failed { fence }, None);
            }
            AskAnswer::Gone => return SettlingFinding::End(EntryEnd::Void, None),
            AskAnswer::Unanswered => return SettlingFinding::NobodyKnows,
            AskAnswer::NotYet if ability == SettlingAbility::Asked => {
                let is_late = system.now() >= add_duration(entry.call_over_at(), LATE_REQUESTS);
                return if is_late {
                    SettlingFinding::End(EntryEnd::Failed { fence: false }, None)
                } else {
                    SettlingFinding::NobodyKnows
                };
            }
            AskAnswer::NotYet => {}
        }
        let fenced = run_within(system, limit, tool.put_event_fence(entry)).await;
        if fenced.unwrap_or(FenceAnswer::Unanswered) == FenceAnswer::Unanswered {
            return SettlingFinding::NobodyKnows;
        }
    }
    SettlingFinding::NobodyKnows
}

/// Notes that an attempt found nothing out. After the fourth one, or `at_once`, the effect is unknown.
async fn give_up(
    deps: &Deps,
    of: (&TenantId, &ThreadId),
    entry: &EffectEntry,
    at_once: bool,
) -> PortResult<SettlingEnd> {
    let may_become = entry.state == EffectState::Doing;
    let still_open = SettlingEnd::StillOpen { until: entry.until };
    if !may_become || !(at_once || entry.was_tried_enough()) {
        return Ok(still_open);
    }
    let given_up = change_journal(deps, of, |journal, _| {
        journal.give_up_settling(entry.number, &entry.nonce, at_once)?;
        Ok(JournalChange::default())
    });
    Ok(match allow_refusal(given_up.await)? {
        Some(journal) => SettlingEnd::BecameUnknown { journal, writes: 2 },
        None => SettlingEnd::NotOurs,
    })
}

/// Removes the fence of an effect whose failure is stored. Returns the journal if that was noted; without an answer `reconcile`
/// comes back to it.
async fn take_fence_away(
    deps: &Deps,
    tool: &dyn EffectTool,
    tenant: &TenantId,
    entry: &EffectEntry,
) -> PortResult<Option<Versioned<Journal>>> {
    let removed = run_within(
        deps.system(),
        entry.limit.unsigned_abs(),
        tool.remove_fence(entry),
    )
    .await;
    let is_done = removed == Some(FenceAnswer::Done);
    let of = (tenant, entry.conversation.thread_id());
    let noted = change_journal(deps, of, |journal, now| {
        if is_done {
            journal.note_fence_removed(entry.number);
        } else {
            journal.put_fence_off(entry.number, now);
        }
        Ok(JournalChange::default())
    });
    allow_refusal(noted.await)
}

/// Removes the fence of a tenant's effect that failed, which was left behind.
pub async fn remove_fence_left(
    deps: &Deps,
    tool: &dyn EffectTool,
    tenant: &TenantId,
    entry: &EffectEntry,
) -> PortResult<()> {
    take_fence_away(deps, tool, tenant, entry).await.map(drop)
}
