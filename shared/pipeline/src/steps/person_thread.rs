//! Linked identities: a message may come without a phone number (with a linked identity such as `…@lid` or a
//! business-scoped user id), although its author's conversation is stored under the number. Recado learns that both
//! belong to one person from a message that shows both. It looks the number up only for a message that shows none.

mod thread_join;

use crate::Deps;
use crate::steps::identity::derive_thread_id;
use crate::steps::inbound_arrival::InboundArrival;
use crate::steps::linked_threads::{
    find_latest_conversation, follow_moved_threads, forget_quiet_conversations,
};
use crate::steps::person_thread::thread_join::ThreadJoin;
use crate::steps::save_conversation::save_conversation;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationStatus};
use recado_domain::ids::{ConversationId, InstanceId, ThreadId};
use recado_domain::inbound::InboundEvent;
use recado_ports::ports::PortResult;
use recado_ports::records::aliases::{find_alias, save_alias};

/// Replaces the address of a message without a number by the address with the number, if that is known.
pub async fn resolve_phone_number(
    deps: &Deps,
    instance: &InstanceId,
    mut inbound: InboundEvent,
) -> PortResult<InboundEvent> {
    if let InboundEvent::Message(said) | InboundEvent::Change(said) = &mut inbound
        && said.address.is_numberless()
    {
        let other = derive_thread_id(deps, instance, said.address.as_str()).await?;
        if let Some(known) = find_alias(deps.store(), &other).await? {
            said.phone = known.phone_number();
            said.address = known;
        }
    }
    Ok(inbound)
}

/// The thread to which a message's address leads.
#[derive(Debug, Clone)]
pub struct FoundThread<'a> {
    place: ThreadId,
    /// The newest conversation of the thread.
    pub newest: Option<Conversation>,
    /// The linked identity that is known to be the same person's.
    pub known_as: Option<ContactAddress>,
    /// The linked identity that the message shows and that the thread does not know yet, with its own thread.
    unlinked: Option<(&'a ContactAddress, ThreadId)>,
}

/// Returns the person's thread and its newest conversation. From the first message on that shows a number together with
/// a linked identity, the threads of both belong to one person.
pub async fn find_person_thread(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let found = find_thread(deps, arrival).await?;
    join_thread(deps, arrival, found).await
}

/// Finds the thread to which the message's address leads. Nothing is written.
pub async fn find_thread<'a>(deps: &Deps, arrival: &InboundArrival<'a>) -> PortResult<FoundThread<'a>> {
    let instance = &arrival.bound.instance.id;
    let own = derive_thread_id(deps, instance, arrival.inbound.address.as_str()).await?;
    let latest = deps.store().find_latest_conversation(&own).await?;
    let nearest = latest.as_ref().and_then(|latest| latest.contact.known_as.clone());
    let (place, mut newest) = follow_moved_threads(deps, own, latest).await?;
    if let Some(newest) = newest.as_mut() {
        forget_quiet_conversations(deps, newest).await?;
    }
    let known_as = newest.as_ref().and_then(|newest| newest.contact.known_as.clone());
    let also = arrival.inbound.numberless_identity.as_ref();
    let also = also.filter(|_| !arrival.stale);
    let known = |conversation: &Conversation| conversation.find_new_identity(also).is_none();
    let mut unlinked = None;
    if let Some(also) = also.filter(|_| !newest.as_ref().is_some_and(known)) {
        let other = derive_thread_id(deps, instance, also.as_str()).await?;
        unlinked = (other != place).then_some((also, other));
    }
    Ok(FoundThread {
        place,
        newest,
        known_as: known_as.or(nearest),
        unlinked,
    })
}

/// Joins the thread that was found with that of the linked identity which the message shows.
pub async fn join_thread(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    found: FoundThread<'_>,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let FoundThread { place, newest, .. } = found;
    let Some((also, other)) = found.unlinked else {
        return Ok((place, newest));
    };
    let join = ThreadJoin {
        deps,
        bound: arrival.bound,
        shown: &arrival.inbound.address,
        also,
    };
    Box::pin(join.join_threads(place, newest, other)).await
}

/// Returns `true` if the person has an active conversation under the linked identity that the message shows.
pub async fn goes_on_elsewhere(deps: &Deps, found: &FoundThread<'_>) -> PortResult<bool> {
    let Some((also, other)) = &found.unlinked else {
        return Ok(false);
    };
    let (elsewhere, theirs) = find_latest_conversation(deps, other.clone()).await?;
    Ok(elsewhere != found.place
        && theirs.is_some_and(|theirs| {
            theirs.status == ConversationStatus::Active && theirs.may_have_identity(also)
        }))
}

/// Stores that the number and the linked identity of a refused message belong to one person. If the person has no
/// conversation, the number's thread leads to that of the identity, so that an erasure finds both by either of them.
pub async fn learn_refused_identity(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    found: &FoundThread<'_>,
) -> PortResult<()> {
    let Some((also, other)) = found.unlinked.clone() else {
        return Ok(());
    };
    let InboundArrival { bound, inbound, .. } = *arrival;
    let theirs = deps.store().find_latest_conversation(&other).await?;
    if found.newest.is_some() || theirs.is_some() {
        let (_, joined) = join_thread(deps, arrival, found.clone()).await?;
        if let Some(mut joined) = joined {
            learn_identity(deps, arrival, &mut joined).await?;
            let _newer = save_conversation(deps, &mut joined).await?;
        }
        return Ok(());
    }
    save_alias(deps.store(), &other, &inbound.address).await?;
    let (address, now) = (inbound.address.clone(), deps.system().now());
    let id = ConversationId::new(found.place.clone(), 1);
    let mut leading = Conversation::start_new(id, bound, address, inbound.phone.clone(), now);
    leading.contact.known_as = Some(also.clone());
    leading.redirect_to(&ConversationId::new(other, 1));
    let _there = save_conversation(deps, &mut leading).await?;
    Ok(())
}

/// Stores that the number and the linked identity of a message belong to one person. The conversation gets a note of
/// that. The same is done again when the person writes from another number. The link is stored before the conversation:
/// after a crash in between, the conversation lacks the note, and the link is stored again.
pub async fn learn_identity(
    deps: &Deps,
    arrival: &InboundArrival<'_>,
    conversation: &mut Conversation,
) -> PortResult<()> {
    let inbound = arrival.inbound;
    let also = inbound.numberless_identity.as_ref();
    let is_new_number = !conversation.address.may_be_same_person(&inbound.address);
    let Some(other) =
        also.filter(|also| is_new_number || conversation.find_new_identity(Some(also)).is_some())
    else {
        return Ok(());
    };
    // An old message may show a number that the person has given up since.
    if arrival.stale {
        return Ok(());
    }
    let thread = derive_thread_id(deps, &conversation.instance, other.as_str()).await?;
    save_alias(deps.store(), &thread, &inbound.address).await?;
    conversation.contact.known_as = Some(other.clone());
    Ok(())
}
