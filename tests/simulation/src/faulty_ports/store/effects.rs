use super::FaultyPort;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::conversation::ConversationMode;
use recado_domain::effects::{CellSpan, HeldCell, Journal, JournalChange};
use recado_domain::ids::{TenantId, ThreadId};
use recado_pipeline::ports::{EffectGuard, EffectJournals, JournalOutcome, PortResult, Store, WriteOutcome};
use recado_testkit::delegate_calls;
use std::sync::atomic::Ordering;

impl<S: Store> EffectJournals for FaultyPort<S> {
    delegate_calls! {
        delete_journal(journal: &Journal) -> WriteOutcome;
        list_journals(tenant: &TenantId, limit: usize) -> Vec<Journal>;
        list_unknown_effects(tenant: &TenantId, limit: usize) -> Vec<Journal>;
        list_booked_journals(tenant: &TenantId, limit: usize) -> Vec<Journal>;
        free_held_cells(tenant: &TenantId, cells: &[HeldCell]) -> ();
    }

    async fn store_begun_effect(
        &self,
        guard: &EffectGuard,
        journal: &Journal,
        takes: &[HeldCell],
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        self.injector.acted.store(true, Ordering::Relaxed);
        let takes = if self.injector.lacks(Mutation::CellsNotTaken) {
            &[]
        } else {
            takes
        };
        let effect = async {
            let outcome = if self.lacks_guard() {
                self.begin_beside(guard, journal, takes, now).await?
            } else {
                self.inner.store_begun_effect(guard, journal, takes, now).await?
            };
            if outcome == JournalOutcome::Written {
                self.remember_claims(journal);
                self.injector.note_begun_effect(journal);
            }
            Ok(outcome)
        };
        let outcome = self.around("begin_effect", effect).await;
        if self.injector.lacks(Mutation::CallClockNotRead) {
            // As it was when the effect began.
            self.injector
                .frozen
                .store(now.as_millisecond(), Ordering::Relaxed);
        }
        outcome
    }

    async fn save_journal_with_cells(
        &self,
        journal: &Journal,
        change: &JournalChange,
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        let (mut journal, mut change) = (journal.clone(), change.clone());
        if self.injector.lacks(Mutation::CellsKept) {
            change.frees.clear();
        }
        let saved = async {
            if self.leaves_given_up_cells(&change) {
                return Ok(JournalOutcome::Conflict);
            }
            self.spoil_bookings(&mut journal).await?;
            let outcome = self.inner.save_journal_with_cells(&journal, &change, now).await?;
            if outcome == JournalOutcome::Written {
                self.remember_claims(&journal);
            }
            let is_taken = outcome == JournalOutcome::CellTaken;
            if is_taken && self.injector.lacks(Mutation::ClashIsContended) {
                return Ok(JournalOutcome::Conflict);
            }
            Ok(outcome)
        };
        self.around("save_journal", saved).await
    }

    async fn list_held_cells(
        &self,
        tenant: &TenantId,
        span: &CellSpan,
        now: Timestamp,
    ) -> PortResult<Vec<HeldCell>> {
        let listed = self.inner.list_held_cells(tenant, span, now);
        self.around("list_held_cells", listed).await
    }

    async fn find_journal(&self, thread: &ThreadId) -> PortResult<Option<Journal>> {
        let mut found = self.around("journal", self.inner.find_journal(thread)).await?;
        if let Some(journal) = &mut found {
            self.injector.saw(&journal.tenant);
            self.forget_effects(journal);
            self.take_claims_back(journal);
        }
        Ok(found)
    }
}

impl<S: Store> FaultyPort<S> {
    /// Takes out of a journal what a mutation does not see.
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

    /// Returns `true` for a change that a mutation leaves out: a booking takes what it lacks of its time.
    fn leaves_given_up_cells(&self, change: &JournalChange) -> bool {
        let only_takes = !change.takes.is_empty() && change.frees.is_empty();
        only_takes && self.injector.lacks(Mutation::GivenUpCellsLeft)
    }

    /// Takes out of the bookings of a journal that is written what a mutation forgets.
    async fn spoil_bookings(&self, journal: &mut Journal) -> PortResult<()> {
        let lacks = |mutation| self.injector.lacks(mutation);
        let stored = if lacks(Mutation::RemindersOfOldTime) {
            self.inner.find_journal(&journal.thread).await?
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
                .and_then(|stored| stored.find_booking(&booking.event));
            let before = before.filter(|before| before.reminded_for.is_some());
            if let Some(before) = before.filter(|before| before.reminded_for != booking.reminded_for) {
                booking.reminders.clone_from(&before.reminders);
                booking.reminded_for = booking.reminded_for.or(before.reminded_for);
            }
        }
        Ok(())
    }

    /// Remembers the names of the open effects of a journal that this function wrote.
    fn remember_claims(&self, journal: &Journal) {
        if self.injector.lacks(Mutation::EndOfOthers) {
            let open = journal.entries.iter().filter(|entry| entry.state.is_open());
            let mut claims = self.injector.claims.lock().expect("nobody panics with it");
            claims.extend(open.map(|entry| (entry.number, entry.nonce.clone())));
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

    fn lacks_guard(&self) -> bool {
        [Mutation::BeginAfterTakeover, Mutation::BeginBesideNewer]
            .into_iter()
            .any(|mutation| self.injector.lacks(mutation))
    }

    /// Begins an effect on all conditions but the one that is taken out.
    async fn begin_beside(
        &self,
        guard: &EffectGuard,
        journal: &Journal,
        takes: &[HeldCell],
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        let found = self.inner.find_conversation(&guard.conversation).await?;
        let Some(conversation) = found else {
            return Ok(JournalOutcome::Stopped);
        };
        let is_agents = conversation.mode == ConversationMode::Ai && conversation.epoch == guard.epoch;
        let lacks = |mutation| self.injector.lacks(mutation);
        let holds = (is_agents || lacks(Mutation::BeginAfterTakeover))
            && conversation.answered == guard.answered
            && (conversation.turn_upto == guard.turn_upto || lacks(Mutation::BeginBesideNewer));
        if !holds {
            return Ok(JournalOutcome::Stopped);
        }
        let change = JournalChange {
            takes: takes.to_vec(),
            frees: Vec::new(),
        };
        self.inner.save_journal_with_cells(journal, &change, now).await
    }
}
