//! Carriers of e-mail: Resend's API, and a mail server.

mod mail_server;
mod resend;

pub use mail_server::{Mail, MailServer, Says};

use super::host::Host;
use super::journal::Journal;
use std::ops::Deref;
use std::sync::Arc;

/// A running stand-in of a carrier's API; stopped when dropped. What it saw and what it shall do is its [`Journal`]. An e-mail that
/// it accepted is a message of its phone: the sender, the recipient, the subject, the whole request.
#[derive(Debug)]
pub struct EmailStandIn {
    host: Host,
    journal: Arc<Journal>,
}

impl EmailStandIn {
    /// Resend, on any free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn resend() -> Self {
        let journal = Arc::<Journal>::default();
        Self::anywhere(resend::router(journal.clone()), journal)
    }

    #[expect(
        clippy::expect_used,
        reason = "a test on a machine without a free port cannot go on"
    )]
    fn anywhere(router: axum::Router, journal: Arc<Journal>) -> Self {
        let host = Host::start(0, router).expect("a free port of 127.0.0.1");
        Self { host, journal }
    }

    /// Where it listens; to be used as the base URL.
    pub fn url(&self) -> String {
        self.host.url()
    }
}

impl Deref for EmailStandIn {
    type Target = Journal;

    fn deref(&self) -> &Journal {
        &self.journal
    }
}
