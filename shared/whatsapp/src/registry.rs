//! The only `match` over the providers on the message path. The code for each provider is in its own folder.

use crate::aws_social::{AllowedTopics, AwsSocialEndpoint};
use crate::config::ProviderConfig;
use crate::dialog360::Dialog360Endpoint;
use crate::evolution::EvolutionEndpoint;
use crate::meta::MetaEndpoint;
use crate::webhook::{NamedKey, RequiredKeys, SimulatedInbound, WebhookHandler, WebhookKeys, WebhookSetup};
use crate::wire::content_support::ContentSupport;
use crate::wire::file_download::DownloadClients;
use crate::wire::json::WebhookParseError;
use crate::wire::template_lookup::TemplateLookup;
use crate::{aws_social, dialog360, evolution, meta};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::event::InboundJob;
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{InboundEvent, WebhookItem};
use recado_domain::instance::SeenStanding;
use recado_domain::outgoing::OutgoingKind;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_ports::ports::{
    ConnectionAnswer, FetchedFile, FileError, FileRequest, HistoryError, HistoryPage, HistorySpan,
    OutgoingMessage, PictureAnswer, SendEvidence, SendOutcome, UnacknowledgedSend,
};
use serde_json::Value;
use std::time::Duration;

/// Returns the handler of a provider's webhooks; `None` if its events come through a queue.
pub fn webhook_handler(provider: Provider) -> Option<&'static dyn WebhookHandler> {
    match provider {
        Provider::Evolution => Some(&evolution::webhook::EvolutionWebhook),
        Provider::Meta => Some(&meta::webhook::MetaWebhook),
        Provider::Dialog360 => Some(&dialog360::webhook::Dialog360Webhook),
        Provider::AwsSocial => None,
    }
}

/// Lists the handlers of all webhooks.
pub fn webhook_handlers() -> impl Iterator<Item = (Provider, &'static dyn WebhookHandler)> {
    Provider::ALL
        .into_iter()
        .filter_map(|provider| Some((provider, webhook_handler(provider)?)))
}

/// Returns the keys that prove the webhooks of `provider`.
pub fn required_keys(provider: Provider) -> RequiredKeys {
    webhook_handler(provider).map_or(RequiredKeys::NOTHING, WebhookHandler::required_keys)
}

/// Lists the named secrets that prove webhooks, of all providers.
pub fn list_named_keys() -> impl Iterator<Item = &'static NamedKey> {
    webhook_handlers().flat_map(|(_, handler)| handler.required_keys().named)
}

/// Describes the webhook setup of `instance` at its provider, with the `keys` of that provider. `base` is the URL under
/// which providers reach this installation, without a slash at its end. Without `with_secret` the result contains no
/// secret, not even in the URL.
pub fn describe_webhook_setup(
    instance: &Instance,
    keys: &WebhookKeys,
    base: &str,
    with_secret: bool,
) -> WebhookSetup {
    webhook_handler(instance.provider).map_or(WebhookSetup::NOTHING, |handler| {
        handler.describe_webhook_setup(instance, keys, base, with_secret)
    })
}

/// Writes the webhook that `provider` would post for a message to its instance `external`. Returns `None` if the provider's
/// events do not come as webhooks.
pub fn write_simulated_webhook(
    provider: Provider,
    external: &ExternalId,
    message: &SimulatedInbound<'_>,
) -> Option<Value> {
    Some(webhook_handler(provider)?.write_simulated_webhook(external, message))
}

/// Splits a webhook body into items, in order. `received_at` is used as the time of a status that has none. For
/// 360dialog's number in the URL use [`dialog360::split_webhook`]; for the allowed topics of AWS's events use
/// [`aws_social::split_queue_message`].
pub fn split_webhook(
    provider: Provider,
    body: &[u8],
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, WebhookParseError> {
    match provider {
        Provider::Evolution => evolution::split_webhook(body, received_at),
        Provider::Meta => meta::split_webhook(body, None, received_at),
        Provider::Dialog360 => dialog360::split_webhook(body, None, received_at),
        Provider::AwsSocial => aws_social::split_queue_message(body, &AllowedTopics::default(), received_at),
    }
}

/// Interprets the payload of an event that [`split_webhook`] built. Never fails: unreadable content becomes `Ignored` or
/// `Unsupported`.
pub fn interpret_event(job: &InboundJob, payload: &Value) -> InboundEvent {
    match job.provider {
        Provider::Evolution => evolution::interpret_event(job, payload),
        Provider::Meta | Provider::Dialog360 | Provider::AwsSocial => meta::interpret_payload(job, payload),
    }
}

/// Returns the support of `provider` for `kind`.
pub(crate) fn content_support(provider: Provider, kind: OutgoingKind) -> ContentSupport {
    match provider {
        Provider::Evolution => evolution::content_support(kind),
        // All three accept Meta's bodies.
        Provider::Meta | Provider::Dialog360 | Provider::AwsSocial => meta::content_support(kind),
    }
}

/// Returns the reason why `provider` can never send this content, in words for the caller. `None` if it can be sent, as
/// the same kind or as another.
pub fn explain_refusal(provider: Provider, content: &Content) -> Option<&'static str> {
    let Some(kind) = content.outgoing_kind() else {
        return Some("it only comes in");
    };
    match content_support(provider, kind) {
        ContentSupport::Refused(why) => Some(why),
        ContentSupport::Native(_) | ContentSupport::Degraded(_) => None,
    }
}

