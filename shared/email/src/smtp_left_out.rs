//! Takes the place of `smtp` in a program without the client of mail servers: no e-mail is given to one, and the error says why.

#![expect(clippy::unused_async, reason = "it has the functions of what it stands for")]

use crate::EmailClients;
use recado_domain::config::EmailSender;
use recado_domain::email::Email;
use recado_ports::ports::{EmailError, Secrets};

impl<S: Secrets> EmailClients<S> {
    /// Refuses to give an e-mail to a mail server.
    pub(crate) async fn send_by_smtp(&self, _: &EmailSender, _: &Email) -> Result<String, EmailError> {
        Err(tell_left_out())
    }

    /// Refuses to look at a mail server.
    pub(crate) async fn check_smtp(&self, _: &EmailSender) -> Result<String, EmailError> {
        Err(tell_left_out())
    }
}

fn tell_left_out() -> EmailError {
    EmailError::SenderNotReady(
        "this program was built without SMTP: build it with --features full".to_owned(),
    )
}
