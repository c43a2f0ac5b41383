//! The journal of a thread, and every change of it.

mod due;
mod keeping;
mod lookup;
mod reminding;

use super::entry::{MARGIN, remove_secrets};
use super::{
    ARGUMENT_BYTES_MAX, Booking, Cell, EffectAction, EffectEntry, EffectId, EffectState, HeldCell, SpanError,
    ToolName,
};
use crate::ids::{ConversationId, InstanceId, Nonce, Ordinal, TenantId, ThreadId};
use crate::millis::{self, add_duration};
use crate::revision::start_revision;
use jiff::{SignedDuration, Timestamp};
pub use keeping::KNOWN_ENTRIES;
use keeping::{list_cells_beyond, list_taken_cells};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum number of entries of a journal. More are kept only of effects that nobody was told of yet.
const ENTRIES_MAX: usize = 60;

/// Longest answer of a tool that an entry keeps, in characters.
const RESULT_CHARACTERS_MAX: usize = 2_000;

/// Number of calls that an attempt to settle may make at most: it asks and fences three times.
const SETTLING_CALLS: i32 = 6;

/// The journal of a thread: every effect of the agent for one contact on one instance. It is never closed. Conversations,
/// epochs and turns come and go above it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The thread.
    pub thread: ThreadId,
    /// The tenant that the thread belongs to.
    pub tenant: TenantId,
    /// The instance of the thread.
    pub instance: InstanceId,
    /// Time of the first effect.
    #[serde(with = "millis")]
    pub begun_at: Timestamp,
    /// The newest number given to an entry.
    pub last: u64,
    /// The entries, by number.
    pub entries: Vec<EffectEntry>,
    /// The events that are booked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bookings: Vec<Booking>,
    /// Revision: grows at every write. It tells the journal from one that the thread had before it was erased (see
    /// [`crate::revision`]).
    pub rev: u64,
}

/// The change that a draft asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectRequest {
    /// The random id of the effect.
    pub id: EffectId,
    /// The tool.
    pub tool: ToolName,
    /// The action.
    pub action: EffectAction,
    /// The arguments of the model, as the tool gets them.
    pub arguments: Value,
    /// The arguments as records hold them, without those that are hidden.
    pub recorded: Value,
    /// The conversation, its epoch and `answered`, as drafted.
    pub conversation: ConversationId,
    /// The epoch of the draft.
    pub epoch: u64,
    /// The ordinal up to which the conversation was answered at the draft.
    pub base: Ordinal,
    /// The name of the attempt.
    pub nonce: Nonce,
    /// Longest time of the tool's call.
    pub limit: SignedDuration,
    /// `true` if the tool may act once in a turn only.
    pub once_per_turn: bool,
}

/// The cells that change with a journal, in the transaction that writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalChange {
    /// Cells that must be free or the event's own, and are taken.
    pub takes: Vec<HeldCell>,
    /// Cells that are given back, if the event still holds them.
    pub frees: Vec<HeldCell>,
}

/// The reasons why an effect does not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BeginRefusal {
    /// Another effect of the thread is under way until this time.
    #[error("another action is still under way")]
    Running(Timestamp),
    /// The tool acted in this turn already, by the entry of this number.
    #[error("the tool was already used for these messages (action {0})")]
    OncePerTurn(u64),
    /// The event is none that was booked for this contact.
    #[error("there is no such appointment of this contact")]
    UnknownEvent,
    /// The time cannot be booked.
    #[error(transparent)]
    Span(#[from] SpanError),
    /// The arguments are too large.
    #[error("the arguments are longer than {ARGUMENT_BYTES_MAX} bytes")]
    TooLarge,
    /// Too much was done of which nobody was told yet.
    #[error("too many actions wait to be told")]
    Full,
}

/// The end of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryEnd {
    /// The effect happened.
    Done,
    /// The effect did not happen, and cannot happen later. `fence`: a fence may stand outside, which is to be removed.
    Failed {
        /// `true` if a fence may stand outside.
        fence: bool,
    },
    /// The thing that it was about is gone.
    Void,
}

/// The reasons why an entry is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The journal has no such entry.
    #[error("there is no such action")]
    NotFound,
    /// The entry ended, or another attempt has it.
    #[error("the action ended or is in other hands")]
    NotHeld,
}

