use std::fmt;

/// What was done, found or left to a person while an instance was connected. Shown, it is a sentence without its subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectStep {
    /// A person has to enter this.
    EnterManually {
        /// Where.
        place: &'static str,
        /// What each field is to hold. An entry without a name goes on with the one before.
        entries: Vec<(&'static str, String)>,
    },
    /// The webhook was set.
    WebhookSet {
        /// At whom.
        provider: &'static str,
    },
    /// The provider has it as it should be.
    WebhookConfirmed {
        /// What it sends, where it tells.
        events: Vec<String>,
    },
    /// A webhook with this proof reaches the installation and is taken.
    CredentialsAccepted,
    /// The handshake was answered as it should be.
    HandshakeAnswered,
    /// The handshake was not tried.
    HandshakeSkipped {
        /// The setting that would be needed here.
        setting: &'static str,
    },
    /// These apps get the account's webhooks.
    Subscribed {
        /// The account.
        account: String,
        /// The apps' names.
        apps: Vec<String>,
    },
    /// No app was subscribed, for the account is not known.
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
