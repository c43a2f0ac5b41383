//! What is configured: tenants, agents, instances. Written by `recado apply`, read by every function.

use crate::content::MessageTemplate;
use crate::hours::OpeningHours;
use crate::ids::{AgentId, ExternalId, InstanceId, TenantId};
use crate::provider::{Provider, ProviderCapabilities};
use crate::rate::Rate;
use crate::secret::SecretVersion;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The id of an instance that nobody may configure: under it the health check proves that the store takes writes.
pub const RESERVED_INSTANCE: &str = "recado:health";

/// A configuration document: what `recado.toml` holds and `PUT /v1/config` takes. Applying it creates and changes what
/// it names and leaves the rest alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigDocument {
    /// Tenants.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
    /// Agents.
    #[serde(default)]
    pub agents: Vec<Agent>,
    /// Instances.
    #[serde(default)]
    pub instances: Vec<Instance>,
}

/// A customer of the installation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// A name for people.
    #[serde(default)]
    pub name: Option<String>,
    /// IANA time zone, such as `America/Sao_Paulo`; opening hours are read in it.
    #[serde(default = "default_time_zone")]
    pub time_zone: String,
}

/// An assistant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Whose it is.
    pub tenant: TenantId,
    /// The model, such as `claude-sonnet-4-5`.
    pub model: String,
    /// What it is told to be.
    pub system_prompt: String,
    /// What the contact is told when the model fails.
    #[serde(default = "default_error_message")]
    pub error_message: String,
    /// The longest reply, in tokens.
    #[serde(default = "default_max_tokens")]
    pub max_tokens: u32,
    /// What the contact is told when all they sent is of kinds that Recado does not know; the model is asked, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported_message: Option<String>,
}

/// A WhatsApp number, connected through a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Whose it is.
    pub tenant: TenantId,
    /// Through whom it is connected.
    pub provider: Provider,
    /// The provider's name for it where that differs from `id`: Evolution's instance name, Meta's and 360dialog's
    /// `phone_number_id`, AWS's phone number id (its ARN will do).
    #[serde(default)]
    pub external_id: Option<ExternalId>,
    /// Who answers.
    pub agent: AgentId,
    /// Whether new conversations are answered by the agent (else by people, until they hand over).
    #[serde(default = "default_true")]
    pub starts_with_ai: bool,
    /// Whether a message typed on the phone takes the conversation over.
    #[serde(default = "default_true")]
    pub phone_takes_over: bool,
    /// When the agent answers; always, if absent.
    #[serde(default)]
    pub opening_hours: Option<OpeningHours>,
    /// How long to wait for more of a burst, in seconds (0: answer each message at once); the installation's setting if
    /// absent.
    #[serde(default)]
    pub debounce_seconds: Option<f64>,
    /// How fast it may send; by provider if absent.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// How fast it may write to one contact; by provider if absent (Evolution: no limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair_rate: Option<Rate>,
    /// The provider's base URL, if not the installation's: https, or http to this machine, a private address or a name
    /// without a dot. The installation's own key is sent to the installation's own URLs only.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The account that the number belongs to (Meta's WABA id): what Meta tells of the account is shown with the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// What goes out where Meta's 24 hours are over; without one, such a reply fails with `window_closed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reengagement_template: Option<MessageTemplate>,
    /// Whether the contact sees that a message was read when its turn begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_read: bool,
    /// Whether the contact sees "typing…" while the agent thinks (with Meta this marks as read, too).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub typing: bool,
    /// Evolution API's major version, 1 or 2: their send bodies differ.
    #[serde(default = "default_api_version")]
    pub api_version: u8,
    /// The key or token to send with, by reference; the installation's (`env:EVOLUTION_API_KEY`,
    /// `env:META_ACCESS_TOKEN`, `env:D360_API_KEY`) if absent, else one of the tenant's own
    /// ([`CredentialRef::belongs_to_tenant`]). AWS's own credentials need none.
    #[serde(default)]
    pub credential: Option<CredentialRef>,
    /// Which of its webhook secrets it is told. Another one makes another secret for this instance alone; those of other
    /// versions are still taken.
    #[serde(default, skip_serializing_if = "SecretVersion::is_first")]
    pub secret_version: SecretVersion,
}

/// Where a secret is kept. Configuration never holds the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CredentialRef {
    /// `env:NAME`: an environment variable.
    Env(String),
    /// `ssm:/path/name`: a parameter of AWS Systems Manager.
    Ssm(String),
}

impl TryFrom<String> for CredentialRef {
    type Error = ConfigError;

    fn try_from(text: String) -> Result<Self, ConfigError> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::Env(name.to_owned())),
            Some(("ssm", name)) if !name.is_empty() => Ok(Self::Ssm(name.to_owned())),
            // The text may be a secret pasted by mistake: it is not repeated.
            _ => Err(ConfigError::Credential),
        }
    }
}

