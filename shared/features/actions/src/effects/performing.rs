//! Performs one effect: begins it, makes its one call, and stores its end.

use crate::effects::changing::{JournalError, change_journal};
use crate::effects::settling::{SettlingEnd, settle_effect};
use jiff::Timestamp;
use recado_domain::effects::{
    BeginRefusal, EffectEntry, EffectRequest, EffectState, EntryEnd, Journal, JournalChange,
};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::{CallAnswer, EffectGuard, EffectTool, PortError, PortResult};
use recado_ports::records::effects::{JournalOutcome, find_journal, store_begun_effect};
use recado_ports::table::Versioned;
use recado_ports::time_limit::run_within;

/// The journal of a thread as a draft knows it.
///
/// Only the draft's own writes count in `rev`. If another writer changed the journal, no further effect of the draft begins and
/// its reply is not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftedJournal {
    /// The journal as it was last read or written.
    pub journal: Versioned<Journal>,
    /// The revision that the draft knows.
    pub rev: u64,
}

impl DraftedJournal {
    /// Takes the journal as it was read before the draft.
    pub fn from_read(journal: Versioned<Journal>) -> Self {
        Self {
            rev: journal.record.rev,
            journal,
        }
    }

    /// Returns whether another writer changed the journal between the draft's own writes.
    pub fn has_writes_of_others(&self) -> bool {
        self.journal.record.rev != self.rev
    }

    pub(super) fn note_own_writes(&mut self, written: Versioned<Journal>, writes: u64) {
        self.journal = written;
        self.rev += writes;
    }
}

/// The end of an effect that the draft goes on from. The model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EffectEnd {
    /// The effect ended, or is unknown. The draft's journal has its entry.
    Entered(Box<EffectEntry>),
    /// The effect was refused before it began.
    Refused(BeginRefusal),
    /// The time is held by another event: nothing began.
    TimeTaken,
}

/// The reasons why the draft ends here. Its job comes back.
#[derive(Debug)]
pub enum EffectStop {
    /// The conversation or the journal is not as drafted: nothing began.
    Changed,
    /// Not enough time is left for the call: nothing began.
    NoTimeLeft,
    /// The effect is under way until this time. It is settled later.
    UnderWay(Timestamp),
    /// The store failed. If the effect began, it is settled later.
    Failed(PortError),
}

impl From<PortError> for EffectStop {
    fn from(error: PortError) -> Self {
        Self::Failed(error)
    }
}

impl From<JournalError> for EffectStop {
    fn from(error: JournalError) -> Self {
        match error {
            // Somebody settles the effect already.
            JournalError::Refused(_) => Self::Changed,
            JournalError::Port(error) => Self::Failed(error),
        }
    }
}

/// Performs one effect of a draft. The conversation must be as `guard` says when it begins, and the journal as `drafted`. The call
/// is made only if it can end before `deadline`, the end of the draft's lease and of its function.
pub async fn perform_effect(
    deps: &Deps,
    tool: &dyn EffectTool,
    guard: &EffectGuard,
    drafted: &mut DraftedJournal,
    request: EffectRequest,
    deadline: Timestamp,
) -> Result<EffectEnd, EffectStop> {
    let (now, limit, nonce) = (deps.system().now(), request.limit, request.nonce.clone());
    let arguments = request.arguments.clone();
    if add_duration(now, limit) > deadline {
        return Err(EffectStop::NoTimeLeft);
    }
    if drafted.has_writes_of_others() {
        return Err(EffectStop::Changed);
    }
    let mut begun = drafted.journal.clone();
    let change = match begun.record.begin_effect(request, now) {
        Ok(change) => change,
        Err(BeginRefusal::Running(until)) => return Err(EffectStop::UnderWay(until)),
        Err(refused) => return Ok(EffectEnd::Refused(refused)),
    };
    begun.record.raise_revision();
    let Some(entry) = begun.record.find_entry(begun.record.last).cloned() else {
        return Err(EffectStop::Changed);
    };
    match store_begun(deps, guard, &mut begun, &change).await? {
        JournalOutcome::Written => drafted.note_own_writes(begun, 1),
        JournalOutcome::CellTaken => return Ok(EffectEnd::TimeTaken),
        JournalOutcome::Stopped | JournalOutcome::Conflict => return Err(EffectStop::Changed),
    }
    // The write may have taken long: no call leaves that could end after the entry's time.
    let now = deps.system().now();
    if !entry.has_time_for_call(now) || add_duration(now, limit) > deadline {
        return Err(EffectStop::UnderWay(entry.until));
    }
    // Only the call has the arguments that no record may hold.
    let asked = EffectEntry {
        arguments,
        ..entry.clone()
    };
    let called = run_within(deps.system(), limit.unsigned_abs(), tool.call_effect(&asked)).await;
    let (end, result) = match called.unwrap_or(CallAnswer::Unclear) {
        CallAnswer::Done(result) => (EntryEnd::Done, result),
        CallAnswer::Refused(result) => (EntryEnd::Failed { fence: false }, result),
        CallAnswer::Unclear => return settle_own(deps, tool, drafted, &entry).await,
    };
    let of = drafted.journal.record.tenant_and_thread();
    let ended = change_journal(deps, of, |journal, now| {
        journal.end_entry(entry.number, &nonce, end, result.clone(), now)
    });
    let written = ended.await?;
    drafted.note_own_writes(written, 1);
    find_ended(drafted, entry.number)
}

/// Stores the begin. After a failure of the store the journal is read: an entry with our nonce is ours.
async fn store_begun(
    deps: &Deps,
    guard: &EffectGuard,
    begun: &mut Versioned<Journal>,
    change: &JournalChange,
) -> PortResult<JournalOutcome> {
    let stored = store_begun_effect(deps.store(), guard, begun, &change.takes);
    let failed = match stored.await {
        Ok(outcome) if outcome != JournalOutcome::Conflict => return Ok(outcome),
        Ok(_) => None,
        Err(error) if error.is_retryable() => Some(error),
        Err(error) => return Err(error),
    };
    let (tenant, thread) = begun.record.tenant_and_thread();
    let found = find_journal(deps.store(), tenant, thread).await?;
    if let Some(own) = found.filter(|found| found.record == begun.record) {
        *begun = own;
        return Ok(JournalOutcome::Written);
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(JournalOutcome::Conflict),
    }
}

/// Settles the effect whose call had no clear answer, with the nonce of the call.
async fn settle_own(
    deps: &Deps,
    tool: &dyn EffectTool,
    drafted: &mut DraftedJournal,
    entry: &EffectEntry,
) -> Result<EffectEnd, EffectStop> {
    let settled = settle_effect(
        deps,
        tool,
        (drafted.journal.record.tenant_and_thread(), entry.number),
        &entry.nonce,
        entry.nonce.clone(),
    );
    match settled.await? {
        SettlingEnd::Ended { journal, writes } | SettlingEnd::BecameUnknown { journal, writes } => {
            drafted.note_own_writes(journal, writes);
            find_ended(drafted, entry.number)
        }
        SettlingEnd::StillOpen { until } => Err(EffectStop::UnderWay(until)),
        SettlingEnd::NotOurs => Err(EffectStop::Changed),
    }
}

fn find_ended(drafted: &DraftedJournal, number: u64) -> Result<EffectEnd, EffectStop> {
    let entry = drafted.journal.record.find_entry(number).cloned();
    let ended = entry.filter(|entry| entry.state != EffectState::Doing);
    let ended = ended.map(|entry| EffectEnd::Entered(Box::new(entry)));
    ended.ok_or(EffectStop::Changed)
}
