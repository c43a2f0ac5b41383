//! Several threads of one person: a linked identity and the phone number may each have a conversation. New messages go
//! to one of them, and taking over one takes over all of them.

use crate::Deps;
use crate::steps::reply_coverage::highest_covered_ordinal;
use crate::steps::save_conversation::save_conversation;
use crate::steps::{identity, wake_up};
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::ids::{ConversationId, CorrelationId, ThreadId};
use recado_ports::ports::{DeletedPart, PortError, PortResult, WriteOutcome};
use recado_ports::records::aliases::{delete_alias, find_alias};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Maximum number of threads that are followed. A thread that was left normally leads directly to a thread that was not
/// left.
const THREADS_MAX: usize = 8;

/// Returns the newest conversation of the person to whom `thread` belongs, and the thread that contains it.
pub async fn find_latest_conversation(
    deps: &Deps,
    thread: ThreadId,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    let latest = deps.store().find_latest_conversation(&thread).await?;
    follow_moved_threads(deps, thread, latest).await
}

/// Follows `newest`, the newest conversation of `thread`, to the conversation to which it leads. Returns that
/// conversation and its thread; both arguments unchanged if it leads nowhere.
pub async fn follow_moved_threads(
    deps: &Deps,
    mut thread: ThreadId,
    mut newest: Option<Conversation>,
) -> PortResult<(ThreadId, Option<Conversation>)> {
    for _ in 0..THREADS_MAX {
        let moved_to = newest.as_ref().and_then(|newest| newest.linked.moved_to.as_ref());
        let Some(moved_to) = moved_to else {
            return Ok((thread, newest));
        };
        thread = moved_to.thread_id().clone();
        newest = deps.store().find_latest_conversation(&thread).await?;
    }
    let why = "its threads lead in a circle";
    Err(PortError::unavailable("conversation", why))
}

/// Takes over the person's other active conversations, if people have `conversation`. Must be called before
/// `conversation` is written: after that write, no reply of the agent is claimed in any of them.
pub async fn take_over_others(
    deps: &Deps,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    if conversation.mode != ConversationMode::Manual {
        return Ok(());
    }
    for other in list_other_conversations(deps, conversation).await? {
        if let Some(other) = change_mode(deps, other, conversation).await? {
            tracing::info!("taken over with the person's other conversation");
            wake_up::enqueue_after_handover(deps, &other.id, correlation).await?;
        }
    }
    Ok(())
}

/// Gives the person's other conversations back to the agent, which has `conversation` already.
pub async fn give_back_others(
    deps: &Deps,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    for other in list_other_conversations(deps, conversation).await? {
        let other = match change_mode(deps, other.clone(), conversation).await? {
            Some(changed) => {
                wake_up::enqueue_after_handover(deps, &changed.id, correlation).await?;
                changed
            }
            // A request that did not finish may have given this conversation back already.
            None => other,
        };
        if other.agent_owes_answer() {
            wake_up::enqueue_turn(deps, &other, correlation).await?;
        }
    }
    Ok(())
}

/// Writes `conversation` with the mode of `leading`; `None` if it has that mode already, or no longer exists.
async fn change_mode(
    deps: &Deps,
    conversation: Conversation,
    leading: &Conversation,
) -> PortResult<Option<Conversation>> {
    let contended = PortError::contended("conversation");
    retry_lost_write(contended, conversation, |mut conversation| async move {
        let changed = match leading.mode {
            ConversationMode::Manual => conversation.take_over(),
            ConversationMode::Ai => {
                let left = highest_covered_ordinal(deps, &conversation, None).await?;
                conversation.give_back_to_agent(left, deps.system().now())
            }
        };
        if !changed {
            return Ok(WriteAttempt::Done(None));
        }
        conversation.people.handover.clone_from(&leading.people.handover);
        conversation.people.taken.clone_from(&leading.people.taken);
        if save_conversation(deps, &mut conversation).await? == WriteOutcome::Written {
            return Ok(WriteAttempt::Done(Some(conversation)));
        }
        let found = deps.store().find_conversation(&conversation.id).await?;
        Ok(found.map_or(WriteAttempt::Done(None), WriteAttempt::Lost))
    })
    .await
}

