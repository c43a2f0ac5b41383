use super::DynamoStore;
use super::conversations::follows;
use super::expression::{Change, Expression};
use super::item::{self, Item, number, text};
use super::keys::{self, Key};
use super::records;
use super::table::Refused;
use super::transaction::{Action, Refusals, Transacted};
use aws_sdk_dynamodb::types::ReturnValue;
use recado_domain::conversation::{Conversation, Mode};
use recado_domain::ids::{ConversationId, InstanceId, Ordinal, ThreadId};
use recado_domain::instance::{Echo, InFlight};
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_pipeline::ports::{
    Ambient, Claimed, DeliveryLink, Guard, OutboxStore, PortError, PortResult, Written,
};
use std::collections::BTreeSet;

fn out<'a>(what: &'static str, message: &'a Message) -> PortResult<&'a Outbox> {
    message
        .out
        .as_ref()
        .ok_or_else(|| PortError::invalid(what, "the message does not go out"))
}

/// The condition that a message's stored revision is the one before.
fn before(what: &'static str, message: &Message) -> PortResult<Option<Expression>> {
    Ok(Some(Expression::follows("out_rev", out(what, message)?.rev)))
}

fn landing(message: &Message, flight: &InFlight) -> Action {
    Action::Delete(Key::flight(&message.instance, flight), None)
}

fn written(transacted: &Transacted) -> Written {
    if transacted.is_ok() {
        Written::Yes
    } else {
        Written::Conflict
    }
}

/// Whether what a refused claim found is this very claim, sent twice by the client library.
fn is_ours(message: &Message, found: Option<&Item>) -> bool {
    let (Some(found), Some(out)) = (found, &message.out) else {
        return false;
    };
    let OutboxState::Sending { nonce, .. } = &out.state else {
        return false;
    };
    item::string(found, "out_nonce") == Some(nonce.as_str())
        && item::whole(found, "out_rev").and_then(|rev| u64::try_from(rev).ok()) == Some(out.rev)
}

/// What a refused claim found: the message is action 0, the guard action 1.
fn claimed(message: &Message, refusals: &Refusals) -> Claimed {
    match (refusals.of(0), refusals.of(1)) {
        (Some(Refused(found)), _) if is_ours(message, found.as_ref()) => Claimed::Yes,
        (None, Some(_)) => Claimed::Stopped,
        _ => Claimed::Conflict,
    }
}

/// The condition of a guard.
fn guarded(what: &'static str, guard: &Guard) -> PortResult<Expression> {
    let ai = item::part(what, &Mode::Ai)?;
    Ok(Expression::new("#mode = :ai AND #epoch = :epoch")
        .with(":ai", ai)
        .number(":epoch", guard.epoch))
}

/// The parts of replies that are not in `open`, before others that are and were never tried. They have left, or the
/// query saw their transaction half done.
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

impl<A: Ambient> DynamoStore<A> {
    /// The delivery's record learns which message it is; a status that came first stays.
    fn linked(&self, message: &Message, link: &DeliveryLink) -> Action {
        let kept = i64::try_from(self.delivery_ttl.as_millis()).unwrap_or(i64::MAX);
        let mut change = Change::default()
            .set("message", text(message.id().as_str()))
            .set_to("ttl", "if_not_exists(#ttl, :kept)")
            .with(":kept", number(shift(self.table.ambient.now(), kept).as_second()));
        if let Some(id) = &link.provider_message_id {
            change = change.set("provider_message_id", text(id));
        }
        Action::Update(Key::delivery(&link.key), change, None)
    }
}

impl<A: Ambient> OutboxStore for DynamoStore<A> {
    async fn open(&self, thread: &ThreadId) -> PortResult<Vec<Message>> {
        const WHAT: &str = "reading open messages";
        let found = self.table.partition(WHAT, keys::open(thread), None).await?;
        let mut open: Vec<Message> = found
            .iter()
            .map(|item| item::read(WHAT, item))
            .collect::<PortResult<_>>()?;
        let earlier = earlier_parts(&open);
        if earlier.is_empty() {
            return Ok(open);
        }
        let keys = earlier
            .into_iter()
            .map(|(conversation, ordinal)| Key::open(&conversation, ordinal));
        for item in self
            .table
            .get_settled(WHAT, keys.collect())
            .await?
            .iter()
            .flatten()
        {
            open.push(item::read(WHAT, item)?);
        }
        open.sort_by_key(|message| (message.conversation.number(), message.ordinal));
        Ok(open)
    }

