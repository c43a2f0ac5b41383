//! The senders of e-mail that tenants configure.

use super::{CredentialRef, ServerParts, parse_mail_server};
use crate::email::{EmailAddress, Mailbox};
use crate::ids::{EmailSenderId, TenantId};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

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
    /// Reference to its key, `env:NAME` or `ssm:/path`: of `resend` the API key, of `ses` `{access key id}:{secret access key}`, of `smtp`
    /// the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialRef>,
    /// `ses`: the region, such as `sa-east-1`.
    #[cfg_attr(feature = "schema", schema(example = "sa-east-1"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// `ses`: the configuration set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration_set: Option<String>,
    /// `smtp`: the server, `smtps://host` or `smtp://host` (STARTTLS), with a port if needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// `smtp`: the name of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// The carrier of a sender's e-mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EmailSenderKind {
    /// Resend, over its HTTP API.
    Resend,
    /// Amazon SES, over its HTTP API (version 2).
    Ses,
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

/// The reasons why a sender is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmailSenderError {
    /// A field that the kind needs is missing.
    #[error("a sender of kind `{kind}` needs `{field}`")]
    Missing {
        /// The kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A field belongs to another kind.
    #[error("a sender of kind `{kind}` takes no `{field}`")]
    Superfluous {
        /// The kind.
        kind: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The credential is a secret of another tenant, or of the installation.
    #[error("its credential must be {0}")]
    ForeignCredential(String),
    /// The region cannot be one.
    #[error("region must be the name of a region of AWS, such as sa-east-1")]
    Region,
    /// The configuration set cannot be one.
    #[error("configuration_set must have 1 to 64 letters, digits, `-` and `_`")]
    ConfigurationSet,
    /// The server cannot be one.
    #[error("server must be smtps://host or smtp://host, with a port if needed")]
    Server,
    /// The name of the user cannot be one.
    #[error("user must have 1 to 255 characters on one line, and goes with a credential")]
    User,
}

impl EmailSenderKind {
    /// Returns the kind as configurations write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resend => "resend",
            Self::Ses => "ses",
            Self::Smtp => "smtp",
            Self::Simulated => "simulated",
        }
    }

    /// Returns what may be done about an e-mail of this kind whose outcome is unknown. Resend keeps ids for 24 hours
    /// (<https://resend.com/docs/dashboard/emails/idempotency-keys>); the hour is for clocks and for the request itself. Amazon
    /// SES and mail servers recognize nothing.
    pub fn repeat_rule(self) -> RepeatRule {
        match self {
            Self::Resend => RepeatRule::Within(SignedDuration::from_hours(23)),
            Self::Simulated => RepeatRule::Within(SignedDuration::MAX),
            Self::Ses | Self::Smtp => RepeatRule::Never,
        }
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
    pub fn check_sender(&self, tenant: &TenantId) -> Result<(), EmailSenderError> {
        self.check_fields()?;
        if let Some(credential) = &self.credential
            && !credential.belongs_to_tenant(tenant)
        {
            let allowed = CredentialRef::describe_allowed_for(tenant);
            return Err(EmailSenderError::ForeignCredential(allowed));
        }
        let is_region = |text: &str| {
            let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            (5..=32).contains(&text.len()) && text.bytes().all(fine) && text.contains('-')
        };
        if self.region.as_deref().is_some_and(|text| !is_region(text)) {
            return Err(EmailSenderError::Region);
        }
        let is_set = |text: &str| {
            let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            (1..=64).contains(&text.len()) && text.bytes().all(fine)
        };
        if self
            .configuration_set
            .as_deref()
            .is_some_and(|text| !is_set(text))
        {
            return Err(EmailSenderError::ConfigurationSet);
        }
        if self.server.is_some() && self.server_parts().is_none() {
            return Err(EmailSenderError::Server);
        }
        let is_user = |text: &str| (1..=255).contains(&text.len()) && !text.chars().any(char::is_control);
        match &self.user {
            Some(user) if !is_user(user) => Err(EmailSenderError::User),
            user if self.kind == EmailSenderKind::Smtp && user.is_some() != self.credential.is_some() => {
                Err(EmailSenderError::User)
            }
            _ => Ok(()),
        }
    }

    /// Checks that each field is there that the kind needs, and none of another kind.
    fn check_fields(&self) -> Result<(), EmailSenderError> {
        use EmailSenderKind::{Resend, Ses, Smtp};
        let kind = self.kind.as_str();
        let fields: [(&str, bool, &[EmailSenderKind], &[EmailSenderKind]); 5] = [
            ("credential", self.credential.is_some(), &[Resend, Ses], &[Smtp]),
            ("region", self.region.is_some(), &[Ses], &[]),
            ("configuration_set", self.configuration_set.is_some(), &[], &[Ses]),
            ("server", self.server.is_some(), &[Smtp], &[]),
            ("user", self.user.is_some(), &[], &[Smtp]),
        ];
        for (field, is_there, needed_by, taken_by) in fields {
            if needed_by.contains(&self.kind) && !is_there {
                return Err(EmailSenderError::Missing { kind, field });
            }
            if is_there && !needed_by.contains(&self.kind) && !taken_by.contains(&self.kind) {
                return Err(EmailSenderError::Superfluous { kind, field });
            }
        }
        Ok(())
    }
}