/// Lists the person's other conversations that are active or were left for another one. These are the conversation that
/// took the place of `conversation`, those whose place was taken, and the one under the other known address.
async fn list_other_conversations(deps: &Deps, conversation: &Conversation) -> PortResult<Vec<Conversation>> {
    let mut found = Vec::new();
    let mut head = conversation.clone();
    if let Some(moved_to) = &conversation.linked.moved_to
        && let (_, Some(newest)) = find_latest_conversation(deps, moved_to.thread_id().clone()).await?
    {
        found.push(newest.clone());
        head = newest;
    }
    for beside in &head.linked.beside {
        found.extend(deps.store().find_conversation(beside).await?);
    }
    if let Some(thread) = find_other_thread(deps, &head).await? {
        found.extend(deps.store().find_latest_conversation(&thread).await?);
    }
    let mut seen: Vec<ConversationId> = vec![conversation.id.clone()];
    found.retain(|other| {
        let goes_on = other.listed_status().is_some()
            && (other.status == ConversationStatus::Active || other.linked.moved_to.is_some());
        let is_new = !seen.contains(&other.id);
        seen.push(other.id.clone());
        goes_on && is_new
    });
    Ok(found)
}

/// Returns the thread of the person's other address; `None` if no other address is known.
async fn find_other_thread(deps: &Deps, conversation: &Conversation) -> PortResult<Option<ThreadId>> {
    let Some(other) = other_name(deps, conversation).await? else {
        return Ok(None);
    };
    let thread = identity::derive_thread_id(deps, &conversation.instance, other.as_str()).await?;
    Ok(Some(thread))
}

/// Returns the person's other address: the linked identity of a number, or the number of a linked identity. `None`: it
/// is not known.
pub async fn other_name(deps: &Deps, conversation: &Conversation) -> PortResult<Option<ContactAddress>> {
    if conversation.contact.known_as.is_some() || !conversation.address.is_numberless() {
        return Ok(conversation.contact.known_as.clone());
    }
    let (instance, address) = (&conversation.instance, conversation.address.as_str());
    let thread = identity::derive_thread_id(deps, instance, address).await?;
    find_alias(deps.store(), &thread).await
}

/// Deletes what leads from other identities of the person to `conversation`: the numbers that were learnt, and the
/// conversations in which nobody wrote. Nothing is deleted if the person's messages go on in another conversation.
pub async fn delete_links(deps: &Deps, conversation: &Conversation) -> PortResult<()> {
    let latest = deps
        .store()
        .find_latest_conversation(conversation.id.thread_id())
        .await?;
    let is_latest = latest.is_some_and(|latest| latest.id == conversation.id);
    if !is_latest || conversation.linked.moved_to.is_some() {
        return Ok(());
    }
    let numberless = Some(&conversation.address).filter(|address| address.is_numberless());
    for address in conversation.contact.known_as.iter().chain(numberless) {
        let thread = identity::derive_thread_id(deps, &conversation.instance, address.as_str()).await?;
        delete_alias(deps.store(), &thread).await?;
        let latest = deps.store().find_latest_conversation(&thread).await?;
        if let Some(pointer) = latest.filter(|latest| latest.listed_status().is_none()) {
            let part = DeletedPart::Record;
            let _ = deps.store().delete_part_of(&pointer, part).await?;
        }
    }
    Ok(())
}

/// Removes the quiet conversations from `conversation.beside`: those in which no answer is owed and no message is open.
/// Messages that are made from now on do not wait for messages there.
pub async fn forget_quiet_conversations(deps: &Deps, conversation: &mut Conversation) -> PortResult<()> {
    let mut beside = Vec::new();
    for id in std::mem::take(&mut conversation.linked.beside) {
        let left = deps.store().find_conversation(&id).await?;
        // The conversation must be read before its open messages: a reply that is made in between answers what is owed
        // in the read conversation, which is then not quiet.
        let is_quiet = left.is_none_or(|left| left.is_settled());
        if !is_quiet || !deps.store().list_open_messages(id.thread_id()).await?.is_empty() {
            beside.push(id);
        }
    }
    conversation.linked.beside = beside;
    Ok(())
}
