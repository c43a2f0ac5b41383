//! The steps of a turn, one module each. A step gets what it needs from the steps before it, and may end the turn with a
//! [`super::turn_end::TurnEnd`].

mod calendar_call;
pub(super) mod check_hours;
pub(super) mod check_limits;
pub(super) mod check_owed;
pub(super) mod choose_messages;
pub(super) mod commit_reply;
pub(super) mod commit_silence;
pub(super) mod effect_call;
pub(super) mod fallback_model;
pub(super) mod fetch_files;
pub(super) mod find_instance;
pub(super) mod find_knowledge;
pub(super) mod hold_reply;
pub(super) mod http_agent;
pub(super) mod model_reply;
pub(super) mod read_conversation;
pub(super) mod read_files;
pub(super) mod read_journal;
pub(super) mod ready_reply;
pub(super) mod refused_files;
mod reminder_answer;
mod server_tools;
mod spelling_correction;
pub(super) mod take_lease;
pub(super) mod take_place;
pub(super) mod tool_calls;
