//! Records a reaction, an edit or a deletion with the message that it is about. If the contact deleted the message for
//! everyone, its content is removed; the message keeps its place.

use crate::Deps;
use crate::hooks::inbound_rule::InboundRule;
use crate::steps::file_deletion::delete_files_of;
use crate::steps::inbound_arrival::InboundArrival;
use crate::steps::message_changes::{MessageUpdate, record_change, update_message};
use async_trait::async_trait;
use recado_domain::content::Content;
use recado_domain::event::MessagePosition;
use recado_domain::ids::{ConversationId, MessageId, Ordinal};
use recado_domain::message::{Message, Role};
use recado_ports::ports::PortResult;

/// Number of messages that one read returns.
const PAGE: usize = 100;

/// Records a reaction, an edit or a deletion with the message that it is about, before its event is finished.
///
/// Tests: `tests/kit/tests/use_cases/reactions.rs#a_contacts_reaction_to_what_was_sent_is_added_changed_and_taken_back`,
/// `tests/kit/tests/use_cases/retention.rs#what_the_contact_deleted_for_everyone_loses_its_content_and_keeps_its_place`.
#[derive(Debug)]
pub struct TargetChangeRule;

#[async_trait]
impl InboundRule for TargetChangeRule {
    fn follows_message(&self, content: &Content) -> bool {
        content.changes_target()
    }

    /// Records the stored message at `place` with the message that it is about. Nothing happens if that message is not known. A repetition
    /// does no harm.
    async fn follow_message(
        &self,
        deps: &Deps,
        arrival: &InboundArrival<'_>,
        place: &MessagePosition,
    ) -> PortResult<()> {
        let id = place.conversation.message_id(place.ordinal);
        let Some(later) = deps.store().find_message(&id).await? else {
            return Ok(());
        };
        let Some(target) = &later.context.refers_to else {
            return Ok(());
        };
        if record_change(deps, &later).await? == MessageUpdate::Open {
            tracing::warn!(
                "a message changed while it was sent: its change stands in the conversation alone"
            );
        }
        if arrival.bound.tenant.retention.remove_deleted_content && later.role == Role::User {
            remove_deleted_content(deps, &later, target).await?;
        }
        Ok(())
    }
}

/// Removes the content of the message `target` with its repetitions, if `later` deletes it. If `later` is an edit that
/// comes after the deletion, its own content is removed.
async fn remove_deleted_content(deps: &Deps, later: &Message, target: &MessageId) -> PortResult<()> {
    let Some(message) = deps.store().find_message(target).await? else {
        return Ok(());
    };
    let (Some(id), Role::User) = (later.content.target_id(), message.role) else {
        return Ok(());
    };
    match &later.content {
        Content::Deletion { .. } => {
            // Before the record of the file goes. A fetch that goes on finds the record gone, and deletes what it stored.
            delete_files_of(deps, std::slice::from_ref(&message)).await?;
            update_message(deps, target, |message| {
                let is_left = message.content != Content::Removed;
                message.remove_content();
                is_left
            })
            .await?;
            remove_repetitions(deps, &message.conversation, message.ordinal, id).await
        }
        Content::Edit { .. } if message.content == Content::Removed => {
            update_message(deps, &later.message_id(), |later| remove_repetition(later, id))
                .await
                .map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Removes the content of the edits and quotes of the message `target` that come after the ordinal `after`.
async fn remove_repetitions(
    deps: &Deps,
    conversation: &ConversationId,
    mut after: Ordinal,
    target: &str,
) -> PortResult<()> {
    loop {
        let read = deps
            .store()
            .list_messages_after(conversation, after, PAGE)
            .await?;
        let is_last = read.len() < PAGE;
        for mut message in read {
            after = message.ordinal;
            if remove_repetition(&mut message, target) {
                update_message(deps, &message.message_id(), |message| {
                    remove_repetition(message, target)
                })
                .await?;
            }
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Removes what `message` repeats of the message `target`. Returns `false` if it repeats nothing.
fn remove_repetition(message: &mut Message, target: &str) -> bool {
    let mut found = false;
    if let Content::Edit {
        target: Some(of),
        content,
    } = &mut message.content
        && of == target
        && **content != Content::Removed
    {
        **content = Content::Removed;
        found = true;
    }
    if let Some(quoted) = &mut message.context.reply_to
        && quoted.id.as_deref() == Some(target)
        && quoted.text.take().is_some()
    {
        found = true;
    }
    found
}
