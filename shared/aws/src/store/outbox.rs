mod settling;

use super::DynamoStore;
use super::deliveries::parse_delivery;
use super::expression::{Expression, UpdateChange};
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use super::records;
use super::table::{ConditionFailed, write_outcome};
use super::transaction::{FailedConditions, TransactionAction};
use super::usage::add_usage_to_sum;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::ids::{ConversationId, InstanceId, Ordinal, ThreadId};
use recado_domain::instance::{Echo, InFlightSend};
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::usage::UsageSum;
use recado_ports::ports::{
    ClaimGuard, ClaimOutcome, DeliveryChange, DeliveryLink, NoteChange, OutboxStore, PortError, PortResult,
    System, WriteOutcome,
};
use std::collections::BTreeSet;

fn require_outbox<'a>(what: &'static str, message: &'a Message) -> PortResult<&'a Outbox> {
    message
        .out
        .as_ref()
        .ok_or_else(|| PortError::invalid(what, "the message does not go out"))
}

/// Returns the condition that the stored message has the revision before this one.
fn revision_condition(what: &'static str, message: &Message) -> PortResult<Option<Expression>> {
    let out = require_outbox(what, message)?;
    Ok(Some(Expression::follows_revision("out_rev", out.rev)))
}

/// Returns the condition that the stored message is closed and has the revision before this one. Only the record of a settled
/// message carries the revision of its way out, and one that never went out has another, which it lacks until it is replaced.
fn follows_closed(message: &Message) -> Expression {
    if let Some(out) = &message.out {
        // A record without a revision must not count as the first one.
        return Expression::new("#out_rev = :before").with_number(":before", out.rev.saturating_sub(1));
    }
    let before = match message.rev.checked_sub(1) {
        Some(0) => Expression::new("attribute_not_exists(#rev)"),
        Some(before) => Expression::new("#rev = :before").with_number(":before", before),
        // Nothing is stored with a revision below zero.
        None => Expression::record_absent(),
    };
    Expression::new("attribute_exists(#pk) AND attribute_not_exists(#out)").and_condition(before)
}

/// Builds the item of a note, which is kept for some time since `since`.
pub(super) fn note_item(
    what: &'static str,
    key: TableKey,
    flight: &InFlightSend,
    since: Timestamp,
) -> PortResult<Item> {
    let mut note = item::encode_record(what, flight)?;
    let kept = add_duration(since, InFlightSend::RETENTION);
    note.insert("ttl".to_owned(), number_attribute(kept.as_second()));
    Ok(key.into_item(note))
}

fn remove_in_flight(message: &Message, flight: &InFlightSend) -> TransactionAction {
    TransactionAction::delete(TableKey::for_in_flight(&message.instance, flight))
}

/// Number of times that a message is settled again since statuses of it came in between.
const EARLY_ROUNDS_MAX: usize = 8;

/// Returns whether a refused claim found its own effect, since the client library sent it twice.
fn is_own_claim(message: &Message, found: Option<&Item>) -> bool {
    let Some(out) = &message.out else { return false };
    let OutboxState::Sending { nonce, .. } = &out.state else {
        return false;
    };
    let found = found.and_then(|found| records::parse_message("claiming a message", found).ok());
    found.and_then(|found| found.out).is_some_and(|found| {
        found.rev == out.rev
            && matches!(found.state, OutboxState::Sending { nonce: its, .. } if its == *nonce)
    })
}

/// Returns the outcome of a refused claim. The message is action 0, the guard action 1.
fn claim_outcome(message: &Message, refusals: &FailedConditions) -> ClaimOutcome {
    match (refusals.for_action(0), refusals.for_action(1)) {
        (Some(ConditionFailed(found)), _) if is_own_claim(message, found.as_ref()) => ClaimOutcome::Claimed,
        (None, Some(_)) => ClaimOutcome::Stopped,
        _ => ClaimOutcome::Conflict,
    }
}

/// Returns the condition of a guard: the conversation is in the mode `ai` and in the guard's epoch.
fn guard_condition(what: &'static str, guard: &ClaimGuard) -> PortResult<Expression> {
    let ai = item::encode_part(what, &ConversationMode::Ai)?;
    Ok(Expression::new("#mode = :ai AND #epoch = :epoch")
        .with_value(":ai", ai)
        .with_number(":epoch", guard.epoch))
}

