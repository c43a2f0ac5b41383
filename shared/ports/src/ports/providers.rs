use super::files::{FetchedFile, FileError, FileRequest};
use super::history::{HistoryError, HistoryPage, HistorySpan};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{ConfigError, CredentialRef, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::event::InboundJob;
use recado_domain::ids::MessageId;
use recado_domain::inbound::InboundEvent;
use recado_domain::instance::SeenStanding;
use recado_domain::message::ModelKind;
use recado_domain::options::SendOptions;
use recado_domain::outbox::HeldStatus;
use recado_domain::provider::{Provider, ProviderCapabilities};
use recado_domain::reason::Reason;
use serde_json::Value;
use std::time::Duration;

/// A message that is to be sent through a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingMessage {
    /// Recado's id of the message, which the provider echoes where it can.
    pub id: MessageId,
    /// Address of the recipient.
    pub to: ContactAddress,
    /// Content of the message. The bytes of an upload stand in it as a `data:` URL.
    pub content: Content,
    /// Options of the send.
    pub options: SendOptions,
    /// Number of the attempt, from 1. A provider may ask for a longer wait after each attempt.
    pub attempt: u32,
    /// The kind of model that wrote the message; `None` if no model wrote it. A simulated model's words go to no real
    /// provider, and a real model's not to the simulated one.
    pub model: Option<ModelKind>,
}

/// The key or token with which an instance sends, as far as it can be told without asking the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialState {
    /// The key is there.
    Present,
    /// The key is missing, and the instance is simulated.
    Simulated,
    /// The key cannot be used, for this reason: the instance's messages wait.
    Missing(String),
    /// The key could not be read.
    Unclear,
}

/// The result of a send. The `why` texts contain codes and titles, never personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The provider accepted the message.
    Accepted {
        /// Provider's id of the message.
        provider_message_id: Option<String>,
        /// `true` if the simulated provider accepted the message.
        simulated: bool,
        /// Why the provider holds the message back; `None` if it does not.
        held: Option<HeldStatus>,
    },
    /// The instance has lost its connection to WhatsApp; nothing was sent.
    Disconnected {
        /// Answer of the provider.
        why: String,
    },
    /// The provider was not reached, or the credential could not be read; nothing was sent.
    Unreached {
        /// Description of the failure.
        why: String,
    },
    /// The send failed in a way that may pass; nothing was sent.
    Retryable {
        /// Answer of the provider.
        why: String,
        /// Wait that the provider asks for, if it does.
        after: Option<Duration>,
    },
    /// The request was sent, and its outcome is not known.
    Unknown {
        /// Description of the failure.
        why: String,
        /// `true` if the provider did not answer in time.
        timed_out: bool,
    },
    /// The provider will never accept the message.
    Permanent {
        /// Reason in Recado's own terms.
        reason: Reason,
        /// Answer of the provider.
        why: String,
    },
    /// The provider refused the message for good, and nothing says that it refuses this message or this recipient alone.
    Refused {
        /// Answer of the provider.
        why: String,
        /// `true` if the provider said that it refuses every request. Then the message is kept.
        everything: bool,
    },
    /// WhatsApp refused a first message for good: the number may begin no chats now, or the contact does not take them. A person
    /// who wrote before gets messages as usual.
    NewChatRefused {
        /// Answer of the provider.
        why: String,
    },
    /// The provider's key or token is missing or was refused.
    Credentials {
        /// Answer of the provider.
        why: String,
    },
}

/// The provider's answer about its connection to WhatsApp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionAnswer {
    /// The connection is open. For a provider that has no connection state: the provider answers.
    Open,
    /// The connection is closed.
    Closed,
    /// The provider's key or token is missing or was refused.
    NeedsCredentials,
    /// The provider refuses every request until a person changes something there; the text is the reason.
    Refused(String),
    /// The provider did not answer, or only with an error of its server that concerns every request.
    Unreachable,
    /// The provider could not be asked, or its connection is changing (`connecting`): the stored state stays.
    Unclear,
}

/// The provider's answer about a message template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateAnswer {
    /// The template can be sent with these values.
    Usable,
    /// The template exists and is not approved, or not any more; the text names its state.
    NotApproved(String),
    /// There is no such template, or it takes other values; the text is the reason.
    Unfit(String),
    /// The provider could not be asked, or does not tell.
    Unclear,
}

/// The provider's answer about a contact's picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureAnswer {
    /// The picture has this URL.
    Url(String),
    /// The contact shows no picture.
    None,
    /// The provider could not be asked, or does not tell.
    Unclear,
}

/// A message that the provider accepted for a number, and of which WhatsApp told nothing.
#[derive(Debug, Clone, Copy)]
pub struct UnacknowledgedSend<'a> {
    /// The number that it was sent to.
    pub to: &'a ContactAddress,
    /// Provider's id of the message.
    pub provider_message_id: &'a str,
    /// The recipient's linked identity, if it is known already.
    pub known_as: Option<&'a ContactAddress>,
}

