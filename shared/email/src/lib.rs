//! The carriers of e-mail behind [`recado_ports::ports::EmailSenders`]: Resend, mail servers, and the simulated one.
//!
//! Each tells four things apart: accepted, certainly not accepted (for good, or for now), and unknown. An outcome is unknown when a
//! request went out and no clear answer came back; then only Resend may be asked again, which recognizes the e-mail by its id.

mod answer;
mod credentials;
mod resend;
#[cfg_attr(not(feature = "smtp"), path = "smtp_left_out.rs")]
mod smtp;

#[cfg(test)]
mod tests;

use async_trait::async_trait;
use recado_domain::config::{EmailSender, EmailSenderKind};
use recado_domain::email::Email;
use recado_ports::ports::{AcceptedEmail, EmailError, EmailSenders, Secrets};
use recado_ports::settings::VariableReader;
use std::time::Duration;

/// Longest time for giving one e-mail to its carrier.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// The settings of an installation for the carriers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarrierSettings {
    /// Base URL of Resend's API.
    pub resend: String,
    /// The mail servers that tenants may name.
    pub mail_servers: MailServerReach,
}

impl Default for CarrierSettings {
    fn default() -> Self {
        Self {
            resend: "https://api.resend.com".to_owned(),
            mail_servers: MailServerReach::Public,
        }
    }
}

impl CarrierSettings {
    /// Reads `RESEND_BASE_URL` and `RECADO_PRIVATE_MAIL_SERVERS`.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let usual = Self::default();
        let is_private = reader.read_bool("RECADO_PRIVATE_MAIL_SERVERS", false);
        Self {
            resend: reader.read_base_url("RESEND_BASE_URL").unwrap_or(usual.resend),
            mail_servers: if is_private {
                MailServerReach::Private
            } else {
                MailServerReach::Public
            },
        }
    }
}

/// The mail servers that tenants may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailServerReach {
    /// Servers of public networks alone.
    Public,
    /// This machine, without TLS if it speaks none, and private networks, too.
    Private,
}

/// A client of all carriers.
#[derive(Debug, Clone)]
pub struct EmailClients<S> {
    secrets: S,
    http: reqwest::Client,
    carriers: CarrierSettings,
    timeout: Duration,
}

impl<S: Secrets> EmailClients<S> {
    /// Creates a client. It asks `secrets` for the credential of a sender at every e-mail.
    pub fn new(secrets: S, http: reqwest::Client, carriers: CarrierSettings) -> Self {
        Self {
            secrets,
            http,
            carriers,
            timeout: SEND_TIMEOUT,
        }
    }

    /// Returns the client with another time for giving an e-mail to its carrier.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Forgets the cached credential of a sender if this error says that it was refused.
    async fn note_refused_credential<T>(&self, sender: &EmailSender, told: &Result<T, EmailError>) {
        if let (Err(EmailError::NeedsCredentials(_)), Some(reference)) = (told, &sender.credential) {
            self.secrets.forget_secret(reference).await;
        }
    }
}

#[async_trait]
impl<S: Secrets> EmailSenders for EmailClients<S> {
    async fn send_email(&self, sender: &EmailSender, email: &Email) -> Result<AcceptedEmail, EmailError> {
        email
            .check_content()
            .map_err(|problem| EmailError::Refused(problem.to_string()))?;
        let sent = match sender.kind {
            EmailSenderKind::Simulated => Ok(format!("simulated-{}", email.id)),
            EmailSenderKind::Resend => self.send_by_resend(sender, email).await,
            EmailSenderKind::Smtp => self.send_by_smtp(sender, email).await,
        };
        self.note_refused_credential(sender, &sent).await;
        Ok(AcceptedEmail {
            carrier_id: sent?,
            is_simulated: sender.kind == EmailSenderKind::Simulated,
        })
    }

    async fn check_email_sender(&self, sender: &EmailSender) -> Result<String, EmailError> {
        let checked = match sender.kind {
            EmailSenderKind::Simulated => Ok("simulated: its e-mails go nowhere".to_owned()),
            EmailSenderKind::Resend => self.check_resend(sender).await,
            EmailSenderKind::Smtp => self.check_smtp(sender).await,
        };
        self.note_refused_credential(sender, &checked).await;
        checked
    }
}
