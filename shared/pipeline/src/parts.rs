//! The parts of a turn, and the checks of its reply: what features do in it. [`crate::features`] lists them.

pub(crate) mod calendar_call;
mod called_tool;
pub(crate) mod effect_call;
pub(crate) mod effect_journal;
pub(crate) mod http_agent;
pub(crate) mod knowledge;
pub(crate) mod message_files;
pub(crate) mod other_authors;
pub(crate) mod ready_replies;
pub(crate) mod reminders;
pub(crate) mod script;
pub(crate) mod simulation;
pub(crate) mod spelling;
pub(crate) mod tool_calls;