/// The evidence about a send whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEvidence {
    /// The message was sent.
    Sent {
        /// Provider's id of the message.
        provider_message_id: Option<String>,
    },
    /// No evidence was found.
    None,
    /// The provider could not be asked.
    Unclear,
}

/// The providers, as the use cases see them.
#[async_trait]
pub trait Providers: Send + Sync {
    /// Returns a provider's capabilities.
    fn capabilities(&self, provider: Provider) -> ProviderCapabilities {
        provider.capabilities()
    }

    /// Returns the instance as it is stored, with the name that its provider's webhooks use for it. Returns an error if
    /// the instance names a secret or a host that it may not use.
    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError>;

    /// Reads an event's body. Never fails: a body that cannot be read becomes `Ignored` or `Unsupported`.
    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent;

    /// Returns why this provider can never send `content`, in words for the client. `None`: it can be sent, perhaps in
    /// another form.
    fn explain_refusal(&self, provider: Provider, content: &Content) -> Option<&'static str>;

    /// Returns `true` if the instance is simulated: its replies are the simulated model's, and its messages go to the
    /// simulated provider.
    async fn is_simulated(&self, _instance: &Instance) -> bool {
        false
    }

    /// Returns `true` if a question is sent to the instance's contacts as numbered text. A provider may have no menus, or none
    /// that is large enough.
    fn sends_as_text(&self, _instance: &Instance, _question: &Content) -> bool {
        true
    }

    /// Looks for the instance's key or token, without asking the provider.
    async fn check_credential(&self, _instance: &Instance) -> CredentialState {
        CredentialState::Present
    }

    /// Looks for the secret that another entry of the configuration names, such as a calendar.
    async fn check_secret(&self, _reference: &CredentialRef) -> CredentialState {
        CredentialState::Present
    }

    /// Sends a message, in at most the provider's time-out.
    async fn send_message(&self, bound: &InstanceConfig, message: &OutgoingMessage) -> SendOutcome;

    /// Asks the provider for the state of its connection.
    async fn query_connection(&self, bound: &InstanceConfig) -> ConnectionAnswer;

    /// Asks the provider how WhatsApp judges the number. `None`: the provider could not be asked, or does not tell.
    async fn query_standing(&self, _bound: &InstanceConfig) -> Option<SeenStanding> {
        None
    }

    /// Asks the provider if a template exists, is approved and takes these values. The answer may be one of the last
    /// `age_max`; one with which no message is sent is never older than a minute.
    async fn check_template(
        &self,
        _bound: &InstanceConfig,
        _template: &MessageTemplate,
        _age_max: SignedDuration,
    ) -> TemplateAnswer {
        TemplateAnswer::Unclear
    }

    /// Looks for evidence that `message`, claimed at `claimed_at`, was sent. The search covers the contact's chat under
    /// the recipient's address and under the contact's other addresses, `also`.
    async fn find_send_evidence(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> SendEvidence;

    /// Marks messages of the contact as read, the oldest first. The provider does what it can; failures are not reported.
    async fn mark_messages_read(
        &self,
        bound: &InstanceConfig,
        address: &ContactAddress,
        provider_message_ids: &[String],
    );

    /// Shows the contact, who wrote the message of this id last, that an answer is being typed. That lasts for
    /// [`ProviderCapabilities::typing_lasts`] after the call began, or ends with a message. A request may take as long; the
    /// caller may cancel it when there is nothing more to type. Failures are not reported.
    async fn show_typing(&self, bound: &InstanceConfig, address: &ContactAddress, provider_message_id: &str);

    /// Fetches the file of a message of this instance, within the bounds of the request. The bytes may come with an error
    /// at their end.
    async fn fetch_file(
        &self,
        _bound: &InstanceConfig,
        _file: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        Err(FileError::Unavailable {
            why: "it has no files",
        })
    }

    /// Asks the provider for the content that it has stored of a message, by the provider's id of the message. `None`: it has none,
    /// cannot be asked, or tells none.
    async fn fetch_stored_content(
        &self,
        _bound: &InstanceConfig,
        _provider_message_id: &str,
    ) -> Option<Content> {
        None
    }

    /// Asks the provider for the linked identity of the recipient of a message that is not acknowledged. `None`: as far as the provider
    /// knows the message is acknowledged or has failed, it has not stored the message, knows no identity, or cannot be asked.
    async fn find_unacknowledged_identity(
        &self,
        _bound: &InstanceConfig,
        _send: UnacknowledgedSend<'_>,
    ) -> Option<ContactAddress> {
        None
    }

    /// Asks the provider for the picture that a contact shows.
    async fn fetch_picture(&self, _bound: &InstanceConfig, _address: &ContactAddress) -> PictureAnswer {
        PictureAnswer::Unclear
    }

    /// Reads one page (the first is 1) of the provider's history in `span`. Messages that came in since an earlier page
    /// was read may have shifted messages to pages that were already read: then `total` has grown.
    async fn read_history_page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> Result<HistoryPage, HistoryError>;
}
