use super::history::{HistoryError, HistoryPage, HistorySpan};
use jiff::Timestamp;
use recado_domain::config::{ConfigError, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::event::InboundJob;
use recado_domain::ids::MessageId;
use recado_domain::inbound::InboundEvent;
use recado_domain::options::SendOptions;
use recado_domain::provider::{Provider, ProviderCapabilities};
use recado_domain::reason::Reason;
use serde_json::Value;
use std::future::Future;
use std::time::Duration;

/// A message to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingMessage {
    /// Our id, which the provider echoes where it can.
    pub id: MessageId,
    /// To whom.
    pub to: ContactAddress,
    /// What. An upload's bytes stand in it as a `data:` URL.
    pub content: Content,
    /// How.
    pub options: SendOptions,
    /// Which attempt it is, from 1: a provider may ask for a longer wait after each.
    pub attempt: u32,
}

/// What became of a send. The `why`s hold codes and titles, never personal data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The provider has it.
    Accepted {
        /// Its id there.
        provider_message_id: Option<String>,
        /// The simulated provider took it.
        simulated: bool,
    },
    /// The instance has lost WhatsApp; nothing left.
    Disconnected {
        /// What it said.
        why: String,
    },
    /// The provider was not reached, or the credential could not be read; nothing left.
    Unreached {
        /// What happened.
        why: String,
    },
    /// It failed in a way that may pass; nothing left.
    Retryable {
        /// What it said.
        why: String,
        /// How long it asks to wait.
        after: Option<Duration>,
    },
    /// The request left, and what became of it is not known.
    Unknown {
        /// What happened.
        why: String,
        /// Whether it was a time-out.
        timed_out: bool,
    },
    /// It will never be accepted.
    Permanent {
        /// Why, in our words.
        reason: Reason,
        /// What it said.
        why: String,
    },
    /// The key or token is missing or was refused.
    Credentials {
        /// What it said.
        why: String,
    },
}

/// What the provider says of its connection to WhatsApp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionAnswer {
    /// It is there. Where the provider has no such notion: the provider answers.
    Open,
    /// It is not.
    Closed,
    /// The key or token is missing or was refused.
    NeedsCredentials,
    /// It could not be asked, or is in between (`connecting`): no change.
    Unclear,
}

/// What is known of a send whose outcome was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEvidence {
    /// It was sent.
    Sent {
        /// Its id at the provider.
        provider_message_id: Option<String>,
    },
    /// Nothing found.
    None,
    /// The provider could not be asked.
    Unclear,
}

/// The providers' edge, as the pipelines see it.
pub trait Providers: Send + Sync {
    /// What the rules ask of a provider. Of one that there is no more (records outlive a build): a linked phone's.
    fn capabilities(&self, provider: Provider) -> ProviderCapabilities;

    /// The instance as it is kept, with the name that its provider's webhooks have for it. An error if there is no such
    /// provider, or if it names a secret or a host that it may not.
    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError>;

    /// Reads an event's body. Never fails: what it cannot read is `Ignored` or `Unsupported`.
    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent;

    /// Why this provider can never send this, in words for who asks; `None` if it can, be it as something else.
    fn explain_refusal(&self, provider: Provider, content: &Content) -> Option<&'static str>;

    /// Sends, in at most the provider's time-out.
    fn send_message(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
    ) -> impl Future<Output = SendOutcome> + Send;

    /// Asks for the connection's state.
    fn query_connection(&self, bound: &InstanceConfig) -> impl Future<Output = ConnectionAnswer> + Send;

    /// Looks for a send of `message` that was claimed at `claimed_at`, in its contact's chat under any of the names: the
    /// recipient, and what the contact is `also` known as.
    fn find_send_evidence(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> impl Future<Output = SendEvidence> + Send;

    /// Shows the contact that its message was read (if the instance marks messages so), and with `typing` that somebody
    /// types, as far as the provider can. Best effort; where somebody is shown to type for as long as the request lasts, it
    /// is given up when there is nothing to be typed any more.
    fn mark_read_and_typing(
        &self,
        bound: &InstanceConfig,
        provider_message_id: &str,
        address: &ContactAddress,
        typing: bool,
    ) -> impl Future<Output = ()> + Send;

    /// Reads a page (the first is 1) of what the provider remembers of `span`. Pages before the one that is asked for may
    /// have been shifted by what came in meanwhile: then `total` has grown.
    fn read_history_page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> impl Future<Output = Result<HistoryPage, HistoryError>> + Send;
}
