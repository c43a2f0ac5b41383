//! The questions that the path of a message asks of features. Each is a small trait, and [`crate::features`] lists who answers it.
//!
//! The path itself names no feature: it asks every one of a list, in the order of the list.

pub(crate) mod after_commit;
pub(crate) mod beside_send;
pub(crate) mod feature_timer;
pub(crate) mod inbound_rule;
pub(crate) mod reconcile_pass;
pub(crate) mod reply_check;
pub(crate) mod send_form;
pub(crate) mod send_gate;
pub(crate) mod turn_part;
