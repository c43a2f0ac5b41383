//! What a mutation takes out of effects: out of the journals that a function finds, and of their writes with cells.

use super::FaultyPort;
use crate::mutation::Mutation;
use recado_domain::conversation::ConversationMode;
use recado_domain::effects::Journal;
use recado_domain::moving::MovedCell;
use recado_pipeline::ports::{EffectGuard, PortResult, Store, System};
use recado_pipeline::records::effects::find_journal;
use recado_pipeline::table::{Record, Refusal, StoredItem, Write, WriteResult};
use std::sync::atomic::Ordering;

/// Returns the journal that is written, if one is. Its own write is the first.
fn find_written_journal(writes: &[Write]) -> Option<Journal> {
    writes.iter().find_map(|write| match write {
        Write::Put(item, _) if item.key.partition.name == Journal::KIND => {
            Journal::from_body(&item.body).ok()
        }
        _ => None,
    })
}

fn is_of_cell(write: &Write) -> bool {
    write.key().partition.name == MovedCell::KIND
}

fn frees_cell(write: &Write) -> bool {
    is_of_cell(write) && matches!(write, Write::Delete(..))
}

impl<P> FaultyPort<P> {
    /// Takes out of the item of a journal what a mutation does not see.
    pub(super) fn spoil_journal(&self, item: &mut StoredItem) {
        let Ok(mut journal) = Journal::from_body(&item.body) else {
            return;
        };
        self.injector.saw(&journal.tenant);
        self.forget_effects(&mut journal);
        self.take_claims_back(&mut journal);
        item.body = journal.to_body().expect("it can be written");
    }

    fn forget_effects(&self, journal: &mut Journal) {
        if self.injector.lacks(Mutation::EffectsForgotten) {
            journal.entries.retain(|entry| entry.state.is_open());
        }
        // Only by the drafts of others: who began it, and who settles it, must find it.
        let is_draft =
            self.injector.function == "deferred-reply" && !self.injector.acted.load(Ordering::Relaxed);
        if is_draft && self.injector.lacks(Mutation::BegunIsForgotten) {
            journal.entries.retain(|entry| !entry.state.is_open());
        }
    }

    /// Makes the effects that this function claimed once look as if nobody claimed them since.
    fn take_claims_back(&self, journal: &mut Journal) {
        let claims = self.injector.claims.lock().expect("nobody panics with it");
        for entry in journal.entries.iter_mut().filter(|entry| entry.state.is_open()) {
            if let Some(own) = claims.get(&entry.number) {
                entry.nonce = own.clone();
            }
        }
    }

    /// Remembers the names of the open effects of a journal that this function wrote.
    fn remember_claims(&self, journal: &Journal) {
        if self.injector.lacks(Mutation::EndOfOthers) {
            let open = journal.entries.iter().filter(|entry| entry.state.is_open());
            let mut claims = self.injector.claims.lock().expect("nobody panics with it");
            claims.extend(open.map(|entry| (entry.number, entry.nonce.clone())));
        }
    }

    /// Returns what a function learns of writes, among which may be that of a journal.
    pub(super) fn note_effect_writes(&self, writes: &[Write], written: WriteResult) -> WriteResult {
        let Some(journal) = find_written_journal(writes) else {
            return written;
        };
        match written {
            Ok(versions) => {
                self.remember_claims(&journal);
                Ok(versions)
            }
            // A cell is taken, and the function hears that the journal changed.
            Err(_) if self.injector.lacks(Mutation::ClashIsContended) => Err(Refusal(vec![0])),
            Err(refusal) => Err(refusal),
        }
    }

    fn lacks_guard(&self) -> bool {
        [Mutation::BeginAfterTakeover, Mutation::BeginBesideNewer]
            .into_iter()
            .any(|mutation| self.injector.lacks(mutation))
    }
}

