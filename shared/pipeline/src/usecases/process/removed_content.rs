//! Removes the content of a message that the contact deleted for everyone. The message keeps its place.

use crate::Deps;
use crate::ports::{Conversations, Inbox, OutboxStore, PortResult, RetainedRecords};
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::context::MessageContext;
use recado_domain::event::{EventKind, InboundJob, derive_event_id};
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::{Message, Role};

/// Number of messages that one read returns.
const PAGE: usize = 100;

/// Removes the content of the message that `content` deletes, of its edits, and of what quotes it. Nothing happens if the
/// tenant keeps such content, or `content` deletes nothing that is known. A repetition does no harm.
pub(super) async fn remove_deleted_content(
    deps: &impl Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    content: &Content,
) -> PortResult<()> {
    let Content::Deletion { target: Some(target) } = content else {
        return Ok(());
    };
    if !bound.tenant.retention.remove_deleted_content {
        return Ok(());
    }
    let event = derive_event_id(job.provider, &job.external, EventKind::Message, target);
    let stored = deps
        .store()
        .find_event(&event)
        .await?
        .and_then(|record| record.stored);
    let Some(place) = stored else { return Ok(()) };
    let id = place.conversation.message_id(place.ordinal);
    let Some(message) = deps.store().find_message(&id).await? else {
        return Ok(());
    };
    if message.role != Role::User || message.event.as_ref() != Some(&event) {
        return Ok(());
    }
    let removed = Message {
        content: Content::Removed,
        context: MessageContext::default(),
        ..message
    };
    let _ = deps.store().replace_message(&removed).await?;
    remove_repetitions(deps, &place.conversation, place.ordinal, target).await
}

/// Removes the content of the edits and quotes of the message `target` that come after the ordinal `after`.
async fn remove_repetitions(
    deps: &impl Deps,
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
            if !remove_repetition(&mut message, target) {
                continue;
            }
            let _ = match &mut message.out {
                Some(out) => {
                    out.rev += 1;
                    deps.store().update_closed_message(&message).await?
                }
                None => deps.store().replace_message(&message).await?,
            };
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
