//! The configuration: tenants, calendars, tools, agents and instances. `recado apply` writes it, every function reads it.

use crate::access_list::AccessList;
use crate::budget::MonthlyBudget;
use crate::content::MessageTemplate;
use crate::delivery_rules::DeliveryRules;
use crate::hours::OpeningHours;
use crate::ids::{AgentId, ExternalId, InstanceId, TenantId};
use crate::invitations::{InvitationTemplate, Occasion};
use crate::price::PriceList;
use crate::provider::{Provider, ProviderCapabilities};
use crate::rate::Rate;
use crate::retention::RetentionPolicy;
use crate::secret::SecretVersion;
use crate::signature::Signature;
use crate::text_conversions::describe_as;
use crate::tools::Tool;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::num::{NonZeroU32, NonZeroU64};

/// The id of an instance that nobody may configure. The health check writes under this id to prove that the store takes
/// writes.
pub const RESERVED_INSTANCE: &str = "recado:health";

/// Longest time for which a reply of the agent is held back, in seconds.
pub const REPLY_DELAY_MAX: f64 = 10.0;

/// Maximum of `restart_drafts`: drafts in a row that are dropped because the contact wrote while they were made.
pub const RESTART_DRAFTS_MAX: u32 = 5;

/// A configuration document, as `recado.toml` holds it and `PUT /v1/config` takes it. Applying a document creates or
/// changes what the document names, and leaves everything else alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ConfigDocument {
    /// The tenants to create or change.
    #[serde(default)]
    pub tenants: Vec<Tenant>,
    /// The calendars to create or change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calendars: Vec<Calendar>,
    /// The tools to create or change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// The agents to create or change.
    #[serde(default)]
    pub agents: Vec<Agent>,
    /// The instances to create or change.
    #[serde(default)]
    pub instances: Vec<Instance>,
    /// The occasions to create or change. `prune` leaves the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub occasions: Vec<Occasion>,
    /// The templates of invitations to create or change. `prune` leaves the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invitation_templates: Vec<InvitationTemplate>,
    /// The alerts: thresholds and destinations. If present, they replace those before; if absent, these are left as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alerts: Option<AlertConfig>,
    /// The prices of models. If present, they replace those before; if absent, these are left as they are.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<crate::price::ModelPrice>>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceList>,
}

/// A customer of the installation, for example a clinic or a shop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// The tenant's id.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "clinic"))]
    pub id: TenantId,
    /// A name for people to read.
    #[serde(default)]
    pub name: Option<String>,
    /// IANA time zone, in which opening hours are read.
    #[cfg_attr(feature = "schema", schema(default = "UTC", example = "America/Sao_Paulo"))]
    #[serde(default = "default_time_zone")]
    pub time_zone: String,
    /// The times for which the tenant's records are kept. If absent, the defaults.
    #[serde(default, skip_serializing_if = "RetentionPolicy::is_default")]
    pub retention: RetentionPolicy,
    /// Greatest number of tokens that the tenant's agents use on a day (UTC). If absent, there is no limit.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, minimum = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<NonZeroU64>,
    /// Greatest number of the tenant's turns that run at once. If absent, there is no limit.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u32>, minimum = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_at_once: Option<NonZeroU32>,
    /// The rules for deliveries: unsolicited messages.
    #[serde(default, skip_serializing_if = "DeliveryRules::is_empty")]
    pub deliveries: DeliveryRules,
    /// The ways by which the tenant sends e-mails, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email_senders: Vec<EmailSender>,
    /// Budget of each month (UTC). If absent, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<MonthlyBudget>,
    /// The endpoints to which the tenant's published events are posted, at most 10. If absent in a document, they are left as
    /// they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhooks: Option<Vec<WebhookEndpoint>>,
    /// `true` if none of the tenant's instances works, as if each were disabled.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Time since which the tenant is being removed. In a document it has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removing_since: Option<Timestamp>,
}