impl From<CredentialRef> for String {
    fn from(reference: CredentialRef) -> Self {
        match reference {
            CredentialRef::Env(name) => format!("env:{name}"),
            CredentialRef::Ssm(name) => format!("ssm:{name}"),
        }
    }
}

/// Why a configuration is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Not a reference to a secret.
    #[error("a credential must be a reference, `env:NAME` or `ssm:/path/name`, never the secret itself")]
    Credential,
    /// Not a time zone.
    #[error("tenant `{tenant}`: `{zone}` is not an IANA time zone, such as America/Sao_Paulo")]
    UnknownTimeZone {
        /// Whose.
        tenant: TenantId,
        /// What it says.
        zone: String,
    },
    /// Two of one id.
    #[error("{kind} `{id}` is declared twice")]
    DuplicateId {
        /// Tenant, agent or instance.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// A reference to something that is neither declared nor known.
    #[error("{from}: there is no {kind} `{id}`")]
    MissingReference {
        /// Who refers.
        from: String,
        /// To what kind.
        kind: &'static str,
        /// To which.
        id: String,
    },
    /// An instance that uses another tenant's agent.
    #[error("instance `{instance}` belongs to tenant `{tenant}`, its agent `{agent}` to another")]
    ForeignAgent {
        /// The instance.
        instance: InstanceId,
        /// Its tenant.
        tenant: TenantId,
        /// The agent.
        agent: AgentId,
    },
    /// Two instances with one provider and provider's name.
    #[error("instances `{first}` and `{second}` are the same {provider} instance")]
    SameExternal {
        /// One.
        first: InstanceId,
        /// The other.
        second: InstanceId,
        /// Their provider.
        provider: Provider,
    },
    /// A provider that there is not.
    #[error("instance `{instance}`: there is no provider `{provider}`; there are {known}")]
    UnknownProvider {
        /// Whose.
        instance: InstanceId,
        /// What it says.
        provider: Provider,
        /// Those that there are.
        known: String,
    },
    /// A secret that is not the instance's.
    #[error("instance `{instance}`: its credential must be {allowed}")]
    ForeignCredential {
        /// Whose.
        instance: InstanceId,
        /// What it may be.
        allowed: String,
    },
    /// A variable that would be that of two tenants.
    #[error(
        "instance `{instance}`: two tenants' ids are alike in capitals, so its credential cannot be a variable of one of them"
    )]
    SharedVariable {
        /// Whose.
        instance: InstanceId,
    },
    /// A base URL to which nothing is sent.
    #[error("instance `{instance}`: base_url {why}")]
    BaseUrl {
        /// Whose.
        instance: InstanceId,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The installation's own key for a host that is not the installation's.
    #[error(
        "instance `{instance}`: its base_url is not the installation's own ({setting}), so the installation's key is not sent \
         there: it needs a `credential` of its own, {allowed}"
    )]
    KeyForForeignHost {
        /// Whose.
        instance: InstanceId,
        /// The setting with the installation's own.
        setting: &'static str,
        /// What its credential may be.
        allowed: String,
    },
    /// A number outside its range.
    #[error("{of}: {what}")]
    InvalidValue {
        /// Of what.
        of: String,
        /// What is wrong.
        what: &'static str,
    },
}

fn default_time_zone() -> String {
    "UTC".to_owned()
}

fn default_error_message() -> String {
    "Sorry, something went wrong on our side. Please try again in a moment.".to_owned()
}

fn default_max_tokens() -> u32 {
    1024
}

fn default_true() -> bool {
    true
}

fn default_api_version() -> u8 {
    2
}

impl Tenant {
    /// Its time zone; UTC if the name is not known (a valid document has none such).
    pub fn resolve_time_zone(&self) -> TimeZone {
        TimeZone::get(&self.time_zone).unwrap_or(TimeZone::UTC)
    }
}

impl Instance {
    /// The provider's name for it.
    pub fn resolve_external_id(&self) -> Option<ExternalId> {
        let written = match &self.external_id {
            Some(external) => external.as_str(),
            None => self.id.as_str(),
        };
        ExternalId::parse(written).ok()
    }

    /// How fast it may send. `installation`: the rate of instances that have none, neither of their own nor by provider.
    pub fn resolve_rate(&self, traits: &ProviderCapabilities, installation: Rate) -> Rate {
        self.rate.or(traits.rate).unwrap_or(installation)
    }

    /// How fast it may write to one contact, if that is limited.
    pub fn resolve_pair_rate(&self, traits: &ProviderCapabilities) -> Option<Rate> {
        self.pair_rate.or(traits.pair_rate)
    }
}

/// An instance with its tenant and agent: what a function needs to handle a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceConfig {
    /// The instance.
    pub instance: Instance,
    /// Whose it is.
    pub tenant: Tenant,
    /// Who answers.
    pub agent: Agent,
}

mod check;
mod credential;

#[cfg(test)]
mod tests;
