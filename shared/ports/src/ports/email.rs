use async_trait::async_trait;
use recado_domain::config::EmailSender;
use recado_domain::email::Email;
use std::time::Duration;

/// An e-mail that its carrier accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedEmail {
    /// The id by which the carrier knows it.
    pub carrier_id: String,
    /// `true` if the sender is simulated, and so the e-mail went nowhere.
    pub is_simulated: bool,
}

/// The reason why an e-mail was not accepted, or may not have been. The texts hold no secret and no address of a recipient.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmailError {
    /// The e-mail was not accepted, and a repetition would be refused, too.
    #[error("the e-mail was refused: {0}")]
    Refused(String),
    /// The sender's credential is missing or was refused, so nothing was accepted. The e-mail waits for a person.
    #[error("the sender needs credentials: {0}")]
    NeedsCredentials(String),
    /// The carrier accepts nothing from this sender until a person changes something there. The e-mail waits.
    #[error("the sender is not ready: {0}")]
    SenderNotReady(String),
    /// The carrier takes nothing at present, and certainly did not accept the e-mail.
    #[error("the e-mail was put off: {why}")]
    Later {
        /// Why.
        why: String,
        /// The time after which the carrier wants to be asked again, if it says so.
        after: Option<Duration>,
    },
    /// The carrier is asked too often, and certainly did not accept the e-mail.
    #[error("the carrier is asked too often: {why}")]
    Throttled {
        /// Why.
        why: String,
        /// The time after which the carrier wants to be asked again, if it says so.
        after: Option<Duration>,
    },
    /// The carrier was not reached, so it certainly did not accept the e-mail.
    #[error("the carrier was not reached: {0}")]
    Unreachable(String),
    /// Nobody knows whether the carrier accepted the e-mail. What may be done, [`RepeatRule`] says.
    ///
    /// [`RepeatRule`]: recado_domain::config::RepeatRule
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
}

impl EmailError {
    /// Returns `true` if the carrier certainly did not accept the e-mail.
    pub fn is_certain(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }
}

/// The carriers of e-mail.
#[async_trait]
pub trait EmailSenders: Send + Sync {
    /// Gives an e-mail to the carrier of a sender, once, within some seconds. An e-mail that is given again must be equal, with the
    /// same id.
    async fn send_email(&self, sender: &EmailSender, email: &Email) -> Result<AcceptedEmail, EmailError>;

    /// Checks the credential of a sender without sending. Returns what was found, in words for people.
    async fn check_email_sender(&self, sender: &EmailSender) -> Result<String, EmailError>;
}