/// A WhatsApp number, connected through a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// The instance's id.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "suporte-01"))]
    pub id: InstanceId,
    /// The tenant that the instance belongs to.
    pub tenant: TenantId,
    /// The provider through which the number is connected.
    pub provider: Provider,
    /// The provider's name for the instance, where it differs from `id`. Evolution: the instance name. Meta and
    /// 360dialog: the `phone_number_id`. AWS: the phone number id (the ARN will do).
    #[serde(default)]
    pub external_id: Option<ExternalId>,
    /// The agent that answers.
    pub agent: AgentId,
    /// `true` if the instance does not work: its webhooks are acknowledged and ignored, and nothing is sent. What it has
    /// stays readable.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// `true` if the agent answers new conversations; `false` if people answer until they give a conversation to the
    /// agent.
    #[cfg_attr(feature = "schema", schema(default = true))]
    #[serde(default = "default_true")]
    pub starts_with_ai: bool,
    /// `true` if a message typed on the phone takes the conversation over.
    #[cfg_attr(feature = "schema", schema(default = true))]
    #[serde(default = "default_true")]
    pub phone_takes_over: bool,
    /// `true` if messages of clients may take a contact's thread from another program that holds it at the provider.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_threads: bool,
    /// Whether the phone's app greets contacts by itself, which takes nothing over. `true`: what is typed on the phone first, within
    /// two seconds after a contact's message, is a greeting. If absent, it must also have begun another conversation. `false`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_greets: Option<bool>,
    /// The contacts who may begin a conversation. If absent, everybody may.
    #[serde(default, skip_serializing_if = "AccessList::is_empty")]
    pub access: AccessList,
    /// The time at which the agent answers again after people took a conversation over: `never`, `at_resolve`, or
    /// `{"after_minutes": 30}` after the last message of a person.
    #[serde(default, skip_serializing_if = "AgentReturn::is_default")]
    pub agent_returns: AgentReturn,
    /// Hours in which the agent answers. If absent, the agent always answers.
    #[serde(default)]
    pub opening_hours: Option<OpeningHours>,
    /// A fixed debounce: seconds to wait for more messages of a burst, the same after every message. 0 answers each message at once. If
    /// absent, the installation's setting is used.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 300))]
    #[serde(default)]
    pub debounce_seconds: Option<f64>,
    /// Seconds to wait after a complete question: the shortest wait of an adaptive debounce. If absent, the installation's setting is
    /// used. Not with `debounce_seconds`.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 300))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce_short_seconds: Option<f64>,
    /// Seconds to wait after a fragment: the longest wait of an adaptive debounce, which is doubled after an announcement. If absent, the
    /// installation's setting is used. Not with `debounce_seconds`.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 300))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce_long_seconds: Option<f64>,
    /// Number of drafts in a row, 0 to 5, that are dropped and begun anew because the contact wrote meanwhile. If absent, the
    /// installation's setting is used.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 5))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_drafts: Option<u32>,
    /// Time for which a reply of the agent is held back, in seconds, 0 to 10. If absent, replies leave at once.
    #[cfg_attr(feature = "schema", schema(minimum = 0, maximum = 10))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_delay_seconds: Option<f64>,
    /// The signature that goes out with the texts that people write in the console or by the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people_signature: Option<Signature>,
    /// The rate at which the instance may send. If absent, the provider's default is used.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The rate at which the instance may write to one contact. If absent, the provider's default is used (Evolution:
    /// no limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair_rate: Option<Rate>,
    /// The provider's base URL, if it differs from the installation's. The URL must be https, or http to this machine,
    /// to a private address or to a name without a dot. The installation's own key is sent to the installation's own
    /// URLs only.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The account that the number belongs to (Meta's WABA id). Meta's notices about the account are shown with the
    /// instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The business portfolio of Meta's to which the number belongs: its numbers share one messaging limit. If absent, the number
    /// has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portfolio: Option<Portfolio>,
    /// The template that is sent in place of an answer after Meta's 24 hours are over. Without a template, such an
    /// answer fails with `window_closed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reengagement_template: Option<MessageTemplate>,
    /// `true` if the contact sees that its messages were read. That is when their turn begins or a person answers by the
    /// API.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_read: bool,
    /// `true` if the contact sees "typing…" while the agent thinks (with Meta this also marks the message as read).
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub typing: bool,
    /// `true` if buttons and lists arrive on the contacts' phones when Evolution sends them as menus (version 2 only). They
    /// are sent as numbered text otherwise.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub native_menus: bool,
    /// Evolution API's major version, 1 or 2. The request bodies for sending differ between the versions.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 2, default = 2))]
    #[serde(default = "default_api_version")]
    pub api_version: u8,
    /// Reference to the key or token to send with, `env:NAME` or `ssm:/path/name`. If absent, the installation's is used
    /// (`env:EVOLUTION_API_KEY`, `env:META_ACCESS_TOKEN`, `env:D360_API_KEY`); otherwise it must be a secret of the tenant. AWS's own
    /// credentials need no reference.
    #[serde(default)]
    pub credential: Option<CredentialRef>,
    /// Reference to the secret of the tenant's own app of Meta, with which the number is connected. It is `env:NAME` or
    /// `ssm:/path/app-secret…`. Only this app then speaks for the number. If absent, it is the installation's app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_secret: Option<CredentialRef>,
    /// Version of the webhook secret. Only a rotation raises it. Only shown; in a document it has no effect.
    #[cfg_attr(feature = "schema", schema(default = 1))]
    #[serde(default, skip_serializing_if = "SecretVersion::is_first")]
    pub secret_version: SecretVersion,
    /// Time until which the secret of the version before is accepted, too. Only shown; in a document it has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_secret_until: Option<Timestamp>,
    /// The salt of the webhook secrets, made when the entry is created. If absent, the entry is from before there were salts, and its
    /// secret was not rotated since. Only shown; in a document it has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_salt: Option<SecretSalt>,
    /// Time at which the instance got its tenant, if another tenant had it before: what arrived earlier is that one's.
    /// Only shown; in a document it has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_since: Option<Timestamp>,
    /// `true` if a token of the tenant named `base_url`. Only public hosts and those that the installation lists are then
    /// asked. Only shown; in a document it has no effect.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named_by_tenant: bool,
}

