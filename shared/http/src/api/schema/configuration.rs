//! Schemas of the configuration document.

use super::agents::{AgentLimitsSchema, HttpAgentSchema};
use super::alerts::AlertConfigSchema;
use super::calendars::CalendarSchema;
use super::content::MessageTemplateSchema;
use super::deliveries::{DeliveryRulesSchema, EmailSenderSchema};
use super::events::WebhookEndpointSchema;
use super::hours::OpeningHoursSchema;
use super::invitations::{InvitationTemplateSchema, OccasionSchema};
use super::secrets::SecretSaltSchema;
use super::tenants::{MonthlyBudgetSchema, RetentionSchema};
use super::tools::ToolSchema;
use super::{DecisionKindSchema, ProviderSchema, ReplyFormatSchema, SignaturePositionSchema};
use recado_domain::Timestamp;
use recado_domain::config::ReplyFormat;
use recado_domain::decision::DecisionKind;
use recado_domain::provider::Provider;
use recado_domain::signature::SignaturePosition;
use serde::Serialize;
use utoipa::ToSchema;

/// A configuration document. `recado.toml` has the same fields and explains them.
#[derive(Serialize, ToSchema)]
#[schema(as = ConfigDocument)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ConfigDocumentSchema {
    #[schema(required = false)]
    tenants: Vec<TenantSchema>,
    #[schema(required = false)]
    calendars: Vec<CalendarSchema>,
    #[schema(required = false)]
    tools: Vec<ToolSchema>,
    #[schema(required = false)]
    agents: Vec<AgentSchema>,
    #[schema(required = false)]
    instances: Vec<InstanceSchema>,
    /// Occasions to create or change. `prune` leaves the others.
    #[schema(required = false)]
    occasions: Vec<OccasionSchema>,
    /// Templates of invitations to create or change. `prune` leaves the others.
    #[schema(required = false)]
    invitation_templates: Vec<InvitationTemplateSchema>,
    /// Thresholds and destinations of alerts. If present, they replace those before.
    alerts: Option<AlertConfigSchema>,
    /// Prices of models. If present, they replace those before.
    prices: Option<Vec<ModelPriceSchema>>,
}

