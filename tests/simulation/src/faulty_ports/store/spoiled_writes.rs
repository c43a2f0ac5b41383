//! What a mutation takes out of writes of the table: of clients' keys and of reminders.

use super::FaultyPort;
use crate::mutation::Mutation;
use recado_domain::moving::HeldKey;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};
use recado_pipeline::table::{Change, Condition, Key, Record, Versioned, Write};

impl<P> FaultyPort<P> {
    /// Whether a mutation hides this item from the function, and its writes from the store.
    pub(super) fn is_forgotten(&self, key: &Key) -> bool {
        key.partition.name == HeldKey::KIND && self.injector.lacks(Mutation::KeyForgotten)
    }

    /// Returns the writes that are made where a function makes these.
    pub(super) fn spoil_client_writes(&self, writes: &[Write]) -> Vec<Write> {
        let kept = writes.iter().filter(|write| !self.is_forgotten(write.key()));
        let kept: Vec<Write> = kept.cloned().collect();
        if self.injector.function != "reconcile" {
            return kept;
        }
        self.spoil_reminder(kept)
    }

    /// Takes out of a reminder what a mutation leaves out. `reconcile` makes no other scheduled messages.
    fn spoil_reminder(&self, writes: Vec<Write>) -> Vec<Write> {
        let is_renamed = self.injector.lacks(Mutation::RemindersNamedAnew);
        let is_unnamed = self.injector.lacks(Mutation::ReminderUnnamed);
        let new = writes.iter().find_map(|write| match write {
            Write::Put(item, Condition::Absent) if item.key.partition.name == ScheduledMessage::KIND => {
                Some(&item.body)
            }
            _ => None,
        });
        let Some(body) = new.filter(|_| is_renamed || is_unnamed) else {
            return writes;
        };
        let mut scheduled = ScheduledMessage::from_body(body).expect("a scheduled message");
        if is_renamed {
            let simulation = &self.injector.common.simulation;
            let id = format!("s_{:016x}{:016x}", simulation.random(), simulation.random());
            scheduled.id = ScheduledId::parse(&id).expect("an id");
        }
        if is_unnamed {
            scheduled.metadata = None;
        }
        let is_of_another = |write: &&Write| {
            let name = write.key().partition.name;
            name != ScheduledMessage::KIND && !ScheduledMessage::INDEXES.contains(&name)
        };
        let others = writes.iter().filter(is_of_another).cloned();
        let change = Change::save(&Versioned::new(scheduled)).expect("it can be written");
        change.writes.into_iter().chain(others).collect()
    }
}