impl<S: Store> FaultyPort<S> {
    /// Returns the writes that are made where a function makes these, among which may be that of a journal. `None`: they are refused.
    pub(super) async fn spoil_effect_writes(&self, mut writes: Vec<Write>) -> PortResult<Option<Vec<Write>>> {
        let Some(mut journal) = find_written_journal(&writes) else {
            return Ok(Some(writes));
        };
        if self.injector.lacks(Mutation::CellsKept) {
            writes.retain(|write| !frees_cell(write));
        }
        // A booking takes what it lacks of its time.
        let only_takes = writes.iter().any(is_of_cell) && !writes.iter().any(frees_cell);
        if only_takes && self.injector.lacks(Mutation::GivenUpCellsLeft) {
            return Ok(None);
        }
        self.spoil_bookings(&mut journal).await?;
        for write in &mut writes {
            if let Write::Put(item, _) = write
                && item.key.partition.name == Journal::KIND
            {
                item.body = journal.to_body()?;
            }
        }
        Ok(Some(writes))
    }

    /// Takes out of the bookings of a journal that is written what a mutation forgets.
    async fn spoil_bookings(&self, journal: &mut Journal) -> PortResult<()> {
        let lacks = |mutation| self.injector.lacks(mutation);
        let stored = if lacks(Mutation::RemindersOfOldTime) {
            find_journal(&self.inner, &journal.tenant, &journal.thread).await?
        } else {
            None
        };
        for booking in &mut journal.bookings {
            if let Some(clash) = booking.clash.as_mut().filter(|_| lacks(Mutation::ClashForgotten)) {
                clash.cells.clear();
            }
            booking.mark_due &= !lacks(Mutation::ConfirmationUnshown);
            let before = stored
                .as_ref()
                .and_then(|stored| stored.record.find_booking(&booking.event));
            let before = before.filter(|before| before.reminded_for.is_some());
            if let Some(before) = before.filter(|before| before.reminded_for != booking.reminded_for) {
                booking.reminders.clone_from(&before.reminders);
                booking.reminded_for = booking.reminded_for.or(before.reminded_for);
            }
        }
        Ok(())
    }

    /// Begins an effect, on the conditions that a mutation leaves.
    pub(super) async fn begin_spoiled(
        &self,
        guard: &EffectGuard,
        writes: &[Write],
    ) -> PortResult<Option<WriteResult>> {
        self.injector.acted.store(true, Ordering::Relaxed);
        let begun_at = self.injector.now();
        let mut writes = writes.to_vec();
        if self.injector.lacks(Mutation::CellsNotTaken) {
            writes.retain(|write| !is_of_cell(write));
        }
        let effect = async {
            let written = if self.lacks_guard() {
                self.begin_beside(guard, &writes).await?
            } else {
                self.inner.write_guarded(guard, &writes).await?
            };
            if let (Some(Ok(_)), Some(journal)) = (&written, find_written_journal(&writes)) {
                self.remember_claims(&journal);
                self.injector.note_begun_effect(&journal);
            }
            Ok(written)
        };
        let written = self.around("write_guarded", effect).await;
        if self.injector.lacks(Mutation::CallClockNotRead) {
            // As it was when the effect began.
            self.injector
                .frozen
                .store(begun_at.as_millisecond(), Ordering::Relaxed);
        }
        written
    }

    /// Begins an effect on all conditions but the one that is taken out.
    async fn begin_beside(&self, guard: &EffectGuard, writes: &[Write]) -> PortResult<Option<WriteResult>> {
        let found = self.inner.find_conversation(&guard.conversation).await?;
        let Some(conversation) = found else {
            return Ok(None);
        };
        let is_agents = conversation.mode == ConversationMode::Ai && conversation.epoch == guard.epoch;
        let lacks = |mutation| self.injector.lacks(mutation);
        let holds = (is_agents || lacks(Mutation::BeginAfterTakeover))
            && conversation.answered == guard.answered
            && (conversation.turn_upto == guard.turn_upto || lacks(Mutation::BeginBesideNewer));
        if !holds {
            return Ok(None);
        }
        self.inner.write(writes).await.map(Some)
    }
}
