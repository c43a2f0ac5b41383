//! Erases a conversation with its messages and all that lies beside them.

use futures::future::try_join_all;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::effects::{Journal, JournalChange};
use recado_domain::ids::{Ordinal, TenantId, ThreadId};
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_pipeline::steps::file_deletion::delete_files_of;
use recado_pipeline::steps::idempotency::delete_claim;
use recado_pipeline::steps::identity::derive_thread_id;
use recado_pipeline::steps::upload::upload_key;
use recado_ports::ports::{
    DELETED_MESSAGES_MAX, DeletedPart, DeliveryChange, PortError, PortResult, WriteOutcome,
};
use recado_ports::records::aliases::delete_alias;
use recado_ports::records::effects::{
    JournalOutcome, find_journal, free_held_cells, save_journal_with_cells,
};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, remove_record};

/// The manner in which a conversation is erased.
#[derive(Debug)]
pub struct ConversationErasure<'a> {
    /// Instance of the conversation; `None` if it is not configured any more.
    pub instance: Option<&'a Instance>,
    /// Identity whose number is not forgotten yet, since it leads to the conversation.
    pub kept_identity: Option<&'a ContactAddress>,
    /// `true` if a conversation whose erasure has begun becomes a tombstone; `false` if every conversation is deleted.
    pub leaves_tombstone: bool,
    /// Number of messages after which the erasure stops, to be continued.
    pub messages_max: usize,
}

/// The part of a conversation that was erased.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErasedPart {
    /// Number of messages.
    pub messages: usize,
    /// `true` if nothing is left but a tombstone.
    pub is_whole: bool,
}

/// Erases the messages of a conversation with all that belongs to them, then the conversation: a tombstone loses what
/// is left of the contact, any other conversation is deleted.
pub async fn erase_conversation(
    deps: &Deps,
    how: &ConversationErasure<'_>,
    mut conversation: Conversation,
) -> PortResult<ErasedPart> {
    let mut messages = 0;
    while let Some((left, erased)) = erase_next_messages(deps, how, conversation).await? {
        conversation = left;
        messages += erased;
        if messages >= how.messages_max {
            return Ok(ErasedPart {
                messages,
                is_whole: false,
            });
        }
    }
    Ok(ErasedPart {
        messages,
        is_whole: true,
    })
}

/// Erases the first messages of a conversation with all that belongs to them. Without messages, it erases what is left of the
/// conversation. Returns the conversation with the number of messages. `None`: nothing is left of it but a tombstone.
async fn erase_next_messages(
    deps: &Deps,
    how: &ConversationErasure<'_>,
    conversation: Conversation,
) -> PortResult<Option<(Conversation, usize)>> {
    let contended = PortError::contended("conversation");
    retry_lost_write(contended, conversation, |mut conversation| async move {
        let messages = deps
            .store()
            .list_messages_after(&conversation.id, Ordinal(0), DELETED_MESSAGES_MAX)
            .await?;
        let beside: Vec<_> = messages
            .iter()
            .map(|message| erase_beside(deps, how.instance, message))
            .collect();
        try_join_all(beside).await?;
        delete_files_of(deps, &messages).await?;
        if erase_part(deps, how, &mut conversation, &messages).await? == WriteOutcome::Conflict {
            let again = deps.store().find_conversation(&conversation.id).await?;
            return Ok(again.map_or(WriteAttempt::Done(None), WriteAttempt::Lost));
        }
        // A fetch may have stored a file between the two.
        delete_files_of(deps, &messages).await?;
        let is_left = !messages.is_empty();
        Ok(WriteAttempt::Done(
            is_left.then_some((conversation, messages.len())),
        ))
    })
    .await
}

/// Deletes these messages; without messages, what is left of the conversation itself.
async fn erase_part(
    deps: &Deps,
    how: &ConversationErasure<'_>,
    conversation: &mut Conversation,
    messages: &[Message],
) -> PortResult<WriteOutcome> {
    if let Some(last) = messages.last() {
        conversation.trim_history(last.ordinal.next_ordinal(), conversation.last_message_at);
        conversation.raise_revision();
        let part = DeletedPart::Messages(messages);
        return deps.store().delete_part_of(conversation, part).await;
    }
    let becomes_tombstone = how.leaves_tombstone && conversation.erased_at.is_some();
    if becomes_tombstone || !how.leaves_tombstone {
        delete_known_alias(deps, how, conversation).await?;
    }
    if !becomes_tombstone {
        let part = DeletedPart::Record;
        return deps.store().delete_part_of(conversation, part).await;
    }
    conversation.finish_erasure();
    conversation.raise_revision();
    let part = DeletedPart::Messages(&[]);
    deps.store().delete_part_of(conversation, part).await
}