/// Returns the parts of replies that are missing in `open` although a later part is open and was never tried. Either
/// they were settled, or the query saw their transaction half done.
fn earlier_parts(open: &[Message]) -> BTreeSet<(ConversationId, Ordinal)> {
    let untried = |message: &&Message| {
        let out = message.out.as_ref();
        out.is_some_and(|out| out.state == OutboxState::Queued && out.attempts == 0)
    };
    let before = |message: &Message| {
        let part = message.out.as_ref().and_then(|out| out.part);
        let number = part.map_or(1, |part| u64::from(part.number));
        let first = message.ordinal.0.saturating_sub(number.saturating_sub(1));
        let place = |ordinal| (message.conversation.clone(), Ordinal(ordinal));
        (first..message.ordinal.0).map(place).collect::<Vec<_>>()
    };
    let mut earlier: BTreeSet<(ConversationId, Ordinal)> =
        open.iter().filter(untried).flat_map(before).collect();
    for message in open {
        earlier.remove(&(message.conversation.clone(), message.ordinal));
    }
    earlier
}

impl<A: System> DynamoStore<A> {
    /// Writes the note of an in-flight send in place of the stored one.
    async fn replace_note(&self, key: TableKey, flight: &InFlightSend) -> PortResult<bool> {
        const WHAT: &str = "erasing a note";
        let note = note_item(WHAT, key, flight, flight.claimed_at)?;
        let exists = Expression::new("attribute_exists(#pk)");
        let replaced = self.table.put_record(WHAT, note, Some(exists));
        Ok(replaced.await?.is_ok())
    }
}

#[async_trait]
impl<A: System> OutboxStore for DynamoStore<A> {
    async fn list_open_messages(&self, thread: &ThreadId) -> PortResult<Vec<Message>> {
        const WHAT: &str = "reading open messages";
        let pk = keys::open_messages_pk(thread);
        let found = self.table.query_partition(WHAT, pk, None).await?;
        let mut open: Vec<Message> = found
            .iter()
            .filter_map(|item| item::keep_readable(records::parse_message(WHAT, item)))
            .collect();
        let earlier = earlier_parts(&open);
        if earlier.is_empty() {
            return Ok(open);
        }
        let keys = earlier
            .into_iter()
            .map(|(conversation, ordinal)| TableKey::for_open_message(&conversation, ordinal));
        let settled = self.table.get_settled_records(WHAT, keys.collect()).await?;
        for item in settled.iter().flatten() {
            open.extend(item::keep_readable(records::parse_message(WHAT, item)));
        }
        open.sort_by_key(|message| (message.conversation.number_in_thread(), message.ordinal));
        Ok(open)
    }

