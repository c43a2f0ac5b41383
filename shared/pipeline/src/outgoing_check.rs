//! What a client wants to be said: checked against what the provider can do, with ids of ours made the provider's.

use crate::ports::{Conversations, Deliveries, PortError, PortResult, Providers, ScheduledMessages};
use crate::{Deps, upload};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::context::{MessageContext, QuotedMessage};
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::{MessageId, ThreadId};
use recado_domain::message::{Message, Role};
use recado_domain::options::SendOptions;
use recado_domain::outgoing::{OutgoingError, is_private_url};
use recado_domain::scheduled::{ScheduledId, ScheduledState};

/// Why it cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSendable {
    /// It cannot be sent by anybody.
    #[error(transparent)]
    Content(#[from] OutgoingError),
    /// The instance's provider cannot send it.
    #[error("the instance's provider cannot send this: {0}")]
    Provider(&'static str),
    /// It names a message that this contact has no part in, or that does not exist.
    #[error("`{0}` names no message with this contact")]
    NoSuchMessage(&'static str),
    /// It names a message that is still on its way.
    #[error("`{0}` names a message that has not been sent yet")]
    NotYetSent(&'static str),
    /// Its file lies in a private network.
    #[error(
        "source leads to this machine or into a private network, which RECADO_PRIVATE_MEDIA would have to allow"
    )]
    PrivateSource,
    /// There is no such upload, or there is none any more.
    #[error("there is no such upload on this instance")]
    NoSuchUpload,
    /// The upload will be gone by then.
    #[error("the upload is kept for a day, and the message is to be sent later than that")]
    UploadTooOld,
}

/// Why it was not made ready.
#[derive(Debug)]
pub(crate) enum OutgoingContentError {
    /// It cannot be sent.
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

/// What is to be said, ready to be stored.
#[derive(Debug, Clone)]
pub(crate) struct PreparedContent {
    pub(crate) content: Content,
    pub(crate) options: SendOptions,
    /// What people and the model read around it.
    pub(crate) context: MessageContext,
}

/// Whether making it ready asks the store: then a repeat is looked for first, since what it named may be gone by now.
pub(crate) fn needs_store_lookups(content: &Content, options: &SendOptions) -> bool {
    options.reply_to.is_some() || matches!(content, Content::Reaction { .. } | Content::Media(_))
}

/// The request in words that tell it from every other, for its idempotency key. A plain text is itself, as it was before
/// there was more.
pub(crate) fn request_fingerprint(content: &Content, options: &SendOptions) -> PortResult<Vec<String>> {
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

/// Makes ready what goes to the contact of `thread`, at `later` if not now.
pub(crate) async fn prepare_content<W: Deps>(
    deps: &W,
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
        Some(None) => return Err(NotSendable::NoSuchUpload.into()),
        Some(Some(kept)) if later.is_some_and(|at| at > kept.kept_until()) => {
            return Err(NotSendable::UploadTooOld.into());
        }
        Some(Some(_)) | None => {}
    }
    let mut around = MessageContext::default();
    if let Some(id) = options.reply_to.take() {
        let found = find_referenced_message(deps, bound, thread, &id, "reply_to").await?;
        around.reply_to = Some(QuotedMessage {
            id: Some(found.id.clone()),
            text: found.text,
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
    }
    Ok(PreparedContent {
        content,
        options,
        context: around,
    })
}

/// A message that another is about.
struct ReferencedMessage {
    /// The provider's id.
    id: String,
    /// We wrote it.
    own: bool,
    /// What it says, where we know it.
    text: Option<String>,
}

/// By our id or by the provider's. The latter may be of a message that we have never seen: the provider knows.
async fn find_referenced_message<W: Deps>(
    deps: &W,
    bound: &InstanceConfig,
    thread: &ThreadId,
    id: &str,
    field: &'static str,
) -> Result<ReferencedMessage, OutgoingContentError> {
    if let Some(ours) = resolve_own_id(deps, id, field).await? {
        let message = deps.store().find_message(&ours).await?;
        let here = |message: &Message| message.conversation.thread_id() == thread;
        let message = message.filter(here).ok_or(NotSendable::NoSuchMessage(field))?;
        let text = message.content.render_text();
        return match message.provider_message_id {
            Some(id) => Ok(ReferencedMessage {
                id,
                own: message.role != Role::User,
                text: Some(text),
            }),
            None => Err(NotSendable::NotYetSent(field).into()),
        };
    }
    let own = match bound.instance.resolve_external_id() {
        Some(external) => {
            let key = DeliveryKey::from_provider_id(bound.instance.provider, &external, id);
            let known = deps.store().find_delivery(&key).await?;
            known.is_some_and(|delivery| delivery.message.is_some())
        }
        None => false,
    };
    Ok(ReferencedMessage {
        id: id.to_owned(),
        own,
        text: None,
    })
}

/// The id of ours that `text` is, if it looks like one; that of a scheduled message is the one that it became.
async fn resolve_own_id<W: Deps>(
    deps: &W,
    text: &str,
    field: &'static str,
) -> Result<Option<MessageId>, OutgoingContentError> {
    if let Ok(id) = ScheduledId::parse(text) {
        let scheduled = deps.store().find_scheduled(&id).await?;
        let scheduled = scheduled.ok_or(NotSendable::NoSuchMessage(field))?;
        return match scheduled.state {
            ScheduledState::Became { message, .. } => Ok(Some(message)),
            _ => Err(NotSendable::NotYetSent(field).into()),
        };
    }
    let ours = MessageId::parse(text).ok();
    Ok(ours.filter(|id| id.conversation_and_ordinal().is_ok()))
}
