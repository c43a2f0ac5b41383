//! What people read of messages: their answers, their timelines, and the traces of events.
//!
//! Its types and rules are in [`recado_domain::answer`].

pub mod answer_view;
pub mod message_view;
pub mod trace;
pub mod trace_routes;
