//! Messages that are to be sent later.

use super::DynamoStore;
use super::conversations::{committed, follows, key_item};
use super::expression::Expression;
use super::item::{self, Item, number};
use super::keys::{self, Key};
use super::records;
use super::transaction::Action;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::scheduled::{Scheduled, ScheduledId};
use recado_pipeline::ports::{Ambient, Committed, KeyClaim, PortResult, Scheduling, Written};

/// A scheduled message as an item, in the index of what is open while it is pending.
fn record(what: &'static str, scheduled: &Scheduled) -> PortResult<Item> {
    let key = Key::scheduled(&scheduled.id);
    let mut item = item::write(what, scheduled)?;
    keys::index_open(&mut item, &key, scheduled.due());
    Ok(key.into_item(item))
}

/// The write of a scheduled message on condition that it follows what is stored.
fn put(what: &'static str, scheduled: &Scheduled) -> PortResult<Action> {
    let before = Expression::follows("rev", scheduled.rev);
    Ok(Action::Put(record(what, scheduled)?, Some(before)))
}

/// The condition that a client's key is new or expired.
pub(super) fn free(now: Timestamp) -> Expression {
    Expression::new("attribute_not_exists(#pk) OR #expires <= :now")
        .with(":now", number(now.as_millisecond()))
}

impl<A: Ambient> Scheduling for DynamoStore<A> {
    async fn put_scheduled(&self, scheduled: &Scheduled, key: Option<&KeyClaim>) -> PortResult<Committed> {
        const WHAT: &str = "keeping a scheduled message";
        let new = Action::Put(record(WHAT, scheduled)?, Some(Expression::absent()));
        let mut actions = vec![new];
        if let Some(claim) = key {
            let item = key_item(claim, scheduled.id.message());
            actions.push(Action::Put(item, Some(free(scheduled.created_at))));
        }
        match self.table.transact(WHAT, actions).await? {
            Ok(()) => Ok(Committed::Yes),
            Err(refusals) => committed(WHAT, &refusals, key.map(|_| 1)),
        }
    }

    async fn scheduled(&self, id: &ScheduledId) -> PortResult<Option<Scheduled>> {
        const WHAT: &str = "reading a scheduled message";
        let found = self.table.get(WHAT, Key::scheduled(id)).await?;
        found.map(|item| item::read(WHAT, &item)).transpose()
    }

    async fn save_scheduled(&self, scheduled: &Scheduled) -> PortResult<Written> {
        const WHAT: &str = "writing a scheduled message";
        let before = Expression::follows("rev", scheduled.rev);
        let put = self
            .table
            .put(WHAT, record(WHAT, scheduled)?, Some(before))
            .await?;
        Ok(if put.is_ok() {
            Written::Yes
        } else {
            Written::Conflict
        })
    }

    async fn fall_due(
        &self,
        scheduled: &Scheduled,
        conversation: &Conversation,
        message: &Message,
    ) -> PortResult<Written> {
        const WHAT: &str = "committing a scheduled message";
        let mut actions = vec![
            put(WHAT, scheduled)?,
            Action::Put(
                records::conversation(WHAT, conversation)?,
                Some(follows(conversation)),
            ),
            Action::Put(records::message(WHAT, message)?, None),
        ];
        if records::stays_open(message) {
            actions.push(Action::Put(records::open(WHAT, message)?, None));
        }
        Ok(match self.table.transact(WHAT, actions).await? {
            Ok(()) => Written::Yes,
            Err(_) => Written::Conflict,
        })
    }
}
