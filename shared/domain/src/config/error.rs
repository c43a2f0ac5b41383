use super::{CalendarConfigError, StepsError, WebhookEndpointError};
use crate::hours::HoursError;
use crate::ids::{AgentId, CalendarId, InstanceId, TenantId, ToolId, WebhookEndpointId};
use crate::provider::Provider;
use crate::tools::ToolError;

/// The reasons why a configuration is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not a reference to a secret.
    #[error("a credential must be a reference, `env:NAME` or `ssm:/path/name`, never the secret itself")]
    Credential,
    /// The text is not a time zone.
    #[error("tenant `{tenant}`: `{zone}` is not an IANA time zone, such as America/Sao_Paulo")]
    UnknownTimeZone {
        /// The tenant with the wrong time zone.
        tenant: TenantId,
        /// The time zone as written.
        zone: String,
    },
    /// Two items of one kind have the same id.
    #[error("{kind} `{id}` is declared twice")]
    DuplicateId {
        /// `tenant`, `calendar`, `tool`, `agent` or `instance`.
        kind: &'static str,
        /// The id that is declared twice.
        id: String,
    },
    /// A reference to an item that is neither in the document nor configured.
    #[error("{from}: there is no {kind} `{id}`")]
    MissingReference {
        /// The item that holds the reference, such as "instance `clinic`".
        from: String,
        /// Kind of the missing item: `tenant`, `tool` or `agent`.
        kind: &'static str,
        /// The missing item's id.
        id: String,
    },
    /// The instance uses an agent of another tenant.
    #[error("instance `{instance}` belongs to tenant `{tenant}`, its agent `{agent}` to another")]
    ForeignAgent {
        /// The instance.
        instance: InstanceId,
        /// The instance's tenant.
        tenant: TenantId,
        /// The agent of another tenant.
        agent: AgentId,
    },
    /// Two instances have the same provider and the same provider's name.
    #[error("instances `{first}` and `{second}` are the same {provider} instance")]
    SameExternal {
        /// The instance that was found first.
        first: InstanceId,
        /// The instance that was found second.
        second: InstanceId,
        /// The provider of both instances.
        provider: Provider,
    },
    /// The credential is a secret that the instance may not use.
    #[error("instance `{instance}`: its credential must be {allowed}")]
    ForeignCredential {
        /// The instance with the wrong credential.
        instance: InstanceId,
        /// Description of the credentials that the instance may use.
        allowed: String,
    },
    /// The credential is a variable that would belong to two tenants.
    #[error(
        "instance `{instance}`: two tenants' ids are alike in capitals, so its credential cannot be a variable of one of them"
    )]
    SharedVariable {
        /// The instance with this credential.
        instance: InstanceId,
    },
    /// The base URL is one to which nothing may be sent.
    #[error("instance `{instance}`: base_url {why}")]
    BaseUrl {
        /// The instance with the wrong base URL.
        instance: InstanceId,
        /// Explanation of the problem.
        why: &'static str,
    },
    /// A token of a tenant names a URL that is not https to a public host.
    #[error(
        "{0} must be https to a public host, unless RECADO_PRIVATE_TOOLS allows others: a token of the tenant names it"
    )]
    NamedUrl(String),
    /// A token of a tenant names a mail server that is no public host.
    #[error(
        "{0} must be a public host, unless RECADO_PRIVATE_MAIL_SERVERS allows others: a token of the tenant names it"
    )]
    NamedMailServer(String),
    /// Events would never be posted to the URL of a webhook endpoint.
    #[error(
        "{0} must be https to a public host: nothing is posted to this machine or a private network unless RECADO_PRIVATE_TOOLS is true"
    )]
    EndpointUrl(String),
    /// The installation's own key would be sent to a host that is not the installation's.
    #[error(
        "instance `{instance}`: its base_url is not the installation's own ({setting}), so the installation's key is not sent \
         there: it needs a `credential` of its own, {allowed}"
    )]
    KeyForForeignHost {
        /// The instance with this base URL.
        instance: InstanceId,
        /// The setting that holds the installation's own base URL.
        setting: &'static str,
        /// Description of the credentials that the instance may use.
        allowed: String,
    },
    /// The rules for deliveries or a sender of e-mails cannot be used.
    #[error("{of}: {why}")]
    Delivery {
        /// The tenant, or the sender.
        of: String,
        /// The reason.
        why: String,
    },
    /// An endpoint to which events are posted cannot be used.
    #[error("webhook endpoint `{endpoint}` of tenant `{tenant}`: {why}")]
    WebhookEndpoint {
        /// The tenant.
        tenant: TenantId,
        /// The endpoint.
        endpoint: WebhookEndpointId,
        /// The reason.
        why: WebhookEndpointError,
    },
    /// A token of one tenant would change another.
    #[error("{of}: this token configures tenant `{tenant}` alone")]
    OtherTenant {
        /// The item of another tenant.
        of: String,
        /// The token's tenant.
        tenant: TenantId,
    },
    /// A tenant adds an item whose id is not its own to give.
    #[error(
        "{of}: a tenant gives new calendars, tools, agents and instances ids that nobody has and that begin with `{tenant}-`"
    )]
    ForeignId {
        /// The item with the id.
        of: String,
        /// The tenant.
        tenant: TenantId,
    },
    /// A tenant sets up an instance with a provider's name that it cannot use.
    #[error("instance `{instance}`: this name at the provider cannot be used")]
    UnusableExternal {
        /// The instance.
        instance: InstanceId,
    },
    /// A tenant sets up an instance that would use the installation's own key.
    #[error(
        "instance `{instance}`: a tenant that sets an instance up must name a `credential` of its own, {allowed}"
    )]
    CredentialNeeded {
        /// The instance.
        instance: InstanceId,
        /// Description of the credentials that the instance may use.
        allowed: String,
    },
    /// A tenant names or changes the account of an instance.
    #[error("instance `{instance}`: account_id can be changed with a token of the installation alone")]
    AccountByTenant {
        /// The instance.
        instance: InstanceId,
    },
    /// A tenant changes what limits it.
    #[error("tenant `{tenant}`: {limit} can be changed with a token of the installation alone")]
    LimitByTenant {
        /// The tenant.
        tenant: TenantId,
        /// The field of the tenant's entry.
        limit: &'static str,
    },
    /// An instance with conversations or dead letters would be given to another tenant.
    #[error(
        "instance `{instance}` has a history, so it stays with tenant `{tenant}`; configure a new instance"
    )]
    TenantChange {
        /// The instance.
        instance: InstanceId,
        /// The tenant that the instance has.
        tenant: TenantId,
    },
    /// The document names a tenant that is being removed, or what belongs to it.
    #[error("tenant `{tenant}` is being removed: nothing of it can be changed")]
    TenantBeingRemoved {
        /// The tenant.
        tenant: TenantId,
    },
    /// The opening hours cannot be meant as they are written.
    #[error("instance `{instance}`: opening_hours: {why}")]
    OpeningHours {
        /// The instance with these hours.
        instance: InstanceId,
        /// The problem.
        why: HoursError,
    },
    /// The access lists of a document hold more than one change may write.
    #[error(
        "the access lists of this document hold {bytes} bytes together; apply at most {max} at once, in several documents"
    )]
    AccessListsTooLong {
        /// The length of all entries.
        bytes: usize,
        /// The largest length that is allowed.
        max: usize,
    },
    /// The steps of an agent's script cannot be followed.
    #[error("agent `{agent}`: {why}")]
    AgentSteps {
        /// The agent with these steps.
        agent: AgentId,
        /// The problem.
        why: StepsError,
    },
    /// A calendar is not valid.
    #[error("calendar `{calendar}`: {why}")]
    Calendar {
        /// The calendar.
        calendar: CalendarId,
        /// The problem.
        why: CalendarConfigError,
    },
    /// A tool is not valid.
    #[error("tool `{tool}`: {why}")]
    Tool {
        /// The tool.
        tool: ToolId,
        /// The problem.
        why: ToolError,
    },
    /// A value is outside its range, empty or reserved.
    #[error("{of}: {what}")]
    InvalidValue {
        /// The item with the invalid value, such as "agent `front`".
        of: String,
        /// Explanation of the problem, with the allowed range.
        what: &'static str,
    },
}