/// The prices of a model, as decimal numbers of at most six decimals: of its tokens, each for a million (`input` and `output` together),
/// or of the recordings that it transcribes.
#[derive(Serialize, ToSchema)]
#[schema(as = ModelPrice)]
#[serde(deny_unknown_fields)]
struct ModelPriceSchema {
    /// Name of the model as its API reports it. With `*` at the end, all names that begin so.
    #[schema(example = "claude-sonnet-4-5*", min_length = 1, max_length = 200)]
    model: String,
    /// Price of the tokens that the model reads.
    #[schema(example = "3.00")]
    input: Option<String>,
    /// Price of the tokens that it writes.
    #[schema(example = "15.00")]
    output: Option<String>,
    /// Price of tokens that are read from the prompt cache: that of `input` if absent.
    cache_read: Option<String>,
    /// Price of tokens that are written to the prompt cache: that of `input` if absent.
    cache_write: Option<String>,
    /// Price of a minute of a recording, for a model that transcribes and tells no tokens.
    audio_minute: Option<String>,
    /// Price of a message that the provider charges; `model` is then provider and category, such as `meta:utility`.
    message: Option<String>,
    /// Countries of the recipients for whom the price of a message holds: two characters, such as `BR`, or a calling code, such as `+55`.
    /// If empty, it holds for all that no other price names.
    #[schema(required = false, example = json!(["BR", "+351"]))]
    countries: Vec<String>,
    /// Currency of the prices: three capital letters.
    #[schema(required = false, default = "USD", pattern = "^[A-Z]{3}$")]
    currency: String,
    /// First day on which the prices hold, in UTC.
    #[schema(value_type = Option<String>, format = Date)]
    from: Option<recado_domain::usage::Date>,
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
    #[schema(required = false)]
    retention: RetentionSchema,
    /// Greatest number of tokens that the tenant's agents use on a day (UTC). If absent, there is no limit.
    #[schema(minimum = 1)]
    tokens_per_day: Option<u64>,
    /// Greatest number of the tenant's turns that run at once. If absent, there is no limit.
    #[schema(minimum = 1)]
    turns_at_once: Option<u32>,
    /// The rules for deliveries: unsolicited messages.
    #[schema(required = false)]
    deliveries: DeliveryRulesSchema,
    /// The ways by which the tenant sends e-mails, at most 10.
    #[schema(required = false)]
    email_senders: Vec<EmailSenderSchema>,
    /// The endpoints to which the tenant's published events are posted, at most 10. If absent in a document, they are left as
    /// they are.
    webhooks: Option<Vec<WebhookEndpointSchema>>,
    /// Budget of each month (UTC). If absent, there is none.
    budget: Option<MonthlyBudgetSchema>,
    /// `true` if none of the tenant's instances works.
    #[schema(required = false, default = false)]
    disabled: bool,
    /// Time since which the tenant is being removed. In a document it has no effect.
    removing_since: Option<Timestamp>,
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
    /// The model. Absent only if the user runs the agent (`http`).
    #[schema(required = false, example = "claude-sonnet-4-5")]
    model: String,
    /// The endpoint of an agent that the user runs, in the place of a model.
    http: Option<HttpAgentSchema>,
    /// The model that answers while the first is down or overloaded.
    fallback_model: Option<String>,
    /// Reference to a key of the tenant's own for the model's provider. If absent, the installation's key is used.
    model_key: Option<String>,
    /// The instructions to the model. Absent only if the user runs the agent.
    #[schema(required = false)]
    system_prompt: String,
    /// A shorter form of `system_prompt`, which the model reads in its place.
    optimized_system_prompt: Option<String>,
    /// The marks in which the model writes its replies: Markdown's, or WhatsApp's own if the prompt asks for them.
    #[schema(required = false, value_type = ReplyFormatSchema)]
    reply_format: ReplyFormat,
    /// The message that the contact gets when the model fails.
    #[schema(required = false)]
    error_message: String,
    /// Greatest length of a reply, in tokens.
    #[schema(required = false, minimum = 1, maximum = 64_000, default = 1024)]
    max_tokens: u32,
    /// The answer to messages of which all are of kinds that Recado does not know, without words. If absent, the model is asked.
    unsupported_message: Option<String>,
    /// The signature that goes out with the agent's texts. The model never reads it.
    signature: Option<SignatureSchema>,
    /// The decisions that the agent may take by itself.
    #[schema(required = false, value_type = Vec<DecisionKindSchema>)]
    decisions: Vec<DecisionKind>,
    /// The message that the contact gets when the agent hands the conversation over without words of its own.
    #[schema(required = false)]
    hand_over_message: String,
    /// The steps of the agent's script. Conversations begin at the first.
    #[schema(required = false)]
    steps: Vec<AgentStepSchema>,
    /// The limits of the agent in one thread.
    #[schema(required = false)]
    limits: AgentLimitsSchema,
    /// Ids of the tools that the agent may call. They belong to the same tenant.
    #[schema(required = false)]
    tools: Vec<String>,
    /// `true` if the model reads the name that the contact gave itself. Not of an agent with `http`.
    #[schema(required = false, default = false)]
    reads_contact_name: bool,
    /// `true` if the agent answers nobody: what comes in waits for people.
    #[schema(required = false, default = false)]
    disabled: bool,
}

