//! The journals of effects, and the cells that events hold.
//!
//! A journal is two items. The small one has its revision, which conditions compare, and the places in the indexes; the other
//! holds the journal. Both are written together, so the second one alone is a consistent read.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use super::lists::ListSource;
use super::table::RecordQuery;
use super::transaction::{FailedConditions, TransactionAction};
use futures::future::try_join_all;
use jiff::Timestamp;
use recado_domain::effects::{Cell, CellSpan, EffectId, HeldCell, Journal, JournalChange};
use recado_domain::ids::{TenantId, ThreadId};
use recado_domain::millis::from_unix_millis;
use recado_ports::ports::{
    EffectGuard, EffectJournals, JournalOutcome, PortError, PortResult, System, WriteOutcome,
};

/// Returns the condition that the stored journal has this `rev`; none is stored of one that was never written.
fn journal_has_revision(rev: u64) -> Expression {
    Expression::follows_revision("rev", rev.saturating_add(1))
}

/// Returns the check that the journal of a thread is as it was read, for the commit of a reply.
pub(super) fn check_journal_action(thread: &ThreadId, rev: u64) -> TransactionAction {
    TransactionAction::Check(TableKey::for_journal(thread), journal_has_revision(rev))
}

/// Returns the condition that a conversation is as it was drafted.
fn conversation_is_as_drafted(guard: &EffectGuard) -> Expression {
    let text = "#mode = :mode AND #epoch = :epoch AND #answered = :answered AND #turn_upto = :upto";
    Expression::new(text)
        .with_text(":mode", "ai")
        .with_number(":epoch", guard.epoch)
        .with_number(":answered", guard.answered.0)
        .with_number(":upto", guard.turn_upto.0)
}

/// Returns the writes of a journal, on condition that the stored one has the revision before it.
pub(super) fn journal_actions(what: &'static str, journal: &Journal) -> PortResult<[TransactionAction; 2]> {
    let text = serde_json::to_string(journal).map_err(|error| PortError::invalid(what, error))?;
    PortError::check_record_size(what, text.len())?;
    let key = TableKey::for_journal(&journal.thread);
    let mut head = Item::from([("rev".to_owned(), number_attribute(journal.rev))]);
    keys::index_open(&mut head, &key, journal.journal_due_at());
    keys::index_tenant_list(
        &mut head,
        keys::tenant_journals(&journal.tenant),
        journal.begun_at,
    );
    if let Some(first) = journal.first_booked_at() {
        let list = keys::booked_journals(&journal.tenant);
        head.insert("list_key".to_owned(), text_attribute(list));
        head.insert("list_at".to_owned(), number_attribute(first.as_millisecond()));
    }
    let mut body = Item::from([("journal".to_owned(), text_attribute(text))]);
    if let Some(since) = journal.unknown_since() {
        keys::index_tenant_list(&mut body, keys::tenant_unknown_effects(&journal.tenant), since);
    }
    let body_key = TableKey::for_journal_body(&journal.thread);
    let before = Expression::follows_revision("rev", journal.rev);
    Ok([
        TransactionAction::Put(key.into_item(head), Some(before)),
        TransactionAction::Put(body_key.into_item(body), None),
    ])
}

pub(super) fn parse_journal(what: &'static str, item: &Item) -> PortResult<Journal> {
    let text = item::get_string(item, "journal").unwrap_or_default();
    serde_json::from_str(text).map_err(|error| PortError::invalid(what, error))
}

/// Returns the write by which an event takes a cell.
pub(super) fn take_cell_action(tenant: &TenantId, held: &HeldCell, now: Timestamp) -> TransactionAction {
    let item = Item::from([
        ("holder".to_owned(), text_attribute(held.holder.as_str())),
        (
            "expires".to_owned(),
            number_attribute(held.expires.as_millisecond()),
        ),
        (
            "ttl".to_owned(),
            number_attribute(held.expires.as_second().saturating_add(1)),
        ),
    ]);
    let free = Expression::new("attribute_not_exists(#pk) OR #expires <= :now OR #holder = :holder")
        .with_number(":now", now.as_millisecond())
        .with_text(":holder", held.holder.as_str());
    TransactionAction::Put(TableKey::for_cell(tenant, &held.cell).into_item(item), Some(free))
}

