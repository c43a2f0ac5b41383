//! The parts of a turn, and the checks of its reply: what features do in it. [`crate::features`] lists them.

pub mod other_authors;
pub mod ready_replies;
pub mod script;
pub mod simulation;
