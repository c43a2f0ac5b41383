//! E-mails: addresses, what is sent, and through whom.

mod address;
mod content;
mod outbox;
mod template;

#[cfg(test)]
mod tests;

pub use address::{AddressError, EmailAddress, Mailbox};
pub use content::{BODY_BYTES_MAX, Email, EmailProblem, SUBJECT_MAX};
pub use outbox::{
    EMAIL_JOB_WAIT_MAX, EMAIL_LEASE, EmailLimits, EmailOutbox, EmailState, EmailStep, FailedAttempt,
    InvalidEmailTransition, UnknownAttempt,
};
pub use template::RenderedEmail;
pub(crate) use template::{escape_for_html, replace_line_breaks, shorten_subject};
