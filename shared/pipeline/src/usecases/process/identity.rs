//! Linked identities: a message may come without a phone number (with a linked identity such as `…@lid` or a
//! business-scoped user id), although its author's conversation is stored under the number. Recado learns that both
//! belong to one person from a message that shows both. It looks the number up only for a message that shows none.

mod thread_join;

use crate::Deps;
use crate::ports::{ContactAliases, PortResult};
use crate::steps::identity::derive_thread_id;
use crate::steps::linked_threads::{find_latest_conversation, forget_quiet_conversations};
use crate::steps::message_age::is_stale;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::{InstanceId, ThreadId};
use recado_domain::inbound::{InboundEvent, InboundMessage};
use thread_join::ThreadJoin;

/// Replaces the address of a message without a number by the address with the number, if that is known.
pub(super) async fn resolve_phone_number(
    deps: &impl Deps,
    instance: &InstanceId,
    mut inbound: InboundEvent,
) -> PortResult<InboundEvent> {
    if let InboundEvent::Message(said) | InboundEvent::Change(said) = &mut inbound
        && said.address.is_numberless()
    {
        let other = derive_thread_id(deps, instance, said.address.as_str()).await?;
        if let Some(known) = deps.store().find_alias(&other).await? {
            said.phone = known.phone_number();
            said.address = known;
        }
    }
    Ok(inbound)
}

/// Returns the person's thread and its newest conversation. From the first message on that shows a number together with
/// a linked identity, the threads of both belong to one person.
pub(super) async fn find_person_thread(
    deps: &impl Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let instance = &bound.instance.id;
    let own = derive_thread_id(deps, instance, inbound.address.as_str()).await?;
    let (place, mut newest) = find_latest_conversation(deps, own).await?;
    if let Some(newest) = newest.as_mut() {
        forget_quiet_conversations(deps, newest).await?;
    }
    let also = inbound
        .numberless_identity
        .as_ref()
        .filter(|_| !is_stale(deps, job, inbound));
    let known = |conversation: &Conversation| conversation.find_new_identity(also).is_none();
    let Some(also) = also.filter(|_| !newest.as_ref().is_some_and(known)) else {
        return Ok((place, newest));
    };
    let other = derive_thread_id(deps, instance, also.as_str()).await?;
    if other == place {
        return Ok((place, newest));
    }
    ThreadJoin {
        deps,
        bound,
        shown: &inbound.address,
        also,
    }
    .join_threads(place, newest, other)
    .await
}

/// Stores that the number and the linked identity of a message belong to one person. The conversation gets a note of
/// that. The same is done again when the person writes from another number. The link is stored before the conversation:
/// after a crash in between, the conversation lacks the note, and the link is stored again.
pub(super) async fn learn_identity(
    deps: &impl Deps,
    job: &InboundJob,
    conversation: &mut Conversation,
    inbound: &InboundMessage,
) -> PortResult<()> {
    let also = inbound.numberless_identity.as_ref();
    let is_new_number = !conversation.address.may_be_same_person(&inbound.address);
    let Some(other) =
        also.filter(|also| is_new_number || conversation.find_new_identity(Some(also)).is_some())
    else {
        return Ok(());
    };
    // An old message may show a number that the person has given up since.
    if is_stale(deps, job, inbound) {
        return Ok(());
    }
    let thread = derive_thread_id(deps, &conversation.instance, other.as_str()).await?;
    deps.store().save_alias(&thread, &inbound.address).await?;
    conversation.known_as = Some(other.clone());
    Ok(())
}