/// A reference to the place where a secret is kept. Configuration never holds the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum CredentialRef {
    /// `env:NAME`: an environment variable.
    Env(String),
    /// `ssm:/path/name`: a parameter of AWS Systems Manager.
    Ssm(String),
}

describe_as!(CredentialRef, String);

fn default_time_zone() -> String {
    "UTC".to_owned()
}

fn default_true() -> bool {
    true
}

fn default_api_version() -> u8 {
    2
}

impl Tenant {
    /// Returns the tenant's time zone; UTC if the name is unknown (a valid document has no unknown time zone).
    pub fn resolve_time_zone(&self) -> TimeZone {
        TimeZone::get(&self.time_zone).unwrap_or(TimeZone::UTC)
    }
}

impl Instance {
    /// Returns the provider's name for the instance: `external_id`, or the instance's id. `None` if that text is not a
    /// valid id.
    pub fn resolve_external_id(&self) -> Option<ExternalId> {
        let written = match &self.external_id {
            Some(external) => external.as_str(),
            None => self.id.as_str(),
        };
        ExternalId::parse(written).ok()
    }

    /// Returns the rate at which the instance may send: its own, the provider's, or else `installation`.
    pub fn resolve_rate(&self, traits: &ProviderCapabilities, installation: Rate) -> Rate {
        self.rate.or(traits.rate).unwrap_or(installation)
    }

    /// Returns the time for which a reply of the agent is held back.
    pub fn reply_delay(&self) -> SignedDuration {
        let seconds = self
            .reply_delay_seconds
            .unwrap_or_default()
            .clamp(0.0, REPLY_DELAY_MAX);
        SignedDuration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// Returns the rate at which the instance may write to one contact; `None` if there is no limit.
    pub fn resolve_pair_rate(&self, traits: &ProviderCapabilities) -> Option<Rate> {
        self.pair_rate.or(traits.pair_rate)
    }
}

mod agent;
mod agent_limits;
mod agent_return;
mod alerts;
mod applied_file;
mod calendars;
mod changes;
mod check;
mod credential;
mod email_sender;
mod error;
mod http_agent;
mod instance_config;
mod model_name;
mod named_secrets;
mod names;
mod portfolio;
mod prune;
mod references;
mod removal;
mod steps;
mod tenant_change;
pub mod tools;
mod webhook_endpoint;
mod webhook_secret;

pub use agent::{Agent, AgentStep, ReplyFormat};
pub use agent_limits::{AgentLimits, LimitReply};
pub use agent_return::AgentReturn;
pub use applied_file::{AppliedFile, EntrySource, FIELDS_OF_NO_DOCUMENT, KeptEntry, name_entry};
pub use calendars::{Calendar, GoogleCalendarAccess};
pub(crate) use email_sender::SES_REFUSED;
pub use email_sender::{EmailSender, EmailSenderKind, RepeatRule};
pub use error::ConfigError;
pub use http_agent::{ContactField, HttpAgent};
pub use instance_config::InstanceConfig;
pub use model_name::{
    RewritingModel, USUAL_MODEL_PROVIDER, USUAL_REWRITING_MODEL, model_provider_asks_for_key,
    split_model_name,
};
pub use named_secrets::NamedSecret;
pub use names::{ConfigEntry, ConfigNames, Entry, EntryRef};
pub use portfolio::Portfolio;
pub use prune::{ConfigRemoval, PrunePlan};
pub use webhook_endpoint::{WEBHOOK_ENDPOINTS_MAX, WebhookEndpoint};
pub use webhook_secret::SecretSalt;

pub use alerts::{
    AlertConfig, AlertDestination, DestinationChannel, EmailDestination, ServerParts, WebhookDestination,
    WhatsAppDestination, parse_mail_server,
};
pub use credential::ALERT_VARIABLE_PREFIX;

#[cfg(test)]
mod tests;