fn cell_is_held_by(held: &HeldCell) -> Expression {
    Expression::new("#holder = :holder").with_text(":holder", held.holder.as_str())
}

/// Returns the write by which an event gives a cell back.
fn free_cell_action(tenant: &TenantId, held: &HeldCell) -> TransactionAction {
    let absent_or_own = Expression::new("attribute_not_exists(#pk) OR #holder = :holder")
        .with_text(":holder", held.holder.as_str());
    TransactionAction::Delete(TableKey::for_cell(tenant, &held.cell), Some(absent_or_own))
}

pub(super) fn parse_held_cell(what: &'static str, calendar: &str, item: &Item) -> PortResult<HeldCell> {
    let malformed = || PortError::invalid(what, "a cell that cannot be read");
    let start = keys::parse_cell_start(item).ok_or_else(malformed)?;
    let holder = EffectId::parse(item::get_string(item, "holder").unwrap_or_default());
    let expires = item::get_integer(item, "expires").ok_or_else(malformed)?;
    Ok(HeldCell {
        cell: Cell {
            calendar: calendar.to_owned(),
            start: from_unix_millis(start),
        },
        holder: holder.map_err(|error| PortError::invalid(what, error))?,
        expires: from_unix_millis(expires),
    })
}

impl<A: System> DynamoStore<A> {
    /// Writes a journal with its cells after the actions `before`. Cells that another event holds by now are not freed.
    async fn write_journal(
        &self,
        what: &'static str,
        guard: Option<&EffectGuard>,
        journal: &Journal,
        change: &JournalChange,
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        let (tenant, mut frees) = (&journal.tenant, change.frees.clone());
        loop {
            let mut actions = Vec::new();
            if let Some(guard) = guard {
                let key = TableKey::for_conversation(&guard.conversation);
                actions.push(TransactionAction::Check(key, conversation_is_as_drafted(guard)));
            }
            actions.extend(journal_actions(what, journal)?);
            let head = usize::from(guard.is_some());
            actions.extend(
                change
                    .takes
                    .iter()
                    .map(|held| take_cell_action(tenant, held, now)),
            );
            let first_free = actions.len();
            actions.extend(frees.iter().map(|held| free_cell_action(tenant, held)));
            let Err(failed) = self.table.run_transaction(what, actions).await? else {
                return Ok(JournalOutcome::Written);
            };
            if let Some(outcome) = refused_write(&failed, head, first_free) {
                return Ok(outcome);
            }
            let mut number = first_free;
            frees.retain(|_| {
                number += 1;
                failed.for_action(number - 1).is_none()
            });
        }
    }

    /// Reads the journals that a list names, from its begin.
    async fn read_journal_list(
        &self,
        what: &'static str,
        list: ListSource,
        limit: usize,
    ) -> PortResult<Vec<Journal>> {
        let query = RecordQuery {
            index: Some(list.index()),
            keys: list.key_condition(i64::MIN, i64::MAX),
            filter: None,
            reverse: false,
            limit: Some(limit),
        };
        let found = self.table.query_records(what, &query).await?;
        let threads: Vec<ThreadId> = found.iter().filter_map(keys::parse_journal_key).collect();
        let bodies = threads.iter().map(TableKey::for_journal_body).collect();
        let items = self.table.get_records(what, bodies, true).await?;
        let mut journals: Vec<Journal> = items
            .iter()
            .map(|item| parse_journal(what, item))
            .collect::<PortResult<_>>()?;
        journals.sort_by_key(|journal| threads.iter().position(|thread| *thread == journal.thread));
        Ok(journals)
    }
}

