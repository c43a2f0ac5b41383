//! The rules of the path itself: what an event means ([`crate::hooks::inbound_rule`]). [`crate::Features`] lists them with those of
//! features.
//!
//! A rule uses steps and no use case, and no other rule.

pub mod access_list;
pub mod chosen_option;
pub mod first_contact_stop;
pub mod loop_pause;
pub mod other_agent;
pub mod phone_greeting;
pub mod quoted_message;
pub mod target_change;
