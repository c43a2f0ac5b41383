//! Opt-outs: a person wants no more unsolicited messages, by any channel.

mod link;
mod recipient_key;
mod record;
mod requests;
mod words;

#[cfg(test)]
mod tests;

pub use link::UnsubscribeToken;
pub use recipient_key::{RecipientAddress, RecipientKey};
pub use record::{OptOut, OptOutChange, OptOutSource};
pub use words::{OptOutWord, recognize_opt_out, recognize_preference};