/// Returns the outcome of a refused write. `None`: only cells could not be freed, which are others' by now.
fn refused_write(failed: &FailedConditions, head: usize, first_free: usize) -> Option<JournalOutcome> {
    if head > 0 && failed.for_action(0).is_some() {
        return Some(JournalOutcome::Stopped);
    }
    if failed.for_action(head).is_some() {
        return Some(JournalOutcome::Conflict);
    }
    let taken = (head + 2..first_free).any(|action| failed.for_action(action).is_some());
    taken.then_some(JournalOutcome::CellTaken)
}

impl<A: System> EffectJournals for DynamoStore<A> {
    async fn find_journal(&self, thread: &ThreadId) -> PortResult<Option<Journal>> {
        const WHAT: &str = "reading a journal";
        let found = self.table.get_record(WHAT, TableKey::for_journal_body(thread));
        let found = found.await?;
        found.map(|item| parse_journal(WHAT, &item)).transpose()
    }

    async fn store_begun_effect(
        &self,
        guard: &EffectGuard,
        journal: &Journal,
        takes: &[HeldCell],
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        let change = JournalChange {
            takes: takes.to_vec(),
            frees: Vec::new(),
        };
        self.write_journal("beginning an effect", Some(guard), journal, &change, now)
            .await
    }

    async fn save_journal_with_cells(
        &self,
        journal: &Journal,
        change: &JournalChange,
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        self.write_journal("writing a journal", None, journal, change, now)
            .await
    }

    async fn delete_journal(&self, journal: &Journal) -> PortResult<WriteOutcome> {
        let as_read =
            Expression::new("attribute_not_exists(#pk) OR #rev = :rev").with_number(":rev", journal.rev);
        let actions = vec![
            TransactionAction::Delete(TableKey::for_journal(&journal.thread), Some(as_read)),
            TransactionAction::Delete(TableKey::for_journal_body(&journal.thread), None),
        ];
        let deleted = self.table.run_transaction("deleting a journal", actions).await?;
        Ok(match deleted {
            Ok(()) => WriteOutcome::Written,
            Err(_) => WriteOutcome::Conflict,
        })
    }

    async fn list_journals(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<Journal>> {
        let list = ListSource::OfTenant(keys::tenant_journals(tenant));
        self.read_journal_list("listing journals", list, limit).await
    }

    async fn list_unknown_effects(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<Journal>> {
        let list = ListSource::OfTenant(keys::tenant_unknown_effects(tenant));
        self.read_journal_list("listing unknown effects", list, limit)
            .await
    }

    async fn list_booked_journals(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<Journal>> {
        let list = ListSource::Lists(keys::booked_journals(tenant));
        self.read_journal_list("listing what is booked", list, limit)
            .await
    }

    async fn list_held_cells(
        &self,
        tenant: &TenantId,
        span: &CellSpan,
        now: Timestamp,
    ) -> PortResult<Vec<HeldCell>> {
        const WHAT: &str = "listing held cells";
        let (first, end) = span.cell_bounds();
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk AND #sk BETWEEN :first AND :end")
                .with_text(":pk", keys::cells_pk(tenant))
                .with_text(":first", keys::cell_sk(&span.calendar, first))
                .with_text(":end", keys::cell_sk(&span.calendar, end)),
            filter: None,
            reverse: false,
            limit: None,
        };
        let found = self.table.query_records(WHAT, &query).await?;
        let cells = found
            .iter()
            .map(|item| parse_held_cell(WHAT, &span.calendar, item));
        let mut cells: Vec<HeldCell> = cells.filter_map(item::keep_readable).collect();
        cells.retain(|held| held.expires > now && held.cell.start < end);
        Ok(cells)
    }

    async fn free_held_cells(&self, tenant: &TenantId, cells: &[HeldCell]) -> PortResult<()> {
        let free = |held: &HeldCell| {
            let (key, own) = (TableKey::for_cell(tenant, &held.cell), cell_is_held_by(held));
            async move {
                let _others_or_free = self.table.delete_record("freeing a cell", key, own).await?;
                Ok::<(), PortError>(())
            }
        };
        try_join_all(cells.iter().map(free)).await?;
        Ok(())
    }
}
