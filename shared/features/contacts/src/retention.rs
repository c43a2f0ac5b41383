//! Deletes messages whose retention period is over, and conversations with their last message or later, as the tenant
//! has it. What is still owed stays: messages that are open, wait for an answer or can be redriven. It is looked at
//! again a day later.

use crate::conversation_erasure::forget_effects;
use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::Tenant;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_pipeline::Deps;
use recado_pipeline::hooks::reconcile_pass::ReconcilePass;
use recado_pipeline::steps::file_deletion::delete_files_of;
use recado_pipeline::steps::linked_threads::delete_links;
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_pipeline::steps::working_instances::TenantPages;
use recado_ports::ports::{DELETED_MESSAGES_MAX, DeletedPart, PortError, PortResult, WriteOutcome};
use recado_ports::records::dead_letters::find_failure_time;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use std::collections::BTreeSet;

/// Time between two passes, in minutes of the clock. `PASSES`: passes in which each tenant has its turn once.
const INTERVAL_MINUTES: i64 = 15;
const PASSES: i64 = 4;

/// Maximum number of a tenant's conversations that one pass looks at.
const CONVERSATIONS: usize = 1000;

const SIDE_BY_SIDE: usize = 16;

/// Time until a conversation is looked at again in which something is owed.
const AGAIN: SignedDuration = SignedDuration::from_hours(24);

/// Greatest time until a conversation without messages is looked at again, since its period may have been changed.
const EMPTY_AGAIN: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Each message is deleted soon after its period is over, unless something is owed for it.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "expired",
    failure_message: "what is kept no longer was not deleted",
    is_due_at: is_retention_minute,
    works_on_reading: false,
    run: |deps, _| Box::pin(delete_due_messages(deps)),
};

/// Returns `true` if this minute's pass of `reconcile` deletes what is due.
fn is_retention_minute(now: Timestamp) -> bool {
    now.as_second().div_euclid(60) % INTERVAL_MINUTES == 0
}

/// Deletes what is due of the tenants whose turn it is. Returns the number of deleted messages.
async fn delete_due_messages(deps: &Deps) -> PortResult<usize> {
    let now = deps.system().now();
    let pass = now
        .as_second()
        .div_euclid(60 * INTERVAL_MINUTES)
        .rem_euclid(PASSES);
    let (mut places, mut deleted) = (0_i64.., Ok(0));
    let mut pages = TenantPages::begin(deps.store());
    while let Some(tenants) = pages.next_page().await? {
        let turns = tenants.into_iter().zip(places.by_ref());
        let turns = turns.filter(|(_, place)| place % PASSES == pass);
        let of_page: Vec<PortResult<usize>> = stream::iter(turns)
            .map(|(tenant, _)| async move { delete_due_of_tenant(deps, &tenant, now).await })
            .buffer_unordered(SIDE_BY_SIDE)
            .collect()
            .await;
        // A tenant that fails holds up no other, and is told at the end.
        deleted = of_page
            .into_iter()
            .fold(deleted, |sum, one| sum.and_then(|sum| one.map(|one| sum + one)));
    }
    deleted
}

async fn delete_due_of_tenant(deps: &Deps, tenant: &Tenant, now: Timestamp) -> PortResult<usize> {
    let Some(before) = tenant.retention.messages.due_before(now) else {
        return Ok(0);
    };
    let due = deps
        .store()
        .list_kept_since(&tenant.id, before, CONVERSATIONS)
        .await?;
    let due_times = DueTimes {
        before,
        conversations: tenant.retention.conversation_period().due_before(now),
        look_again: tenant.retention.messages.to_duration().min(EMPTY_AGAIN),
        extra: (tenant.retention.conversation_period().to_duration())
            .saturating_sub(tenant.retention.messages.to_duration()),
    };
    let mut deleted = 0;
    for id in due {
        match trim_conversation(deps, &id, &due_times).await {
            Ok(messages) => deleted += messages,
            Err(error) => {
                tracing::warn!(conversation_id = %id, error = %format_error_chain(&error), "retention has to wait");
            }
        }
    }
    if deleted > 0 {
        tracing::info!(tenant = %tenant.id, messages = deleted, "deleted what is kept no longer");
    }
    Ok(deleted)
}

/// The times that follow from a tenant's periods.
struct DueTimes {
    /// Time at or before which messages are due.
    before: Timestamp,
    /// Time at or before which conversations without messages are due; `None`: they are kept for ever.
    conversations: Option<Timestamp>,
    /// Time for which conversations are kept longer than messages.
    extra: SignedDuration,
    /// Time after which a conversation without messages is looked at again.
    look_again: SignedDuration,
}

impl DueTimes {
    /// Returns `true` if a conversation without messages is due.
    fn is_conversation_due(&self, conversation: &Conversation) -> bool {
        self.conversations
            .is_some_and(|before| conversation.last_message_at <= before)
    }
}

/// Deletes the messages of a conversation that are due. Deletes the conversation, too, if none is left and it is due itself.
/// Returns the number of deleted messages.
async fn trim_conversation(deps: &Deps, id: &ConversationId, times: &DueTimes) -> PortResult<usize> {
    let (mut deleted, mut after, mut something_owed) = (0, Ordinal(0), false);
    let mut found = deps.store().find_conversation(id).await?;
    while let Some(conversation) = found {
        let from = (after, something_owed);
        let Some((conversation, part)) = trim_next_part(deps, conversation, from, times).await? else {
            break;
        };
        deleted += part.due.len();
        after = part.last_read;
        something_owed = part.something_owed;
        if part.next_at.is_some() || part.is_last {
            let is_empty = part.next_at.is_none() && !something_owed;
            delete_if_conversation_is_due(deps, &conversation, is_empty, times).await?;
            break;
        }
        found = Some(conversation);
    }
    Ok(deleted)
}

