//! Effects: what an agent's acting tools change outside of Recado, each of them once.
//!
//! A model that is asked twice writes other words and calls other tools. So what keeps an effect single is the [`Journal`] of
//! the thread, which every draft reads. An [`EffectEntry`] is stored before the outside is called; how it ended is stored
//! after that, or found out later by asking ([`Journal::claim_entry`]), never by calling again.
//!
//! A [`Cell`] is a quarter of an hour of a calendar. An entry takes its cells when it begins, so that two contacts never get the
//! same time.

mod booking;
mod cell;
mod entry;
mod id;
mod journal;
mod notes;

pub use booking::{Booking, BookingClash, RemindedAppointment};
pub use cell::{CELL, CELLS_MAX, Cell, CellSpan, HeldCell, SpanError};
pub use entry::{ARGUMENT_BYTES_MAX, EffectAction, EffectEntry, EffectState, SETTLING_TRIES, ToolName};
pub use id::EffectId;
pub use journal::{BeginRefusal, EffectRequest, EntryEnd, EntryError, Journal, JournalChange, KNOWN_ENTRIES};
