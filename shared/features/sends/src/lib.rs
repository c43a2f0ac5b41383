//! Accepts messages that clients send by the API, to any recipient, now or later.
//!
//! A message to be sent now gets the next ordinal of the contact's conversation. A message for later is a record of its
//! own until it is due. Neither message answers the contact or takes the conversation over.
//!
//! Its types and rules are in [`recado_domain::scheduled`] and [`recado_domain::outgoing`].

pub mod due_message;
pub mod due_messages;
pub mod outgoing_fields;
#[cfg(feature = "schema")]
pub mod outgoing_schema;
mod scheduling;
pub mod send_problems;
pub mod send_routes;

pub use crate::due_message::release_due_message;
use recado_pipeline::steps::client_message::{
    append_client_message, find_or_start_conversation, note_invitation,
};
use recado_pipeline::steps::enabled_instance::find_instance_within;
use recado_pipeline::steps::idempotency::{IdempotencyClaim, find_claimed, hold_claimed, make_claim};
use recado_pipeline::steps::outgoing_check::{
    NotSendable, OutgoingContentError, needs_store_lookups, prepare_content, request_fingerprint,
};
use recado_pipeline::steps::{identity, linked_threads, wake_up};

pub use crate::scheduling::{cancel_scheduled, find_scheduled};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::ids::{ConversationId, CorrelationId, IdempotencyKey, InstanceId, MessageId, TenantId};
use recado_domain::invitations::ScheduledInvitation;
use recado_domain::message::{MessageStatus, PreparedContent};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_domain::moving::HeldKey;
use recado_domain::options::SendOptions;
use recado_domain::recipient::{RecipientError, parse_recipient};
use recado_domain::scheduled::{NotPending, ScheduledId, ScheduledMessage, ScheduledState};
use recado_pipeline::Deps;
use recado_pipeline::deps::{capabilities, pair_rate};
use recado_ports::ports::{CommitOutcome, PortError, PortResult};
use recado_ports::records::scheduled_messages;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use serde::Serialize;
use std::sync::Arc;

/// Maximum time ahead for which a message may be scheduled: 366 days.
pub const SCHEDULE_AHEAD_MAX: SignedDuration = SignedDuration::from_hours(366 * 24);

/// A client's request to send a message.
#[derive(Debug, Clone)]
pub struct DeliverRequest {
    /// The recipient: a phone number in any notation, or a WhatsApp address.
    pub to: String,
    /// Content of the message.
    pub content: Content,
    /// Options of the send. Message ids in them may be ours or the provider's.
    pub options: SendOptions,
    /// The client's idempotency key. The same request with the same key is one message.
    pub key: Option<IdempotencyKey>,
    /// Metadata that the client keeps with the message.
    pub metadata: Option<Metadata>,
    /// Earliest time to send the message. If absent or in the past, the message is sent now.
    pub send_at: Option<Timestamp>,
    /// Correlation id, which follows the message through every queue, record and log line.
    pub correlation: CorrelationId,
}

/// A message that was accepted for sending.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = AcceptedView))]
pub struct AcceptedMessage {
    /// Id of the message or of the scheduled message.
    pub id: MessageId,
    /// Status of the message.
    pub status: MessageStatus,
    /// Absent until a scheduled message falls due.
    #[serde(rename = "conversation_id")]
    pub conversation: Option<ConversationId>,
    /// Time at which the message is to be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_at: Option<Timestamp>,
    /// `true` if the same request came before.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub repeated: bool,
}

