//! Schemas of the configuration document.

use super::ProviderSchema;
use super::alerts::AlertConfigSchema;
use super::content::MessageTemplateSchema;
use recado_domain::Timestamp;
use recado_domain::provider::Provider;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A configuration document. `recado.toml` has the same fields and explains them.
#[derive(Serialize, ToSchema)]
#[schema(as = ConfigDocument)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ConfigDocumentSchema {
    #[schema(required = false)]
    tenants: Vec<TenantSchema>,
    #[schema(required = false)]
    agents: Vec<AgentSchema>,
    #[schema(required = false)]
    instances: Vec<InstanceSchema>,
    /// Thresholds and destinations of alerts. If present, they replace those before.
    alerts: Option<AlertConfigSchema>,
}

/// A customer of the installation, for example a clinic or a shop.
#[derive(Serialize, ToSchema)]
#[schema(as = Tenant)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct TenantSchema {
    #[schema(example = "clinic")]
    id: String,
    /// A name for people to read.
    name: Option<String>,
    /// IANA time zone, in which opening hours are read.
    #[schema(required = false, default = "UTC", example = "America/Sao_Paulo")]
    time_zone: String,
    /// The times for which the tenant's records are kept. If absent, the defaults.
    retention: Option<RetentionSchema>,
    /// `true` if none of the tenant's instances works.
    #[schema(required = false, default = false)]
    disabled: bool,
    /// Time since which the tenant is being removed. In a document it has no effect.
    removing_since: Option<Timestamp>,
}

/// What is kept of a tenant's records, and for how long.
#[derive(Serialize, ToSchema)]
#[schema(as = Retention)]
#[serde(deny_unknown_fields)]
struct RetentionSchema {
    /// Time for which messages are kept: days, or `"forever"`. A conversation goes with its last message.
    #[schema(required = false)]
    messages: RetentionPeriodSchema,
    /// `true` if a message loses its content when the contact deletes it for everyone.
    #[schema(required = false, default = true)]
    remove_deleted_content: bool,
}

/// A number of days from 1 to 36,500, or the word `forever`.
#[derive(Serialize, ToSchema)]
#[schema(as = RetentionPeriod, example = 365)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes")]
enum RetentionPeriodSchema {
    Days(u32),
    Forever(String),
}

/// An agent: the AI that answers, with its model and instructions.
#[derive(Serialize, ToSchema)]
#[schema(as = Agent)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AgentSchema {
    #[schema(example = "ana")]
    id: String,
    /// Id of the tenant.
    tenant: String,
    #[schema(example = "claude-sonnet-4-5")]
    model: String,
    /// The instructions to the model.
    system_prompt: String,
    /// The message that the contact gets when the model fails.
    #[schema(required = false)]
    error_message: String,
    /// Greatest length of a reply, in tokens.
    #[schema(required = false, minimum = 1, maximum = 64_000, default = 1024)]
    max_tokens: u32,
    /// The answer to messages of which all are of kinds that Recado does not know. If absent, the model is asked.
    unsupported_message: Option<String>,
    /// `true` if the agent answers nobody: what comes in waits for people.
    #[schema(required = false, default = false)]
    disabled: bool,
}

/// A WhatsApp number, connected through a provider.
#[derive(Serialize, ToSchema)]
#[schema(as = Instance)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct InstanceSchema {
    #[schema(example = "suporte-01")]
    id: String,
    /// Id of the tenant.
    tenant: String,
    #[schema(value_type = ProviderSchema)]
    provider: Provider,
    /// The provider's name for the instance, where it differs from `id`.
    external_id: Option<String>,
    /// Id of the agent that answers.
    agent: String,
    /// `true` if the instance does not work: its webhooks are acknowledged and ignored, and nothing is sent.
    #[schema(required = false, default = false)]
    disabled: bool,
    /// `false` if people answer until they give a conversation to the agent.
    #[schema(required = false, default = true)]
    starts_with_ai: bool,
    /// `true` if a message typed on the phone takes the conversation over.
    #[schema(required = false, default = true)]
    phone_takes_over: bool,
    /// Hours in which the agent answers, by weekday: `{"mon": ["09:00-12:00", "13:00-18:00"]}`. If absent, always.
    opening_hours: Option<BTreeMap<String, Vec<String>>>,
    /// Seconds to wait for more messages of a burst. If absent, the installation's setting.
    #[schema(minimum = 0, maximum = 300)]
    debounce_seconds: Option<f64>,
    /// The rate at which the instance may send. If absent, the provider's default.
    rate: Option<RateSchema>,
    /// The rate at which the instance may write to one contact. If absent, the provider's default.
    pair_rate: Option<RateSchema>,
    /// The provider's base URL, if it differs from the installation's.
    base_url: Option<String>,
    /// The account that the number belongs to (Meta's WABA id).
    account_id: Option<String>,
    /// The template that is sent in place of an answer after Meta's 24 hours are over.
    reengagement_template: Option<MessageTemplateSchema>,
    /// `true` if the contact sees that a message was read when its turn begins.
    #[schema(required = false, default = false)]
    mark_read: bool,
    /// `true` if the contact sees "typing…" while the agent thinks.
    #[schema(required = false, default = false)]
    typing: bool,
    /// Evolution API's major version.
    #[schema(required = false, minimum = 1, maximum = 2, default = 2)]
    api_version: u8,
    /// Reference to the key to send with, `env:NAME` or `ssm:/path/name`. If absent, the installation's key.
    credential: Option<String>,
    /// Reference to the secret of the tenant's own app of Meta (`env:NAME` or `ssm:/path/app-secret…`). If present, only
    /// this app speaks for the number.
    app_secret: Option<String>,
    /// Version of the webhook secret. It cannot be lowered: a lower one counts as left out.
    #[schema(required = false, minimum = 1, maximum = 9, default = 1)]
    secret_version: u8,
    /// Time until which the secret of the version before is accepted, too. Only shown; in a document it has no effect.
    previous_secret_until: Option<Timestamp>,
}

/// A limit on the speed at which an instance sends.
#[derive(Serialize, ToSchema)]
#[schema(as = Rate)]
pub(in crate::api) struct RateSchema {
    /// Messages per second in the long run.
    per_second: f64,
    /// Number of messages that may leave at once after a pause.
    burst: u32,
}
