//! E-mails: addresses, what is sent, and through whom.

mod address;
mod content;
mod template;

#[cfg(test)]
mod tests;

pub use address::{AddressError, EmailAddress, Mailbox};
pub use content::{BODY_BYTES_MAX, Email, EmailProblem, SUBJECT_MAX};
pub use template::{EmailTemplate, RenderedEmail, TemplateError};
