//! Adds a client's message to the recipient's conversation, at once or when its time has come.

use crate::Deps;
use crate::steps::{identity, linked_threads};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{CorrelationId, IdempotencyKey, Ordinal};
use recado_domain::invitations::{InvitedGuest, ScheduledInvitation};
use recado_domain::message::{NewOutgoing, Outgoing, PreparedContent};
use recado_domain::outbox::Author;
use recado_domain::rate::Rate;
use recado_ports::ports::PortResult;
use recado_ports::random_id::generate_nonce;
use recado_ports::records::aliases::find_alias;

/// Returns the recipient's latest conversation if it is active, else a new conversation that begins now.
pub async fn find_or_start_conversation(
    deps: &Deps,
    bound: &InstanceConfig,
    to: &ContactAddress,
) -> PortResult<Conversation> {
    // A client may name a person by the identity without a number while the conversation is filed under the number.
    let alias = if to.is_numberless() {
        let other = identity::derive_thread_id(deps, &bound.instance.id, to.as_str()).await?;
        find_alias(deps.store(), &other).await?
    } else {
        None
    };
    let to = alias.as_ref().unwrap_or(to);
    let thread = identity::derive_thread_id(deps, &bound.instance.id, to.as_str()).await?;
    let (thread, latest) = linked_threads::find_latest_conversation(deps, thread).await?;
    let now = deps.system().now();
    Ok(Conversation::continue_or_start(
        latest,
        &thread,
        bound,
        to,
        to.phone_number(),
        now,
    ))
}

/// Notes in a conversation and its new message that the message is an invitation. One that comes from a backup begins as of unknown
/// outcome since then.
pub fn note_invitation(
    deps: &Deps,
    conversation: &mut Conversation,
    message: &mut Outgoing,
    invitation: &ScheduledInvitation,
) {
    conversation.features.invited = Some(InvitedGuest {
        occasion: invitation.occasion.clone(),
        guest: invitation.guest.clone(),
        ordinal: message.ordinal,
    });
    message.out.join_invitation(invitation);
    if let Some(taken_at) = invitation.restored_from {
        doubt_message(deps, message, taken_at);
    }
}

/// Makes a new message one of unknown outcome since the backup that was made at `taken_at`: it may have been sent since.
pub fn doubt_message(deps: &Deps, message: &mut Outgoing, taken_at: Timestamp) {
    let (nonce, now) = (generate_nonce(deps.system()), deps.system().now());
    // A new message is queued, or in doubt already, so this is not refused.
    let _ = message.out.doubt_restored(nonce, taken_at, now);
}

/// Adds a client's message to `conversation` so that both can be written. The message covers nothing: a client of the API
/// has not read the contact's messages.
pub fn append_client_message(
    conversation: &mut Conversation,
    to: &ContactAddress,
    ready: PreparedContent,
    pair_rate: Option<Rate>,
    key: Option<&IdempotencyKey>,
    correlation: &CorrelationId,
    now: Timestamp,
) -> Outgoing {
    let ordinal = conversation.append_message(now);
    conversation.raise_revision();
    let new = NewOutgoing {
        author: Author::Person,
        to: to.clone(),
        ordinal,
        covers: Ordinal::default(),
        ready,
        pair_rate,
        key,
        correlation,
    };
    new.queue_in(conversation, now)
}
