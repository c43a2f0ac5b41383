//! What people read of messages: their answers, their timelines, and the traces of events.

pub mod answer_view;
pub mod message_view;
pub mod trace;
pub mod trace_routes;
