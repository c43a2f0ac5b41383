//! Edits and deletions. The stored original message tells who wrote it and in which chat. The provider's data about that
//! may be written from the author's view, with the two sides exchanged.

use crate::Deps;
use crate::ports::{Conversations, Deliveries, Inbox, PortResult, System};
use crate::steps::verdict::Verdict;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventKind, InboundJob, derive_event_id};
use recado_domain::ids::MessageId;
use recado_domain::inbound::{InboundEvent, InboundMessage};
use recado_domain::message::Role;
use recado_domain::millis::add_duration;

/// Time that the original message may take to arrive. Webhooks come in no order, and the provider's id
/// of a sent message is stored last.
const WAIT: SignedDuration = SignedDuration::from_mins(1);

/// Time until the original message is looked for again.
const RECHECK: SignedDuration = SignedDuration::from_secs(5);

/// The result of resolving an event.
pub(super) enum ResolvedChange {
    /// Event that is to be applied.
    Apply(InboundEvent),
    /// The original message is not known yet: the event must wait.
    Later(Verdict),
}

/// Assigns an edit or deletion to the conversation of its original message. Any other event is returned unchanged.
pub(super) async fn resolve_change(
    deps: &impl Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: InboundEvent,
) -> PortResult<ResolvedChange> {
    let InboundEvent::Change(mut change) = inbound else {
        return Ok(ResolvedChange::Apply(inbound));
    };
    let Some(id) = find_original_message(deps, job, &change).await? else {
        let now = deps.system().now();
        if add_duration(job.received_at, WAIT) > now {
            return Ok(ResolvedChange::Later(Verdict::retry_at(
                add_duration(now, RECHECK),
                now,
            )));
        }
        return Ok(ResolvedChange::Apply(convert_orphan_change(change)));
    };
    let Some(message) = deps.store().find_message(&id).await? else {
        return Ok(ResolvedChange::Apply(convert_orphan_change(change)));
    };
    // The number may have belonged to another instance when the message was stored.
    if message.instance != bound.instance.id {
        return Ok(ResolvedChange::Apply(convert_orphan_change(change)));
    }
    let Some(conversation) = deps.store().find_conversation(&message.conversation).await? else {
        return Ok(ResolvedChange::Apply(convert_orphan_change(change)));
    };
    change.address = conversation.address;
    change.phone = conversation.phone;
    change.from_me = message.role != Role::User;
    Ok(ResolvedChange::Apply(InboundEvent::Message(change)))
}

/// Finds the original message among the inbound messages, then among the sent messages.
async fn find_original_message(
    deps: &impl Deps,
    job: &InboundJob,
    change: &InboundMessage,
) -> PortResult<Option<MessageId>> {
    let (Content::Edit { target, .. } | Content::Deletion { target }) = &change.content else {
        return Ok(None);
    };
    let Some(target) = target else {
        return Ok(None);
    };
    let came = derive_event_id(job.provider, &job.external, EventKind::Message, target);
    let came = deps.store().find_event(&came).await?;
    if let Some(place) = came.and_then(|record| record.stored) {
        return Ok(Some(place.conversation.message_id(place.ordinal)));
    }
    let sent = DeliveryKey::from_provider_id(job.provider, &job.external, target);
    let sent = deps.store().find_delivery(&sent).await?;
    Ok(sent.and_then(|delivery| delivery.message))
}

/// Converts an edit or deletion whose original message is not known. An edit by the contact becomes a message, because
/// its text is new. All others are ignored: the body's data about a message of the business cannot be relied on, and a
/// deletion of an unknown message changes nothing.
fn convert_orphan_change(change: Box<InboundMessage>) -> InboundEvent {
    if !change.from_me && matches!(change.content, Content::Edit { .. }) {
        return InboundEvent::Message(change);
    }
    InboundEvent::Ignored {
        what: "change of a message that is not known".to_owned(),
    }
}
