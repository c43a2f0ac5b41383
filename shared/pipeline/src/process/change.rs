//! Edits and deletions: whose message it was and in which chat, the message itself tells. What the provider says of that
//! may be written as the author sees it, with the two sides exchanged.

use crate::World;
use crate::ports::{Ambient, Conversations, Deliveries, Inbox, PortResult};
use crate::verdict::Verdict;
use recado_domain::config::Bound;
use recado_domain::content::Content;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventKind, InboundJob, event_id};
use recado_domain::ids::MessageId;
use recado_domain::inbound::{Inbound, InboundMessage};
use recado_domain::message::Role;
use recado_domain::millis::shift;

/// How long the message itself may be on its way: webhooks come in no order, and what is sent learns its id last.
const WAIT_MS: i64 = 60_000;

/// When to look again.
const AGAIN_MS: i64 = 5_000;

/// What an event comes to.
pub(super) enum Resolved {
    /// This is to be followed.
    As(Inbound),
    /// Not known yet.
    Later(Verdict),
}

/// Puts a change where the message lies that it is about; lets everything else pass.
pub(super) async fn resolve<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: Inbound,
) -> PortResult<Resolved> {
    let Inbound::Change(mut change) = inbound else {
        return Ok(Resolved::As(inbound));
    };
    let Some(id) = original(world, job, &change).await? else {
        let now = world.ambient().now();
        if shift(job.received_at, WAIT_MS) > now {
            return Ok(Resolved::Later(Verdict::at(shift(now, AGAIN_MS), now)));
        }
        return Ok(Resolved::As(alone(change)));
    };
    let Some(message) = world.store().message(&id).await? else {
        return Ok(Resolved::As(alone(change)));
    };
    // The number may have been another instance's when the message was stored.
    if message.instance != bound.instance.id {
        return Ok(Resolved::As(alone(change)));
    }
    let Some(conversation) = world.store().conversation(&message.conversation).await? else {
        return Ok(Resolved::As(alone(change)));
    };
    change.address = conversation.address;
    change.phone = conversation.phone;
    change.from_me = message.role != Role::User;
    Ok(Resolved::As(Inbound::Message(change)))
}

/// Looks for it among what came in, then among what was sent.
async fn original<W: World>(
    world: &W,
    job: &InboundJob,
    change: &InboundMessage,
) -> PortResult<Option<MessageId>> {
    let (Content::Edit { target, .. } | Content::Deletion { target }) = &change.content else {
        return Ok(None);
    };
    let Some(target) = target else {
        return Ok(None);
    };
    let came = event_id(job.provider, &job.external, EventKind::Message, target);
    let came = world.store().event(&came).await?;
    if let Some(place) = came.and_then(|record| record.stored) {
        return Ok(Some(place.conversation.message(place.ordinal)));
    }
    let sent = DeliveryKey::provider(job.provider, &job.external, target);
    let sent = world.store().delivery(&sent).await?;
    Ok(sent.and_then(|delivery| delivery.message))
}

/// What becomes of a change whose message was never seen. New words of the contact are words all the same; what the body
/// says of an author who is the business cannot be relied on, and a deletion of nothing is nothing.
fn alone(change: Box<InboundMessage>) -> Inbound {
    if !change.from_me && matches!(change.content, Content::Edit { .. }) {
        return Inbound::Message(change);
    }
    Inbound::Ignored {
        what: "change of a message that is not known".to_owned(),
    }
}
