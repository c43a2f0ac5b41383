//! The senders of e-mail that tenants configure.

use super::{CredentialRef, ServerParts, parse_mail_server};
use crate::email::{EmailAddress, Mailbox};
use crate::ids::{EmailSenderId, TenantId};
use jiff::SignedDuration;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Tells what to write in place of a kind that there was once.
pub(crate) const SES_REFUSED: &str = "there is no kind `ses`: write `smtp`, with the server `smtp://email-smtp.<region>.amazonaws.com:587` and the \
    SMTP credentials of Amazon SES";

/// A way by which a tenant sends e-mails. Which fields a kind needs and takes: `docs/email.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EmailSender {
    /// The sender's id.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "mail"))]
    pub id: EmailSenderId,
    /// The carrier of its e-mails.
    pub kind: EmailSenderKind,
    /// The sender that recipients see: `name@host` or `Name <name@host>`.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "Clinic <hello@clinic.example>"))]
    pub from: Mailbox,
    /// Address for answers, if another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Mailbox>,
    /// Reference to its key, `env:NAME` or `ssm:/path`: of `resend` the API key, of `smtp` the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialRef>,
    /// `smtp`: the server, `smtps://host` or `smtp://host` (STARTTLS), with a port if needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `smtp`: the name of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// The carrier of a sender's e-mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EmailSenderKind {
    /// Resend, over its HTTP API.
    Resend,
    /// A mail server.
    Smtp,
    /// Nobody: e-mails count as sent and go nowhere. A sender is this only if its configuration says so.
    Simulated,
}

/// The rule for an e-mail of which nobody knows whether the carrier accepted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatRule {
    /// The e-mail may be sent again within this time after the first attempt: the carrier recognizes it by its id.
    Within(SignedDuration),
    /// The e-mail is not sent again, because the recipient might get it twice.
    Never,
}

impl EmailSenderKind {
    const ALL: [Self; 3] = [Self::Resend, Self::Smtp, Self::Simulated];

    /// Returns the kind as configurations write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resend => "resend",
            Self::Smtp => "smtp",
            Self::Simulated => "simulated",
        }
    }

    /// Returns what may be done about an e-mail of this kind whose outcome is unknown. Resend keeps ids for 24 hours
    /// (<https://resend.com/docs/dashboard/emails/idempotency-keys>); the hour is for clocks and for the request itself. Mail
    /// servers recognize nothing.
    pub fn repeat_rule(self) -> RepeatRule {
        match self {
            Self::Resend => RepeatRule::Within(SignedDuration::from_hours(23)),
            Self::Simulated => RepeatRule::Within(SignedDuration::MAX),
            Self::Smtp => RepeatRule::Never,
        }
    }
}

impl<'de> Deserialize<'de> for EmailSenderKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KindWord)
    }
}

/// Reads the word for a kind. It refuses within the text, so that a reader names the field.
struct KindWord;

impl Visitor<'_> for KindWord {
    type Value = EmailSenderKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<EmailSenderKind, E> {
        let mut all = EmailSenderKind::ALL.into_iter();
        all.find(|kind| kind.as_str() == word).ok_or_else(|| {
            if word == "ses" {
                E::custom(SES_REFUSED)
            } else {
                E::unknown_variant(word, &["resend", "smtp", "simulated"])
            }
        })
    }
}

impl EmailSender {
    /// Returns the address of the sender.
    pub fn address(&self) -> &EmailAddress {
        &self.from.address
    }

    /// Returns the parts of the mail server's URL.
    pub fn server_parts(&self) -> Option<ServerParts<'_>> {
        parse_mail_server(self.server.as_deref()?)
    }

    /// Checks the sender by itself, as one of `tenant`.
    pub fn check_sender(&self, tenant: &TenantId) -> Result<(), String> {
        const USER: &str = "user must have 1 to 255 characters on one line, and goes with a credential";
        self.check_fields()?;
        if let Some(credential) = &self.credential
            && !credential.belongs_to_tenant(tenant)
        {
            let allowed = CredentialRef::describe_allowed_for(tenant);
            return Err(format!("its credential must be {allowed}"));
        }
        if self.server.is_some() && self.server_parts().is_none() {
            return Err("server must be smtps://host or smtp://host, with a port if needed".to_owned());
        }
        let is_user = |text: &str| (1..=255).contains(&text.len()) && !text.chars().any(char::is_control);
        match &self.user {
            Some(user) if !is_user(user) => Err(USER.to_owned()),
            user if self.kind == EmailSenderKind::Smtp && user.is_some() != self.credential.is_some() => {
                Err(USER.to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Checks that each field is there that the kind needs, and none of another kind.
    fn check_fields(&self) -> Result<(), String> {
        use EmailSenderKind::{Resend, Smtp};
        let kind = self.kind.as_str();
        let fields: [(&str, bool, &[EmailSenderKind], &[EmailSenderKind]); 3] = [
            ("credential", self.credential.is_some(), &[Resend], &[Smtp]),
            ("server", self.server.is_some(), &[Smtp], &[]),
            ("user", self.user.is_some(), &[], &[Smtp]),
        ];
        for (field, is_there, needed_by, taken_by) in fields {
            if needed_by.contains(&self.kind) && !is_there {
                return Err(format!("a sender of kind `{kind}` needs `{field}`"));
            }
            if is_there && !needed_by.contains(&self.kind) && !taken_by.contains(&self.kind) {
                return Err(format!("a sender of kind `{kind}` takes no `{field}`"));
            }
        }
        Ok(())
    }
}