/// Forgets the number of the identity that the conversation knows, unless that identity is to be forgotten last.
async fn delete_known_alias(
    deps: &Deps,
    how: &ConversationErasure<'_>,
    conversation: &Conversation,
) -> PortResult<()> {
    match conversation
        .contact
        .known_as
        .as_ref()
        .filter(|known| how.kept_identity != Some(*known))
    {
        Some(known) => {
            let thread = derive_thread_id(deps, &conversation.instance, known.as_str()).await?;
            delete_alias(deps.store(), &thread).await
        }
        None => Ok(()),
    }
}

/// Erases what lies beside a message: deliveries, the client's key, the upload, the large body that brought it.
async fn erase_beside(deps: &Deps, instance: Option<&Instance>, message: &Message) -> PortResult<()> {
    // Only what the business sent has statuses.
    if let Some(instance) = instance
        && message.role != Role::User
        && let Some(external) = instance.resolve_external_id()
    {
        let own = DeliveryKey::from_own_id(instance.provider, &external, &message.message_id());
        let by_identity = message.out.as_ref().and_then(|out| out.identity_attempt.as_ref());
        let told = message
            .provider_message_id
            .iter()
            .chain(by_identity.and_then(|attempt| attempt.before.as_ref()))
            .map(|id| DeliveryKey::from_provider_id(instance.provider, &external, id));
        let keys: Vec<DeliveryKey> = std::iter::once(own).chain(told).collect();
        let expires = add_duration(deps.system().now(), deps.settings().delivery_ttl);
        let change = DeliveryChange::Erase { expires };
        deps.store().change_deliveries(&keys, change).await?;
    }
    if let Some(key) = &message.idempotency_key {
        for scope in [message.instance.to_string(), message.conversation.to_string()] {
            delete_claim(deps, (&message.tenant, &scope), key).await?;
        }
    }
    if let Some(event) = &message.event {
        deps.queues().delete_payload(event.as_str()).await?;
    }
    match upload_key(&message.instance, &message.content) {
        Some(key) => deps.queues().delete_payload(&key).await,
        None => Ok(()),
    }
}

/// Deletes the journal of a thread with the cells of its events. The events themselves stay in their calendar. An effect whose
/// end is not stored is forgotten: nobody stores it any more. An erasure waits until its time is over.
pub async fn erase_journal(deps: &Deps, tenant: &TenantId, thread: &ThreadId) -> PortResult<()> {
    retry_lost_write(PortError::contended("journal"), (), |()| async {
        let Some(journal) = find_journal(deps.store(), tenant, thread).await? else {
            return Ok(WriteAttempt::Done(()));
        };
        let deleted = delete_with_cells(deps, &journal).await?;
        Ok(WriteAttempt::after_write(deleted, ()))
    })
    .await
}

/// Deletes a journal. Its cells go first: after a crash in between, the journal still leads to them. `false`: it was changed since.
async fn delete_with_cells(deps: &Deps, journal: &Versioned<Journal>) -> PortResult<bool> {
    let cells = journal.record.held_cells();
    if !cells.is_empty() {
        free_held_cells(deps.store(), &journal.record.tenant, &cells).await?;
    }
    remove_record(deps.store(), journal).await
}

/// Forgets the effects of a thread that ended `before` or earlier. Returns `true` if something stays: what is owed (an effect
/// that is open, a fence, an event that is still to come), or an effect whose end was stored later. Only its conversation leads to a
/// journal, so the conversation must stay as long.
pub async fn forget_effects(
    deps: &Deps,
    (tenant, thread): (&TenantId, &ThreadId),
    before: Timestamp,
) -> PortResult<bool> {
    retry_lost_write(PortError::contended("journal"), (), |()| async {
        let Some(mut journal) = find_journal(deps.store(), tenant, thread).await? else {
            return Ok(WriteAttempt::Done(false));
        };
        let forgotten = journal.record.forget_ended(before, deps.system().now());
        let something_stays = !journal.record.is_empty();
        let written = if journal.record.is_empty() {
            remove_record(deps.store(), &journal).await?
        } else if forgotten {
            journal.record.raise_revision();
            let change = JournalChange::default();
            save_journal_with_cells(deps.store(), None, &mut journal, &change).await?
                == JournalOutcome::Written
        } else {
            true
        };
        Ok(WriteAttempt::after_write(written, something_stays))
    })
    .await
}
