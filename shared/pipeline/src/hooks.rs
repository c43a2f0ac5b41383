//! The questions that the path of a message asks of features. Each is a small trait, and [`crate::Features`] lists who answers it.
//!
//! The path itself names no feature: it asks every one of a list, in the order of the list.

pub mod after_commit;
pub mod beside_send;
pub mod feature_timer;
pub mod inbound_rule;
pub mod job_handler;
pub mod reconcile_pass;
pub mod reply_check;
pub mod send_form;
pub mod send_gate;
pub mod turn_part;
