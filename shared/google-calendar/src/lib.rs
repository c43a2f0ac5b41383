//! A client of Google Calendar, version 3 (<https://developers.google.com/workspace/calendar/api/v3/reference>): busy times,
//! events whose ids Recado chooses, changes that name the version that was read, and fences.
//!
//! A request that acts is made once. Its error says whether nothing happened or nobody knows ([`CalendarError::certainty`]);
//! the caller then asks for the event, and never repeats the request.

mod access;
mod access_token;
mod answer;
mod client;
mod config;
mod credential;
mod effect_tool;
mod error;
mod event;
mod exchange;
mod jwt;
mod requests;
mod standing;

pub use access::{CalendarAccess, NextSlots};
pub use client::{CalendarTarget, GoogleCalendar};
pub use config::GoogleCalendarConfig;
pub use credential::{CredentialProblem, GoogleCredential};
pub use effect_tool::CalendarEffects;
pub use error::{CalendarError, Certainty};
pub use event::{
    CalendarEvent, ENTRY_PROPERTY, EventListQuery, EventMove, EventPage, EventStatus, EventTag,
    FENCE_PROPERTY, NewCalendarEvent, TAG_PROPERTY,
};
