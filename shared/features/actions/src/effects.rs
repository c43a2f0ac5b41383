//! Performs effects of an agent's tools, each once, and settles those whose end is not stored.
//!
//! [`perform_effect`] begins an effect, makes its one call and stores its end. [`settle_effect`] finds out how an effect ended: it
//! asks and fences, and never calls again. The rules are those of [`recado_domain::effects`]; a tool is an
//! [`recado_ports::ports::EffectTool`].

mod changing;
mod following;
mod noting;
mod performing;
mod settling;
mod tool_finding;

pub use crate::effects::changing::{JournalError, allow_refusal, change_journal, follow_booked_event};
pub use crate::effects::following::{confirm_booking, follow_event, note_other_event, plan_reminders};
pub use crate::effects::noting::{describe_done_effects, is_left_by_agent, leave_note};
pub use crate::effects::performing::{DraftedJournal, EffectEnd, EffectStop, perform_effect};
pub use crate::effects::settling::{SettlingEnd, remove_fence_left, settle_effect};
pub use crate::effects::tool_finding::find_tool_of_effect;