/// Returns `true` if the instance sends a question as numbered text.
pub fn is_sent_as_text(instance: &Instance, question: &Content) -> bool {
    match instance.provider {
        Provider::Evolution => {
            let dialect = evolution::Dialect {
                version: instance.api_version,
                native_menus: instance.native_menus,
            };
            evolution::is_sent_as_text(dialect, question)
        }
        Provider::Meta | Provider::Dialog360 | Provider::AwsSocial => meta::is_sent_as_text(question),
    }
}

/// Returns the environment variable of the installation's key or token. `None` for AWS, whose SDK finds AWS's own
/// credentials.
pub(crate) fn credential_variable(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Evolution => Some("EVOLUTION_API_KEY"),
        Provider::Meta => Some("META_ACCESS_TOKEN"),
        Provider::Dialog360 => Some("D360_API_KEY"),
        Provider::AwsSocial => None,
    }
}

/// Returns the environment variable of the installation's base URL; `None` for AWS.
pub(crate) fn base_url_variable(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Evolution => Some("EVOLUTION_API_URL"),
        Provider::Meta => Some("META_BASE_URL"),
        Provider::Dialog360 => Some("D360_BASE_URL"),
        Provider::AwsSocial => None,
    }
}

/// Returns the installation's base URL; `None` if it has none for this provider.
pub(crate) fn base_url(provider: Provider, config: &ProviderConfig) -> Option<&str> {
    match provider {
        Provider::Evolution => config.evolution_base_url.as_deref(),
        Provider::Meta => Some(&config.meta_base_url),
        Provider::Dialog360 => Some(&config.dialog360_base_url),
        Provider::AwsSocial => None,
    }
}

/// Returns the provider's name of an instance as its webhooks write it.
pub(crate) fn normalize_external_id(provider: Provider, id: ExternalId) -> ExternalId {
    match provider {
        Provider::AwsSocial => {
            ExternalId::parse(aws_social::parse_phone_number_id(id.as_str())).unwrap_or(id)
        }
        Provider::Evolution | Provider::Meta | Provider::Dialog360 => id,
    }
}