/// The reason for which a message was not accepted or not cancelled.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The message cannot be sent.
    #[error(transparent)]
    NotSendable(#[from] NotSendable),
    /// The recipient is no valid address.
    #[error(transparent)]
    Recipient(#[from] RecipientError),
    /// `send_at` is more than a year ahead.
    #[error("`send_at` must not be more than a year ahead")]
    TooFarAhead,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The scheduled message is no longer pending.
    #[error(transparent)]
    NotPending(#[from] NotPending),
    /// Others kept changing the conversation. The client may try again.
    #[error("the conversation is being changed by others, try again")]
    Busy,
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<OutgoingContentError> for DeliverError {
    fn from(error: OutgoingContentError) -> Self {
        match error {
            OutgoingContentError::Refused(why) => Self::NotSendable(why),
            OutgoingContentError::Port(error) => Self::Port(error),
        }
    }
}

/// A request whose recipient and content were checked.
struct CheckedDelivery {
    bound: Arc<InstanceConfig>,
    to: ContactAddress,
    ready: PreparedContent,
    send: DeliverRequest,
    claim: Option<IdempotencyClaim>,
    invitation: Option<ScheduledInvitation>,
}

/// Accepts a message that a client wants to send on `instance`. The message is stored and its send job enqueued, or the
/// message is scheduled. A repeated request with the same key returns the first request's message.
pub async fn accept_message(
    deps: &Deps,
    caller: &Caller,
    instance: &InstanceId,
    send: DeliverRequest,
) -> Result<AcceptedMessage, DeliverError> {
    accept_for_guest(deps, caller, instance, send, None).await
}

/// Accepts a message. `invitation` is the one that it is, if it is one: the conversation notes its guest.
pub async fn accept_for_guest(
    deps: &Deps,
    caller: &Caller,
    instance: &InstanceId,
    send: DeliverRequest,
    invitation: Option<ScheduledInvitation>,
) -> Result<AcceptedMessage, DeliverError> {
    let bound = find_instance_within(deps, caller, instance).await?;
    let bound = bound.ok_or(DeliverError::NotFound("instance"))?;
    if !bound.is_enabled() {
        return Err(NotSendable::InstanceDisabled.into());
    }
    let to = parse_recipient(capabilities(deps, &bound).address_format, &send.to)?;
    let now = deps.system().now();
    let ahead = send.send_at.filter(|at| *at > now);
    if ahead.is_some_and(|at| at > add_duration(now, SCHEDULE_AHEAD_MAX)) {
        return Err(DeliverError::TooFarAhead);
    }
    let claim = match &send.key {
        // The key of an invitation is its own, so whatever was sent by it is its message.
        Some(key) if invitation.is_some() => {
            let scope = (&bound.tenant.id, instance.to_string());
            Some(make_claim(deps, scope, key, &[], send.send_at).await?)
        }
        Some(key) => Some(make_send_claim(deps, &bound, &to, &send, key).await?),
        None => None,
    };
    let needs_lookups = needs_store_lookups(&send.content, &send.options);
    if needs_lookups && let Some(repeated) = return_repeated_send(deps, claim.as_ref()).await? {
        return Ok(repeated);
    }
    let mut thread = identity::derive_thread_id(deps, instance, to.as_str()).await?;
    if needs_lookups {
        (thread, _) = linked_threads::find_latest_conversation(deps, thread).await?;
    }
    let content = (send.content.clone(), send.options.clone());
    let ready = prepare_content(deps, &bound, &thread, content, ahead).await?;
    let checked = CheckedDelivery {
        bound,
        to,
        ready,
        send,
        claim,
        invitation,
    };
    match ahead {
        Some(at) => scheduling::schedule_message(deps, caller, checked, at).await,
        None => commit_message(deps, caller, checked).await,
    }
}

async fn make_send_claim(
    deps: &Deps,
    bound: &InstanceConfig,
    to: &ContactAddress,
    send: &DeliverRequest,
    key: &IdempotencyKey,
) -> PortResult<IdempotencyClaim> {
    let send_at = send.send_at.map(|at| at.as_millisecond().to_string());
    let metadata = send.metadata.as_ref().map_or("", Metadata::as_str);
    let said = request_fingerprint(&send.content, &send.options)?;
    let (text, more) = said
        .split_first()
        .map_or(("", &[][..]), |(text, more)| (text.as_str(), more));
    let mut parts = vec![
        "send",
        to.as_str(),
        text,
        metadata,
        send_at.as_deref().unwrap_or(""),
    ];
    parts.extend(more.iter().map(String::as_str));
    let scope = (&bound.tenant.id, bound.instance.id.to_string());
    make_claim(deps, scope, key, &parts, send.send_at).await
}

/// Returns the message of the first request with this key; `None` if the key was not used. If the message is still open, its send job is
/// enqueued again, because a crash may have prevented it. If the first request was a different one, the error is `KeyReused`.
async fn return_repeated_send(
    deps: &Deps,
    claim: Option<&IdempotencyClaim>,
) -> Result<Option<AcceptedMessage>, DeliverError> {
    match (claim, find_claimed(deps, claim).await?) {
        (Some(claim), Some(held)) if claim.is_request_of(&held) => {
            return_claimed_message(deps, &claim.tenant, held).await.map(Some)
        }
        (_, Some(_)) => Err(DeliverError::KeyReused),
        (_, None) => Ok(None),
    }
}

/// Returns the message that the first request with a key made. If it is still open, its send job is enqueued again, under its own
/// correlation id.
pub async fn return_claimed_message(
    deps: &Deps,
    tenant: &TenantId,
    held: HeldKey,
) -> Result<AcceptedMessage, DeliverError> {
    let (mut at, mut send_at) = (held.message.clone(), None);
    if let Ok(id) = ScheduledId::parse(held.message.as_str()) {
        let scheduled = scheduled_messages::find_scheduled(deps.store(), tenant, &id).await?;
        let scheduled = scheduled.ok_or(DeliverError::NotFound("message"))?.record;
        send_at = Some(scheduled.send_at);
        match &scheduled.state {
            ScheduledState::Became { message, .. } => at = message.clone(),
            _ => return Ok(accepted_from_scheduled(&scheduled, true)),
        }
    }
    let message = deps.store().find_message(&at).await?;
    let message = message.ok_or(DeliverError::NotFound("message"))?;
    if message.is_open() {
        wake_up::enqueue_send(deps, &message, &message.correlation).await?;
    }
    Ok(AcceptedMessage {
        id: held.message,
        status: message.status_with_delivery(None),
        conversation: Some(message.conversation),
        send_at,
        repeated: true,
    })
}

fn accepted_from_scheduled(scheduled: &ScheduledMessage, repeated: bool) -> AcceptedMessage {
    AcceptedMessage {
        id: scheduled.id.as_message_id().clone(),
        conversation: None,
        status: scheduled_status(scheduled),
        send_at: Some(scheduled.send_at),
        repeated,
    }
}

/// Returns the status of a scheduled message. `Pending` also if it became a message: that message has its own status.
pub fn scheduled_status(scheduled: &ScheduledMessage) -> MessageStatus {
    match scheduled.state {
        ScheduledState::Pending | ScheduledState::Became { .. } => MessageStatus::Pending,
        ScheduledState::Cancelled { .. } => MessageStatus::Cancelled,
        ScheduledState::GivenUp { .. } => MessageStatus::Failed,
    }
}

/// Commits the message to the contact's conversation, together with the client's key, and enqueues a send job.
async fn commit_message(
    deps: &Deps,
    caller: &Caller,
    checked: CheckedDelivery,
) -> Result<AcceptedMessage, DeliverError> {
    let (bound, send, claim) = (&checked.bound, &checked.send, checked.claim.as_ref());
    retry_lost_write(DeliverError::Busy, (), |()| async {
        let mut conversation = find_or_start_conversation(deps, bound, &checked.to).await?;
        let mut message = append_client_message(
            &mut conversation,
            &checked.to,
            checked.ready.clone(),
            pair_rate(deps, bound),
            send.key.as_ref(),
            &send.correlation,
            deps.system().now(),
        );
        if let Some(invitation) = &checked.invitation {
            note_invitation(deps, &mut conversation, &mut message, invitation);
        }
        message.out.metadata.clone_from(&send.metadata);
        message.out.sign_last_step(Some(&caller.name));
        let (id, made) = (message.message_id(), [message.to_record()]);
        let beside = hold_claimed(claim, &id)?;
        let written = deps.store().commit_messages(&conversation, &made, &beside);
        match written.await? {
            CommitOutcome::Committed => {
                let status = message.status_with_delivery(None);
                tracing::info!(message_id = %id, "taken to be sent");
                wake_up::enqueue_send(deps, &message, &send.correlation).await?;
                Ok(WriteAttempt::Done(AcceptedMessage {
                    id,
                    conversation: Some(conversation.id),
                    status,
                    send_at: None,
                    repeated: false,
                }))
            }
            CommitOutcome::Refused(_) => {
                // `None`: it expired meanwhile, or was deleted.
                let repeated = return_repeated_send(deps, claim).await?;
                Ok(repeated.map_or(WriteAttempt::Lost(()), WriteAttempt::Done))
            }
            CommitOutcome::Conflict => Ok(WriteAttempt::Lost(())),
        }
    })
    .await
}
