//! The domain types and rules of Recado.
//!
//! No function in this crate performs I/O, awaits, reads a clock or draws a random number: time and random bits are
//! arguments. So every rule can be tested by calling its function, and both stores (DynamoDB, SQLite) use the same rules.
//!
//! Instants are [`jiff::Timestamp`] cut to milliseconds, the precision that both stores keep; lengths of time are
//! [`jiff::SignedDuration`]. Ports and adapters convert them at the edges ([`millis`]).

pub mod access;
pub mod access_list;
pub mod alert;
pub mod answer;
pub mod answer_loop;
pub mod audit;
pub mod backoff;
pub mod budget;
pub mod calendar;
pub mod choice;
pub mod clock_rollback;
pub mod config;
pub mod connection_check;
pub mod contact;
pub mod content;
pub mod context;
pub mod conversation;
pub mod counting;
pub mod country;
pub mod dead_letter;
pub mod debounce;
pub mod decision;
pub mod delivery;
pub mod delivery_rules;
pub mod effects;
pub mod email;
pub mod event;
pub mod file_text;
pub mod folding;
pub mod follow_up;
pub mod formatting;
pub mod health;
mod hexadecimal;
pub mod hours;
pub mod http_agent;
pub mod identity;
pub mod ids;
pub mod inbound;
pub mod instance;
pub mod invitations;
pub mod json_depth;
pub mod knowledge;
pub mod media_type;
pub mod message;
pub mod metadata;
pub mod millis;
pub mod model_files;
pub mod model_use;
pub mod moving;
pub mod network_address;
pub mod notice;
pub mod opt_out;
pub mod options;
pub mod outbox;
pub mod outgoing;
mod phrases;
pub mod present;
pub mod price;
pub mod provider;
pub mod published_event;
pub mod rate;
pub mod reason;
pub mod recipient;
pub mod retention;
pub mod revision;
pub mod sample;
pub mod scheduled;
pub mod secret;
pub mod service_window;
pub mod signature;
pub mod split;
mod text_conversions;
pub mod thread_hold;
pub mod time_words;
pub mod trace_context;
pub mod turn;
pub mod turn_places;
pub mod typing;
pub mod usage;
pub mod wake_up;
pub mod web_url;
pub mod webhook_endpoint;
pub mod wrong_value;

pub use config::tools;
pub use jiff::{SignedDuration, Timestamp};

/// The format of the records, in both stores. It grows with every change after which an older program could not read them:
/// such a program refuses the store then.
pub const RECORD_FORMAT: u32 = 7;

/// The oldest format of a store that this program opens: that of 0.2.0, the first release.
pub const OLDEST_RECORD_FORMAT: u32 = 7;

/// The oldest format of the records of an export that this program takes. Builds before the first release wrote it.
pub const OLDEST_EXPORT_FORMAT: u32 = 5;

/// Returns whether a value is its type's default. Such a value is left out of a record, which is then smaller.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
