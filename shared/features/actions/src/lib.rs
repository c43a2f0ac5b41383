//! The actions of agents: tools, calendars, appointments, and the journal of their effects.
//!
//! Its types and rules are in [`recado_domain::calendar`], [`recado_domain::effects`] and [`recado_domain::config::tools`].

pub mod appointment_routes;
pub mod appointments;
pub mod calendar_call;
pub mod called_tool;
pub mod due_bookings;
pub mod effect_call;
pub mod effect_journal;
pub mod effect_notes;
pub mod effects;
pub mod overdue_effects;
pub mod reminders;
pub mod tool_calls;
pub mod void_reminder;
