//! Checks the content that a client wants to send, and replaces our message ids in it by the provider's.

use crate::Deps;
use crate::steps::message_target::find_target_message;
use crate::steps::upload::{self, FoundUpload};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::context::{MessageContext, QuotedMessage};
use recado_domain::ids::{MessageId, TenantId, ThreadId};
use recado_domain::message::{Message, PreparedContent, Role};
use recado_domain::options::SendOptions;
use recado_domain::outgoing::{OutgoingError, is_private_url};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::scheduled_messages::find_scheduled;

/// The reason for which a message cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSendable {
    /// No provider can send the content.
    #[error(transparent)]
    Content(#[from] OutgoingError),
    /// The instance's provider cannot send the content.
    #[error("the instance's provider cannot send this: {0}")]
    Provider(&'static str),
    /// The instance is disabled.
    #[error("the instance is disabled (`disabled` in its configuration or its tenant's): it sends nothing")]
    InstanceDisabled,
    /// The message that is named does not exist, or is not a message with this contact.
    #[error("`{0}` names no message with this contact")]
    NoSuchMessage(&'static str),
    /// The message that is named has not been sent yet.
    #[error("`{0}` names a message that has not been sent yet")]
    NotYetSent(&'static str),
    /// The source of the file lies on this machine or in a private network.
    #[error(
        "source leads to this machine or into a private network, which RECADO_PRIVATE_MEDIA would have to allow"
    )]
    PrivateSource,
    /// The instance has no such upload, or has it no longer.
    #[error("there is no such upload on this instance")]
    NoSuchUpload,
    /// The upload may be gone by the time at which the message is to be sent.
    #[error("the upload is kept for a day, and the message is to be sent later than that")]
    UploadTooOld,
}

/// The reason for which content was not prepared.
#[derive(Debug)]
pub enum OutgoingContentError {
    /// The message cannot be sent.
    Refused(NotSendable),
    /// A store or queue failed.
    Port(PortError),
}

impl From<PortError> for OutgoingContentError {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

impl<E: Into<NotSendable>> From<E> for OutgoingContentError {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// Returns `true` if preparing the content reads the store. Then a repeated request is looked for first, because a
/// message or upload that it names may be gone by now.
pub fn needs_store_lookups(content: &Content, options: &SendOptions) -> bool {
    options.reply_to.is_some() || matches!(content, Content::Reaction { .. } | Content::Media(_))
}

/// Returns texts that distinguish the request from every other request, for its idempotency key. A plain text stands
/// for itself, as in earlier versions.
pub fn request_fingerprint(content: &Content, options: &SendOptions) -> PortResult<Vec<String>> {
    match content {
        Content::Text { text } if options.is_empty() => Ok(vec![text.clone()]),
        _ => {
            let json = serde_json::to_string(&(content, options));
            let json = json.map_err(|error| PortError::invalid("content", error))?;
            Ok(vec![String::new(), json])
        }
    }
}

fn has_private_source(content: &Content) -> bool {
    match content {
        Content::Media(media) => media.source.as_deref().is_some_and(is_private_url),
        _ => false,
    }
}

/// Checks and prepares content for the contact of `thread`. `later` is the time at which it will be sent, if not now.
pub async fn prepare_content(
    deps: &Deps,
    bound: &InstanceConfig,
    thread: &ThreadId,
    (mut content, mut options): (Content, SendOptions),
    later: Option<Timestamp>,
) -> Result<PreparedContent, OutgoingContentError> {
    content.check_outgoing()?;
    options.check_options()?;
    if !deps.settings().private_media && has_private_source(&content) {
        return Err(NotSendable::PrivateSource.into());
    }
    if let Some(why) = deps
        .providers()
        .explain_refusal(bound.instance.provider, &content)
    {
        return Err(NotSendable::Provider(why).into());
    }
    match upload::find_upload(deps, &bound.instance.id, &content).await? {
        FoundUpload::Missing => return Err(NotSendable::NoSuchUpload.into()),
        FoundUpload::Stored(kept) if later.is_some_and(|at| at > kept.kept_until()) => {
            return Err(NotSendable::UploadTooOld.into());
        }
        FoundUpload::Stored(_) | FoundUpload::NotNamed => {}
    }
    let mut around = MessageContext::default();
    if let Some(id) = options.reply_to.take() {
        let found = find_referenced_message(deps, bound, thread, &id, "reply_to").await?;
        around.reply_to = Some(QuotedMessage {
            id: Some(found.id.clone()),
            text: found.text,
            message: found.message,
        });
        options.reply_to = Some(found.id);
    }
    if let Content::Reaction {
        target: Some(target), ..
    } = &mut content
    {
        let found = find_referenced_message(deps, bound, thread, target, "target").await?;
        *target = found.id;
        options.to_own = found.own;
        around.refers_to = found.message;
    }
    Ok(PreparedContent {
        content,
        options,
        context: around,
    })
}

/// A message to which another message replies or reacts.
struct ReferencedMessage {
    /// Id of the message at the provider.
    id: String,
    /// `true` if we wrote the message, `false` if the contact did.
    own: bool,
    /// Text of the message, where it is known.
    text: Option<String>,
    /// Our id of the message, where it is known.
    message: Option<MessageId>,
}

/// Finds a message by our id or by the provider's id. A provider's id may belong to a message that Recado has never
/// seen: the provider knows it.
async fn find_referenced_message(
    deps: &Deps,
    bound: &InstanceConfig,
    thread: &ThreadId,
    id: &str,
    field: &'static str,
) -> Result<ReferencedMessage, OutgoingContentError> {
    if let Some(ours) = resolve_own_id(deps, &bound.tenant.id, id, field).await? {
        let message = deps.store().find_message(&ours).await?;
        let here = |message: &Message| message.conversation.thread_id() == thread;
        let message = message.filter(here).ok_or(NotSendable::NoSuchMessage(field))?;
        let text = message.content.render_text();
        return match message.provider_message_id {
            Some(id) => Ok(ReferencedMessage {
                id,
                own: message.role != Role::User,
                text: Some(text),
                message: Some(ours),
            }),
            None => Err(NotSendable::NotYetSent(field).into()),
        };
    }
    let found = match bound.instance.resolve_external_id() {
        Some(external) => Box::pin(find_target_message(deps, bound, &external, None, id)).await?,
        None => None,
    };
    Ok(ReferencedMessage {
        id: id.to_owned(),
        own: found.as_ref().is_some_and(|message| message.role != Role::User),
        text: None,
        message: found
            .filter(|message| message.conversation.thread_id() == thread)
            .map(|message| message.message_id()),
    })
}

/// Returns the message id that `text` is, if it looks like an id of ours. For the id of a scheduled message, returns
/// the id of the message that it became.
async fn resolve_own_id(
    deps: &Deps,
    tenant: &TenantId,
    text: &str,
    field: &'static str,
) -> Result<Option<MessageId>, OutgoingContentError> {
    if let Ok(id) = ScheduledId::parse(text) {
        let scheduled = find_scheduled(deps.store(), tenant, &id).await?;
        let scheduled = scheduled.ok_or(NotSendable::NoSuchMessage(field))?;
        return match scheduled.record.state {
            ScheduledState::Became { message, .. } => Ok(Some(message)),
            _ => Err(NotSendable::NotYetSent(field).into()),
        };
    }
    let ours = MessageId::parse(text).ok();
    Ok(ours.filter(|id| id.conversation_and_ordinal().is_ok()))
}