/// Deletes the messages that are due among the next part of a conversation's messages: those after an ordinal. `something_owed`: a
/// message before them stays because something is owed. `None`: the conversation is gone.
async fn trim_next_part(
    deps: &Deps,
    conversation: Conversation,
    (after, something_owed): (Ordinal, bool),
    times: &DueTimes,
) -> PortResult<Option<(Conversation, DuePart)>> {
    let contended = PortError::contended("conversation");
    retry_lost_write(contended, conversation, |mut conversation| async move {
        let mut part = read_due_messages(deps, &conversation, after, times.before).await?;
        part.something_owed |= something_owed;
        conversation.trim_history(part.first_kept, part.kept_since(&conversation, times));
        conversation.raise_revision();
        delete_files_of(deps, &part.due).await?;
        let deletes = deps
            .store()
            .delete_part_of(&conversation, DeletedPart::Messages(&part.due));
        let written = deletes.await?;
        if written == WriteOutcome::Conflict {
            let again = deps.store().find_conversation(&conversation.id).await?;
            return Ok(again.map_or(WriteAttempt::Done(None), WriteAttempt::Lost));
        }
        // A fetch may have stored a file between the two.
        delete_files_of(deps, &part.due).await?;
        Ok(WriteAttempt::Done(Some((conversation, part))))
    })
    .await
}

/// Forgets the effects of a conversation that are due, and deletes the conversation if it is due itself. `is_empty`: it has no messages.
async fn delete_if_conversation_is_due(
    deps: &Deps,
    conversation: &Conversation,
    is_empty: bool,
    times: &DueTimes,
) -> PortResult<()> {
    let of = (&conversation.tenant, conversation.id.thread_id());
    let has_effects = conversation.features.has_journal && forget_effects(deps, of, times.before).await?;
    if is_empty && !has_effects && conversation.is_settled() && times.is_conversation_due(conversation) {
        delete_links(deps, conversation).await?;
        // Lost to a message that came in just now: then the conversation goes on.
        let part = DeletedPart::Record;
        let _ = deps.store().delete_part_of(conversation, part).await?;
    }
    Ok(())
}

/// A part of a conversation's messages, from the oldest on.
struct DuePart {
    /// Messages to delete.
    due: Vec<Message>,
    /// First ordinal that is kept as history.
    first_kept: Ordinal,
    /// Last ordinal that was decided on.
    last_read: Ordinal,
    /// Time when the last message that was decided on was stored.
    last_at: Option<Timestamp>,
    /// Time when the first message that stays as history was stored.
    next_at: Option<Timestamp>,
    /// `true` if a message of this part, or of one before it, is due and stays because something is owed.
    something_owed: bool,
    /// `true` if there are no further messages.
    is_last: bool,
}

impl DuePart {
    /// Returns the time from which the period of the oldest message that stays counts.
    fn kept_since(&self, conversation: &Conversation, times: &DueTimes) -> Timestamp {
        let again = add_duration(times.before, AGAIN);
        match (self.something_owed, self.next_at, self.is_last) {
            (true, ..) => again,
            (false, Some(next_at), _) => next_at,
            (false, None, true) if times.extra.is_zero() => conversation.last_message_at,
            (false, None, true) => add_duration(conversation.last_message_at, times.extra)
                .min(add_duration(times.before, times.look_again)),
            // More is due. After a crash the conversation is found again.
            (false, None, false) => self.last_at.unwrap_or(conversation.kept_since()),
        }
    }
}

async fn read_due_messages(
    deps: &Deps,
    conversation: &Conversation,
    after: Ordinal,
    before: Timestamp,
) -> PortResult<DuePart> {
    let read = deps
        .store()
        .list_messages_after(&conversation.id, after, DELETED_MESSAGES_MAX)
        .await?;
    let open = deps
        .store()
        .list_open_messages(conversation.id.thread_id())
        .await?;
    let open: BTreeSet<Ordinal> = open
        .iter()
        .filter(|message| message.conversation == conversation.id)
        .map(|message| message.ordinal)
        .collect();
    let mut part = DuePart {
        due: Vec::new(),
        first_kept: Ordinal(0),
        last_read: after,
        last_at: None,
        next_at: None,
        something_owed: false,
        is_last: read.len() < DELETED_MESSAGES_MAX,
    };
    for message in read {
        let is_due = message.stored_at <= before;
        if !is_due || conversation.is_message_owed(&message) {
            part.something_owed |= is_due;
            part.next_at = Some(message.stored_at);
            break;
        }
        part.first_kept = message.ordinal.next_ordinal();
        part.last_read = message.ordinal;
        part.last_at = Some(message.stored_at);
        if open.contains(&message.ordinal) || can_be_redriven(deps, &message).await? {
            part.something_owed = true;
        } else {
            part.due.push(message);
        }
    }
    Ok(part)
}

async fn can_be_redriven(deps: &Deps, message: &Message) -> PortResult<bool> {
    let is_dead = message
        .out
        .as_ref()
        .is_some_and(|out| matches!(out.state, OutboxState::Dead { .. }));
    if !is_dead {
        return Ok(false);
    }
    let id = message.message_id();
    Ok(find_failure_time(deps.store(), id.as_str()).await?.is_some())
}