/// A business portfolio of Meta's: its numbers share one messaging limit.
#[derive(Serialize, ToSchema)]
#[schema(as = Portfolio)]
#[serde(deny_unknown_fields)]
struct PortfolioSchema {
    /// The instance of the same tenant that keeps the portfolio's budget. If absent, this one.
    instance: Option<String>,
    /// Number of people to whom the portfolio may write first within 24 hours. If absent, what Meta tells.
    people_per_day: Option<u32>,
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
    /// `true` if clients' messages may take a contact's thread from another program.
    #[schema(required = false, default = false)]
    takes_threads: bool,
    /// `true` if the phone's app greets contacts by itself, which takes nothing over; `false` if not. If absent, it is found out.
    phone_greets: Option<bool>,
    /// The time at which the agent answers again after people took a conversation over: `never`, `at_resolve`, or
    /// `{"after_minutes": 30}` after the last message of a person.
    #[schema(required = false)]
    agent_returns: AgentReturnSchema,
    /// The contacts who may begin a conversation. If absent, everybody may.
    #[schema(required = false)]
    access: AccessListSchema,
    /// Hours in which the agent answers. If absent, always.
    opening_hours: Option<OpeningHoursSchema>,
    /// Seconds to wait for more messages of a burst, the same after every message. If absent, the installation's setting.
    #[schema(minimum = 0, maximum = 300)]
    debounce_seconds: Option<f64>,
    /// Seconds to wait after a complete question: the shortest wait of an adaptive debounce. Not with `debounce_seconds`.
    #[schema(minimum = 0, maximum = 300)]
    debounce_short_seconds: Option<f64>,
    /// Seconds to wait after a fragment: the longest adaptive wait, doubled after an announcement. Not with `debounce_seconds`.
    #[schema(minimum = 0, maximum = 300)]
    debounce_long_seconds: Option<f64>,
    /// Number of drafts in a row that are begun anew because the contact wrote meanwhile. If absent, the installation's setting.
    #[schema(minimum = 0, maximum = 5)]
    restart_drafts: Option<u32>,
    /// Seconds for which a reply of the agent is held back. If absent, replies leave at once.
    #[schema(minimum = 0, maximum = 10)]
    reply_delay_seconds: Option<f64>,
    /// The signature that goes out with the texts that people write in the console or by the API.
    people_signature: Option<SignatureSchema>,
    /// The rate at which the instance may send. If absent, the provider's default.
    rate: Option<RateSchema>,
    /// The rate at which the instance may write to one contact. If absent, the provider's default.
    pair_rate: Option<RateSchema>,
    /// The provider's base URL, if it differs from the installation's.
    base_url: Option<String>,
    /// The account that the number belongs to (Meta's WABA id).
    account_id: Option<String>,
    /// The business portfolio of Meta's to which the number belongs.
    portfolio: Option<PortfolioSchema>,
    /// The template that is sent in place of an answer after Meta's 24 hours are over.
    reengagement_template: Option<MessageTemplateSchema>,
    /// `true` if the contact sees that its messages were read. That is when their turn begins or a person answers by the API.
    #[schema(required = false, default = false)]
    mark_read: bool,
    /// `true` if the contact sees "typing…" while the agent thinks.
    #[schema(required = false, default = false)]
    typing: bool,
    /// `true` if Evolution sends buttons and lists as menus; otherwise as numbered text.
    #[schema(required = false, default = false)]
    native_menus: bool,
    /// Evolution API's major version.
    #[schema(required = false, minimum = 1, maximum = 2, default = 2)]
    api_version: u8,
    /// Reference to the key to send with, `env:NAME` or `ssm:/path/name`. If absent, the installation's key.
    credential: Option<String>,
    /// Reference to the secret of the tenant's own app of Meta (`env:NAME` or `ssm:/path/app-secret…`). If present, only
    /// this app speaks for the number.
    app_secret: Option<String>,
    /// Version of the webhook secret. Only a rotation raises it. Only shown; in a document it has no effect.
    #[schema(required = false, minimum = 1, maximum = 9, default = 1)]
    secret_version: u8,
    /// Time until which the secret of the version before is accepted, too. Only shown; in a document it has no effect.
    previous_secret_until: Option<Timestamp>,
    /// The salt of the webhook secrets, made when the entry is created. Absent: the entry is older, and its secret was not
    /// rotated since. Only shown; in a document it has no effect.
    secret_salt: Option<SecretSaltSchema>,
    /// `true` if a token of the tenant named `base_url`: only public hosts and listed ones are asked. Only shown; in a
    /// document it has no effect.
    #[schema(required = false, default = false)]
    named_by_tenant: bool,
}

/// A text that is added to each reply when it is sent.
#[derive(Serialize, ToSchema)]
#[schema(as = Signature)]
#[serde(deny_unknown_fields)]
struct SignatureSchema {
    /// 1 to 200 characters.
    #[schema(example = "*Ana*")]
    text: String,
    #[schema(value_type = SignaturePositionSchema, required = false)]
    position: SignaturePosition,
}

/// Whom the instance lets begin a conversation: at most 10,000 entries together. Conversations that exist go on.
#[derive(Serialize, ToSchema)]
#[schema(as = AccessList)]
#[serde(deny_unknown_fields)]
struct AccessListSchema {
    /// Who begins no conversation: numbers with their country code, or identities without a number.
    #[schema(required = false, example = json!(["+5511988880000", "123456789012345@lid"]))]
    block: Vec<String>,
    /// If not empty: the only ones who begin a conversation, unless they are blocked.
    #[schema(required = false)]
    allow: Vec<String>,
}

/// A step of an agent's script.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentStep)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AgentStepSchema {
    /// The step's id.
    id: String,
    /// The instructions to the model at this step, after the agent's own.
    prompt: String,
    /// The steps to which the agent may move from here.
    #[schema(required = false)]
    next: Vec<String>,
}

/// The time at which the agent answers again after people took a conversation over.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentReturn, example = "at_resolve")]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes")]
pub(in crate::api) enum AgentReturnSchema {
    /// Never by itself, not even with the contact's next conversation.
    Never,
    /// With the contact's next conversation.
    AtResolve,
    /// As many minutes after the last message of a person: 1 to 43,200.
    AfterMinutes(u32),
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
