//! Stand-ins for the servers outside: Evolution API, Meta's Graph API, 360dialog, Anthropic's Messages API, Google Calendar, over
//! real HTTP on loopback.
//!
//! Also a server of the Model Context Protocol.
//!
//! Each answers as the real one is documented to, refuses a request that the real one would refuse (or that Recado
//! promises not to make) and keeps it as a [`Violation`], and does on demand what goes wrong outside: see [`Behaviour`].
//! A stand-in runs on a thread with a runtime of its own: a test whose time is paused does not pause it, and dropping it
//! breaks every connection, as a killed server does.
//!
//! What reaches them is invented by tests, so here keys, numbers and texts may be shown.

mod anthropic;
mod behaviour;
mod call;
mod cut;
mod dialog360;
mod email;
mod evolution;
#[cfg(feature = "google")]
mod google_calendar;
mod host;
mod journal;
#[cfg(feature = "mcp")]
mod mcp;
mod meta;
mod notes;
mod random_behaviours;
pub mod scripted;
mod shape;
mod stand_in;
#[cfg(test)]
mod tests;
#[cfg(feature = "traces")]
pub mod traces;

pub use anthropic::anthropic_message;
pub use behaviour::Behaviour;
pub use dialog360::{Dialog360Error, Files};
pub use email::{EmailStandIn, Mail, MailServer, Says};
#[cfg(feature = "google")]
pub use google_calendar::{CALENDAR, GoogleStandIn, google_error};
pub use journal::{ConnectionState, Delivered, Journal, Recorded, Violation};
#[cfg(feature = "mcp")]
pub use mcp::{McpCall, McpDoes, McpStandIn, McpVersions};
pub use notes::Notes;
pub use random_behaviours::RandomBehaviours;
pub use stand_in::{Kind, StandIn, StandIns};