/// An instance at its provider, with all that a request to it needs.
pub(crate) enum ProviderEndpoint<'a> {
    Evolution(EvolutionEndpoint<'a>),
    Meta(MetaEndpoint<'a>),
    Dialog360(Dialog360Endpoint<'a>),
    AwsSocial(AwsSocialEndpoint<'a>),
}

impl<'a> ProviderEndpoint<'a> {
    /// Creates the endpoint of an instance, whose name at the provider is `external`. The error names the missing
    /// setting.
    pub(crate) fn for_instance(
        http: &'a reqwest::Client,
        config: &'a ProviderConfig,
        instance: &'a Instance,
        external: &'a ExternalId,
        secret: Option<&'a Secret>,
        timeout: Duration,
    ) -> Result<Self, &'static str> {
        let own = instance.base_url.as_deref();
        let base = own.or_else(|| base_url(instance.provider, config));
        let base = base.ok_or("no base URL of Evolution is configured (EVOLUTION_API_URL)");
        let key = secret.ok_or("no credential");
        Ok(match instance.provider {
            Provider::Evolution => Self::Evolution(EvolutionEndpoint {
                http,
                base: base?,
                key: key?,
                instance: external,
                version: instance.api_version,
                native_menus: instance.native_menus,
                timeout,
            }),
            Provider::Meta => Self::Meta(MetaEndpoint {
                http,
                base: base?,
                version: &config.meta_api_version,
                token: key?,
                phone_number_id: external,
                timeout,
            }),
            Provider::Dialog360 => Self::Dialog360(Dialog360Endpoint {
                http,
                base: base?,
                key: key?,
                timeout,
            }),
            Provider::AwsSocial => Self::AwsSocial(AwsSocialEndpoint {
                client: config.aws_social.as_ref().ok_or(aws_social::NO_CLIENT)?,
                number: external,
                version: &config.aws_social_api_version,
                timeout,
            }),
        })
    }

    pub(crate) async fn send_message(&self, message: &OutgoingMessage) -> SendOutcome {
        match self {
            Self::Evolution(at) => evolution::send_message(at, message).await,
            Self::Meta(at) => meta::send_message(at, message).await,
            Self::Dialog360(at) => meta::send_message(at, message).await,
            Self::AwsSocial(at) => aws_social::send_message(at, message).await,
        }
    }

    pub(crate) async fn query_connection(&self) -> ConnectionAnswer {
        match self {
            Self::Evolution(at) => evolution::check_connection(at).await,
            Self::Meta(at) => meta::fetch_connection(at).await,
            Self::Dialog360(at) => dialog360::fetch_connection(at).await,
            Self::AwsSocial(at) => aws_social::fetch_connection(at.client, at.timeout).await,
        }
    }

    /// Asks how WhatsApp judges the number; `None` if the provider does not tell.
    pub(crate) async fn query_standing(&self) -> Option<SeenStanding> {
        match self {
            Self::Meta(at) => meta::fetch_standing(at).await,
            Self::Evolution(_) | Self::Dialog360(_) | Self::AwsSocial(_) => None,
        }
    }

    /// Reads a template of the number's account, whose id at the provider is `account`.
    pub(crate) async fn fetch_template(
        &self,
        account: Option<&str>,
        wanted: &MessageTemplate,
    ) -> TemplateLookup {
        match self {
            Self::Meta(at) => meta::templates::fetch_template(at, account, wanted).await,
            Self::Dialog360(at) => dialog360::fetch_template(at, wanted).await,
            Self::AwsSocial(at) => aws_social::fetch_template(at, wanted).await,
            // Evolution sends no templates.
            Self::Evolution(_) => TemplateLookup::Unclear,
        }
    }

    pub(crate) async fn find_send_evidence(
        self,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> SendEvidence {
        match self {
            Self::Evolution(at) => evolution::find_send_evidence(at, message, also, claimed_at).await,
            // Meta cannot be asked. Meta sends Recado's message id back in statuses, and the pipeline looks for these in
            // the record.
            Self::Meta(_) | Self::Dialog360(_) | Self::AwsSocial(_) => SendEvidence::None,
        }
    }

    /// Marks messages as read, the oldest first. Meta's mark of the newest one covers all before it.
    pub(crate) async fn mark_messages_read(self, ids: &[String], chat: &ContactAddress) {
        let Some(newest) = ids.last() else { return };
        match self {
            Self::Evolution(at) => evolution::mark_messages_read(&at, ids, chat).await,
            Self::Meta(at) => meta::mark_read(&at, newest, false).await,
            Self::Dialog360(at) => meta::mark_read(&at, newest, false).await,
            // AWS does not document read marks for its call.
            Self::AwsSocial(_) => {}
        }
    }

    /// Shows "typing…" to the contact, who wrote the message `id` last.
    pub(crate) async fn show_typing(self, id: &str, chat: &ContactAddress) {
        match self {
            Self::Evolution(at) => evolution::show_typing(at, chat).await,
            Self::Meta(at) => meta::mark_read(&at, id, true).await,
            Self::Dialog360(at) => meta::mark_read(&at, id, true).await,
            // AWS does not document it for its call.
            Self::AwsSocial(_) => {}
        }
    }

    pub(crate) async fn fetch_file(
        &self,
        clients: DownloadClients<'_>,
        file: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        match self {
            Self::Evolution(at) => evolution::fetch_file(at, clients, file).await,
            Self::Meta(at) => meta::media::fetch_file(at, file).await,
            Self::Dialog360(at) => dialog360::fetch_file(at, file).await,
            Self::AwsSocial(at) => aws_social::fetch_file(at, file).await,
        }
    }

    /// Asks for a contact's picture. Only Evolution tells it.
    pub(crate) async fn fetch_picture(&self, contact: &ContactAddress) -> PictureAnswer {
        match self {
            Self::Evolution(at) => evolution::fetch_picture(at, contact).await,
            Self::Meta(_) | Self::Dialog360(_) | Self::AwsSocial(_) => PictureAnswer::Unclear,
        }
    }

    /// Asks for what is stored of a message. Only Evolution stores messages.
    pub(crate) async fn fetch_stored_content(&self, id: &str) -> Option<Content> {
        match self {
            Self::Evolution(at) => evolution::fetch_stored_content(at, id).await,
            Self::Meta(_) | Self::Dialog360(_) | Self::AwsSocial(_) => None,
        }
    }

    /// Asks for the linked identity of the recipient of a message that is not acknowledged. Only Evolution accepts a message before WhatsApp
    /// does.
    pub(crate) async fn find_unacknowledged_identity(
        &self,
        send: UnacknowledgedSend<'_>,
    ) -> Option<ContactAddress> {
        match self {
            Self::Evolution(at) => evolution::find_unacknowledged_identity(at, send).await,
            Self::Meta(_) | Self::Dialog360(_) | Self::AwsSocial(_) => None,
        }
    }

    pub(crate) async fn read_history_page(
        &self,
        span: HistorySpan,
        page: u32,
        now: Timestamp,
    ) -> Result<HistoryPage, HistoryError> {
        match self {
            Self::Evolution(at) => evolution::read_history_page(at, span, page, now).await,
            // Meta repeats webhooks for seven days. Afterwards it has no history that could be read.
            Self::Meta(_) | Self::Dialog360(_) | Self::AwsSocial(_) => Err(HistoryError::NotOffered),
        }
    }
}
