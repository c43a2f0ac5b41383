//! The parts of a turn that belong to the path itself. [`crate::Features`] lists them with those of features.

pub mod other_authors;
pub mod ready_replies;
pub mod script;
pub mod simulation;
