//! The rules of features: what an event means for each of them ([`crate::hooks::inbound_rule`]). [`crate::features`] lists them.
//!
//! A rule uses steps and no use case, and no other rule.

pub(crate) mod access_list;
pub(crate) mod chosen_option;
pub(crate) mod first_contact_stop;
pub(crate) mod guest_reply;
pub(crate) mod loop_pause;
pub(crate) mod opt_out;
pub(crate) mod other_agent;
pub(crate) mod phone_greeting;
pub(crate) mod quoted_message;
pub(crate) mod target_change;