    async fn save_open_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing an open message";
        let item = records::open_message_item(WHAT, message)?;
        let condition = revision_condition(WHAT, message)?;
        let Some(flight) = finished_send else {
            let put = self.table.put_record(WHAT, item, condition).await?;
            return Ok(write_outcome(put.is_ok()));
        };
        let actions = vec![
            TransactionAction::Put(item, condition),
            remove_in_flight(message, flight),
        ];
        let written = self.table.run_transaction(WHAT, actions).await?;
        Ok(write_outcome(written.is_ok()))
    }

    async fn claim_message(
        &self,
        message: &Message,
        guard: Option<&ClaimGuard>,
        flight: &InFlightSend,
    ) -> PortResult<ClaimOutcome> {
        const WHAT: &str = "claiming a message";
        let item = records::open_message_item(WHAT, message)?;
        let mut actions = vec![TransactionAction::Put(item, revision_condition(WHAT, message)?)];
        if let Some(guard) = guard {
            let key = TableKey::for_conversation(&guard.conversation);
            actions.push(TransactionAction::Check(key, guard_condition(WHAT, guard)?));
        }
        let key = TableKey::for_in_flight(&message.instance, flight);
        let note = note_item(WHAT, key, flight, self.table.system.now())?;
        actions.push(TransactionAction::put(note));
        Ok(match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => ClaimOutcome::Claimed,
            Err(refusals) => claim_outcome(message, &refusals),
        })
    }

    async fn settle_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "settling a message";
        let settled = (message, finished_send, link, conversation);
        let mut early: Option<Delivery> = None;
        for _ in 0..EARLY_ROUNDS_MAX {
            let actions = self.settle_actions(WHAT, settled, early.as_ref())?;
            let last = actions.len() - 1;
            let Err(refusals) = self.table.run_transaction(WHAT, actions).await? else {
                return Ok(WriteOutcome::Written);
            };
            let led = link.filter(|link| link.provider_key.is_some());
            let found = refusals.for_action(last).and_then(|failed| failed.0.as_ref());
            let (Some(link), Some(found), None) = (led, found, refusals.first_before(last)) else {
                return Ok(WriteOutcome::Conflict);
            };
            // A status that names the provider's id alone came before the answer.
            let told = parse_delivery(WHAT, found)?;
            self.move_early_statuses(&link.key, &told, link.expires).await?;
            early = Some(told);
        }
        Err(PortError::contended("delivery"))
    }

    async fn update_closed_message(
        &self,
        message: &Message,
        used: Option<&UsageSum>,
    ) -> PortResult<WriteOutcome> {
        let what = match message.out {
            Some(_) => "amending a message",
            None => "replacing a message",
        };
        let (item, condition) = (records::message_item(what, message)?, follows_closed(message));
        let mut beside: Vec<TransactionAction> = used
            .map(|used| add_usage_to_sum(used, message.conversation.thread_id()))
            .into_iter()
            .collect();
        if records::stays_open(message) {
            let open = records::open_message_item(what, message)?;
            beside.push(TransactionAction::put(open));
        }
        if beside.is_empty() {
            let put = self.table.put_record(what, item, Some(condition)).await?;
            return Ok(write_outcome(put.is_ok()));
        }
        beside.insert(0, TransactionAction::Put(item, Some(condition)));
        let written = self.table.run_transaction(what, beside).await?;
        Ok(write_outcome(written.is_ok()))
    }

    async fn list_in_flight(&self, instance: &InstanceId) -> PortResult<Vec<InFlightSend>> {
        const WHAT: &str = "reading sends in flight";
        let pk = keys::instance_pk(instance);
        let found = self.table.query_partition(WHAT, pk, Some(keys::FLY)).await?;
        Ok(item::decode_readable(WHAT, &found))
    }

    async fn change_in_flight(
        &self,
        instance: &InstanceId,
        flight: &InFlightSend,
        change: NoteChange<'_>,
    ) -> PortResult<bool> {
        let key = TableKey::for_in_flight(instance, flight);
        let NoteChange::Echo(id, echo) = change else {
            return self.replace_note(key, flight).await;
        };
        // The same id may be stored already, by an earlier attempt of this request or by another worker: that counts as
        // success.
        let (field, first) = match echo {
            Echo::Sure => (
                "echo",
                "attribute_exists(#pk) AND (attribute_not_exists(#echo) OR #echo = :echo)",
            ),
            Echo::Maybe => (
                "maybe_echo",
                "attribute_exists(#pk) AND (attribute_not_exists(#maybe_echo) OR #maybe_echo = :maybe_echo)",
            ),
        };
        let change = UpdateChange::default().set_value(field, text_attribute(id));
        let first = Some(Expression::new(first));
        let recorded = self.table.update_record("noting an echo", key, &change, first);
        Ok(recorded.await?.is_ok())
    }

    async fn record_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: Option<&UsageSum>,
    ) -> PortResult<()> {
        self.record_told_status(update, expires, charge).await
    }

    async fn change_deliveries(&self, keys: &[DeliveryKey], change: DeliveryChange) -> PortResult<()> {
        for key in keys {
            match change {
                DeliveryChange::StopAwaiting => self.end_wait(key).await?,
                DeliveryChange::Erase { expires } => self.erase_delivery(key, expires).await?,
            }
        }
        Ok(())
    }

    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        self.read_delivery(key).await
    }

    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        self.read_deliveries(keys).await
    }
}

#[cfg(test)]
mod tests;