    async fn save_open(&self, message: &Message, landed: Option<&InFlight>) -> PortResult<Written> {
        const WHAT: &str = "writing an open message";
        let (item, condition) = (records::open(WHAT, message)?, before(WHAT, message)?);
        let Some(flight) = landed else {
            let put = self.table.put(WHAT, item, condition).await?;
            return Ok(if put.is_ok() {
                Written::Yes
            } else {
                Written::Conflict
            });
        };
        let actions = vec![Action::Put(item, condition), landing(message, flight)];
        Ok(written(&self.table.transact(WHAT, actions).await?))
    }

    async fn claim(
        &self,
        message: &Message,
        guard: Option<&Guard>,
        flight: &InFlight,
    ) -> PortResult<Claimed> {
        const WHAT: &str = "claiming a message";
        let mut actions = vec![Action::Put(records::open(WHAT, message)?, before(WHAT, message)?)];
        if let Some(guard) = guard {
            actions.push(Action::Check(
                Key::conversation(&guard.conversation),
                guarded(WHAT, guard)?,
            ));
        }
        let mut note = item::write(WHAT, flight)?;
        let kept = shift(self.table.ambient.now(), InFlight::KEPT_MS);
        note.insert("ttl".to_owned(), number(kept.as_second()));
        let note = Key::flight(&message.instance, flight).into_item(note);
        actions.push(Action::Put(note, None));
        Ok(match self.table.transact(WHAT, actions).await? {
            Ok(()) => Claimed::Yes,
            Err(refusals) => claimed(message, &refusals),
        })
    }

    async fn settle(
        &self,
        message: &Message,
        landed: Option<&InFlight>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> PortResult<Written> {
        const WHAT: &str = "settling a message";
        let condition = before(WHAT, message)?;
        let mut actions = if records::stays_open(message) {
            // Dead without its dead letter: nothing is lost of it, it stays where it will be found.
            vec![Action::Put(records::open(WHAT, message)?, condition)]
        } else {
            vec![
                Action::Delete(Key::open(&message.conversation, message.ordinal), condition),
                Action::Put(records::message(WHAT, message)?, None),
            ]
        };
        actions.extend(landed.map(|flight| landing(message, flight)));
        actions.extend(link.map(|link| self.linked(message, link)));
        if let Some(conversation) = conversation {
            actions.push(Action::Put(
                records::conversation(WHAT, conversation)?,
                Some(follows(conversation)),
            ));
        }
        Ok(written(&self.table.transact(WHAT, actions).await?))
    }

    async fn amend(&self, message: &Message) -> PortResult<Written> {
        const WHAT: &str = "amending a message";
        // Only a settled message's record carries a revision; that it carries none must not count as the first one.
        let settled = Expression::new("#out_rev = :before")
            .number(":before", out(WHAT, message)?.rev.saturating_sub(1));
        let (item, condition) = (records::message(WHAT, message)?, Some(settled));
        if records::stays_open(message) {
            let actions = vec![
                Action::Put(item, condition),
                Action::Put(records::open(WHAT, message)?, None),
            ];
            return Ok(written(&self.table.transact(WHAT, actions).await?));
        }
        let put = self.table.put(WHAT, item, condition).await?;
        Ok(if put.is_ok() {
            Written::Yes
        } else {
            Written::Conflict
        })
    }

    async fn in_flight(&self, instance: &InstanceId) -> PortResult<Vec<InFlight>> {
        const WHAT: &str = "reading sends in flight";
        let pk = keys::instance(instance);
        let found = self.table.partition(WHAT, pk, Some(keys::FLY)).await?;
        found.iter().map(|item| item::read(WHAT, item)).collect()
    }

    async fn hear(&self, instance: &InstanceId, flight: &InFlight, id: &str, echo: Echo) -> PortResult<bool> {
        // Noted before under the same id: by an earlier try of this request, or by a worker that came before.
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
        let change = Change::default().set(field, text(id));
        let key = Key::flight(instance, flight);
        let heard = self.table.update(
            "noting an echo",
            key,
            &change,
            Some(Expression::new(first)),
            ReturnValue::None,
        );
        Ok(heard.await?.is_ok())
    }
}

#[cfg(test)]
mod tests;