impl Journal {
    /// Makes the journal of a thread without effects.
    pub fn start_new(thread: ThreadId, tenant: TenantId, instance: InstanceId, now: Timestamp) -> Self {
        let begun = now.as_millisecond().to_string();
        Self {
            rev: start_revision(&[thread.as_str(), &begun]),
            thread,
            tenant,
            instance,
            begun_at: now,
            last: 0,
            entries: Vec::new(),
            bookings: Vec::new(),
        }
    }

    /// Raises the revision, once before each write.
    pub fn raise_revision(&mut self) {
        self.rev += 1;
    }

    fn entry_mut(&mut self, number: u64) -> Result<&mut EffectEntry, EntryError> {
        let mut entries = self.entries.iter_mut();
        entries
            .find(|entry| entry.number == number)
            .ok_or(EntryError::NotFound)
    }

    /// Begins an effect at `now`: adds its entry, and returns the cells that it takes.
    pub fn begin_effect(
        &mut self,
        request: EffectRequest,
        now: Timestamp,
    ) -> Result<JournalChange, BeginRefusal> {
        self.check_request(&request)?;
        let mut entry = EffectEntry {
            number: self.last + 1,
            fence: matches!(request.action, EffectAction::Book { .. }),
            id: request.id,
            tool: request.tool,
            action: request.action,
            arguments: remove_secrets(request.recorded),
            conversation: request.conversation,
            epoch: request.epoch,
            base: request.base,
            takes: Vec::new(),
            state: EffectState::Doing,
            nonce: request.nonce,
            until: add_duration(now, request.limit.saturating_add(MARGIN)),
            limit: request.limit,
            tries: 0,
            next_at: None,
            begun_at: now,
            ended_at: None,
            result: None,
        };
        let takes = self.missing_cells(&entry);
        entry.takes = takes.iter().map(|held| held.cell.start).collect();
        self.last = entry.number;
        self.entries.push(entry);
        self.forget_told(now);
        Ok(JournalChange {
            takes,
            frees: Vec::new(),
        })
    }

    fn check_request(&self, request: &EffectRequest) -> Result<(), BeginRefusal> {
        if let Some(running) = self.running_entry() {
            return Err(BeginRefusal::Running(running.until));
        }
        // A second use of the tool for the same messages, whatever else the model says.
        let same_turn = |entry: &&EffectEntry| {
            entry.state != EffectState::Failed
                && entry.tool == request.tool
                && entry.conversation == request.conversation
                && entry.base >= request.base
        };
        if let Some(entry) = self
            .entries
            .iter()
            .find(same_turn)
            .filter(|_| request.once_per_turn)
        {
            return Err(BeginRefusal::OncePerTurn(entry.number));
        }
        match &request.action {
            EffectAction::Book { span } => span.check_length()?,
            EffectAction::Move { event, span, .. } => {
                span.check_length()?;
                self.find_booking(event).ok_or(BeginRefusal::UnknownEvent)?;
            }
            EffectAction::Cancel { event, .. } => {
                self.find_booking(event).ok_or(BeginRefusal::UnknownEvent)?;
            }
            EffectAction::Other => {}
        }
        if request.arguments.to_string().len() > ARGUMENT_BYTES_MAX {
            return Err(BeginRefusal::TooLarge);
        }
        if self.entries.len() >= ENTRIES_MAX {
            return Err(BeginRefusal::Full);
        }
        Ok(())
    }

    /// Lists the cells of the entry's new time that its event does not hold yet.
    fn missing_cells(&self, entry: &EffectEntry) -> Vec<HeldCell> {
        let (Some(span), Some(event)) = (entry.resulting_span(), entry.event()) else {
            return Vec::new();
        };
        let had = self.find_booking(event).map(Booking::list_own_cells);
        let had: Vec<Cell> = had.into_iter().flatten().map(|held| held.cell).collect();
        list_cells_beyond(span, event, &had)
    }

