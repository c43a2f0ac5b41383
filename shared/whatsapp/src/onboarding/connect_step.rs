use std::fmt;

/// A step that was done, found, or left to a person while an instance was connected. Its text form is a sentence without
/// a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectStep {
    /// Values that a person has to enter.
    EnterManually {
        /// Place where the values are entered.
        place: &'static str,
        /// Name and value of each field. An entry without a name continues the entry before.
        entries: Vec<(&'static str, String)>,
    },
    /// The webhook was set.
    WebhookSet {
        /// Provider at which the webhook was set.
        provider: &'static str,
    },
    /// The provider's webhook is set as wanted.
    WebhookConfirmed {
        /// Names of the events that the provider sends; empty if it does not list them.
        events: Vec<String>,
    },
    /// A webhook with the secret or token reached the installation and was accepted.
    CredentialsAccepted,
    /// The handshake was answered correctly.
    HandshakeAnswered,
    /// The handshake was not tested, because a setting is missing here.
    HandshakeSkipped {
        /// Name of the missing setting.
        setting: &'static str,
    },
    /// These apps receive the account's webhooks.
    Subscribed {
        /// Id of the account.
        account: String,
        /// Names of the apps.
        apps: Vec<String>,
    },
    /// No app was subscribed, because the account is not known.
    NoAccount,
}

impl fmt::Display for ConnectStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnterManually { place, entries } => {
                write!(f, "enter in {place}")?;
                entries
                    .iter()
                    .try_for_each(|(name, value)| write!(f, "\n  {name:<12}  {value}"))
            }
            Self::WebhookSet { provider } => write!(f, "webhook set at {provider}"),
            Self::WebhookConfirmed { events } if events.is_empty() => {
                f.write_str("read back as it should be")
            }
            Self::WebhookConfirmed { events } => {
                write!(f, "read back as it should be ({})", events.join(", "))
            }
            Self::CredentialsAccepted => f.write_str("a webhook with this proof is taken"),
            Self::HandshakeAnswered => f.write_str("the handshake comes back"),
            Self::HandshakeSkipped { setting } => {
                write!(f, "no handshake tried, {setting} is not set here")
            }
            Self::Subscribed { account, apps } => write!(f, "subscribed to {account}: {}", apps.join(", ")),
            Self::NoAccount => f.write_str("no app subscribed: the instance has no account_id (its WABA)"),
        }
    }
}