    /// Gives the entry to the attempt `own`, if it is still in the hands of `seen`: `own` may ask and fence, and store the
    /// end. The worker that made the call goes on with its own nonce.
    pub fn claim_entry(
        &mut self,
        number: u64,
        seen: &Nonce,
        own: Nonce,
        now: Timestamp,
    ) -> Result<(), EntryError> {
        let entry = self.entry_mut(number)?;
        if !entry.is_claimed_by(seen) {
            return Err(EntryError::NotHeld);
        }
        entry.nonce = own;
        entry.until = add_duration(now, entry.limit.saturating_mul(SETTLING_CALLS));
        entry.tries = entry.tries.saturating_add(1);
        entry.next_at = Some(add_duration(now, due::settling_pause(entry, now)));
        Ok(())
    }

    /// Stores the end of an entry that `nonce` holds. Returns the cells that are given back.
    pub fn end_entry(
        &mut self,
        number: u64,
        nonce: &Nonce,
        end: EntryEnd,
        result: Option<String>,
        now: Timestamp,
    ) -> Result<JournalChange, EntryError> {
        if !self.entry_mut(number)?.is_claimed_by(nonce) {
            return Err(EntryError::NotHeld);
        }
        self.store_entry_end(number, end, result, now)
    }

    /// Stores the end of an entry that nobody could settle, as a person says that it was.
    pub fn decide_entry(
        &mut self,
        number: u64,
        end: EntryEnd,
        now: Timestamp,
    ) -> Result<JournalChange, EntryError> {
        if self.entry_mut(number)?.state != EffectState::Unknown {
            return Err(EntryError::NotHeld);
        }
        self.store_entry_end(number, end, None, now)
    }

    fn store_entry_end(
        &mut self,
        number: u64,
        end: EntryEnd,
        result: Option<String>,
        now: Timestamp,
    ) -> Result<JournalChange, EntryError> {
        let entry = self.entry_mut(number)?;
        entry.state = match end {
            EntryEnd::Done => EffectState::Done,
            EntryEnd::Failed { .. } => EffectState::Failed,
            EntryEnd::Void => EffectState::Void,
        };
        entry.fence = matches!(end, EntryEnd::Failed { fence: true });
        entry.next_at = entry.fence.then_some(now);
        entry.ended_at = Some(now);
        entry.result = result.map(|text| text.chars().take(RESULT_CHARACTERS_MAX).collect());
        let entry = entry.clone();
        let frees = if end == EntryEnd::Done {
            self.apply_done_effect(&entry, now)
        } else {
            if let (EntryEnd::Void, Some(event)) = (end, entry.event()) {
                self.look_at_booking_soon(&event.clone(), now);
            }
            list_taken_cells(&entry)
        };
        Ok(JournalChange {
            takes: Vec::new(),
            frees,
        })
    }

    /// Changes the bookings as an effect did that is done. Returns the cells that its event held and needs no more.
    fn apply_done_effect(&mut self, entry: &EffectEntry, now: Timestamp) -> Vec<HeldCell> {
        let Some(event) = entry.event() else {
            return Vec::new();
        };
        let had = self.find_booking(event).cloned();
        self.bookings.retain(|booking| booking.event != *event);
        let mark_due = had.as_ref().is_some_and(|had| had.confirmed || had.mark_due);
        let mut frees = had.map_or_else(Vec::new, |had| had.list_own_cells());
        if let Some(span) = entry.resulting_span() {
            let cells = span.list_cells();
            frees.retain(|held| !cells.contains(&held.cell));
            let mut booking = Booking {
                event: event.clone(),
                tool: entry.tool.clone(),
                span: span.clone(),
                look_at: now,
                reminders: Vec::new(),
                reminded_for: None,
                confirmed: false,
                mark_due,
                clash: None,
            };
            booking.note_calendar_look(now);
            self.bookings.push(booking);
        }
        frees
    }

    /// Makes an entry unknown that `nonce` could not settle. Does so only if it was tried often enough, or nobody
    /// can be asked (`at_once`). Returns whether it is unknown now and was not before.
    pub fn give_up_settling(
        &mut self,
        number: u64,
        nonce: &Nonce,
        at_once: bool,
    ) -> Result<bool, EntryError> {
        let entry = self.entry_mut(number)?;
        if !entry.is_claimed_by(nonce) {
            return Err(EntryError::NotHeld);
        }
        let became = entry.state == EffectState::Doing && (at_once || entry.was_tried_enough());
        if became {
            entry.state = EffectState::Unknown;
        }
        Ok(became)
    }
}

#[cfg(test)]
mod tests;
