//! The journals of effects, and the cells that events hold. A journal is written whole, together with the cells that change with it.

use super::audit::format_sort_time;
use super::list_due_ids;
use crate::ports::{EffectGuard, PageRequest, PortResult, Store, WRITE_TRIES};
use crate::table::{
    Change, IndexEntry, Key, Partition, Query, Record, Refusal, Table, Versioned, Write, find_versions,
    find_with_version, list_all_records, list_records, remove_record,
};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::effects::{CellSpan, HeldCell, Journal, JournalChange};
use recado_domain::ids::{TenantId, ThreadId};
use recado_domain::moving::MovedCell;
use recado_domain::published_event::{PublishedEvent, derive_journal_events};

/// The partition in which a tenant's journals with bookings are listed, by the begin of the first one.
const BOOKED: &str = "journals.booked";

/// The number of cells that are read at once.
const CELLS_AT_ONCE: usize = 1_000;

impl Record for Journal {
    const KIND: &'static str = "journals";
    const INDEXES: &'static [&'static str] = &[BOOKED];
    const IS_PUBLISHED: bool = true;
    const HAS_TIMES: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.thread.as_str().to_owned()
    }

    fn compute_due_time(&self) -> Option<Timestamp> {
        self.journal_due_at()
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let entry = |first: Timestamp| {
            let sort = format!("{}#{}", format_sort_time(first), self.thread.as_str());
            IndexEntry::new(Key::new(BOOKED, self.owner(), sort)).shared()
        };
        self.first_booked_at().map(entry).into_iter().collect()
    }

    fn derive_published_events(old: Option<&Self>, new: &Self, at: Timestamp) -> Vec<PublishedEvent> {
        derive_journal_events(old, new, at)
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_journal(self)
    }

    fn free_held(&mut self, now: Timestamp) -> bool {
        self.free_entries(now)
    }
}

impl Record for MovedCell {
    const KIND: &'static str = "cells";

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        format_sort_of_cell(&self.calendar, self.start)
    }

    /// The cell is free then without being given back.
    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires)
    }
}

fn format_sort_of_cell(calendar: &str, start: Timestamp) -> String {
    format!("{calendar}#{}", format_sort_time(start))
}

/// The result of writing a journal with its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that lost must not be taken for one that won"]
pub enum JournalOutcome {
    /// The journal and its cells were written.
    Written,
    /// The conversation is not as drafted any more: nothing was written.
    Stopped,
    /// Another writer changed the journal since it was read: nothing was written.
    Conflict,
    /// A cell is held by another event: nothing was written.
    CellTaken,
}

/// Returns the journal of a thread by a strong read; `None` if the agent never did anything for it.
pub async fn find_journal(
    table: &dyn Table,
    tenant: &TenantId,
    thread: &ThreadId,
) -> PortResult<Option<Versioned<Journal>>> {
    find_with_version(table, Some(tenant), thread.as_str()).await
}

/// Returns whether the stored journal is still the one that was read.
pub async fn is_journal_unchanged(table: &dyn Table, known: &Versioned<Journal>) -> PortResult<bool> {
    Ok(table.write(&[known.require_unchanged()]).await?.is_ok())
}

/// Begins an effect in one transaction. It checks that the conversation is as `guard` says, writes the journal if the stored one is that
/// which was read, and takes each cell of `takes`. A cell can be taken that nobody holds, whose holder expired, or that the event holds already.
/// [`JournalOutcome::Stopped`] takes precedence over [`JournalOutcome::Conflict`], and that over [`JournalOutcome::CellTaken`].
/// Afterwards `journal` may be changed and saved again.
pub async fn store_begun_effect(
    store: &dyn Store,
    guard: &EffectGuard,
    journal: &mut Versioned<Journal>,
    takes: &[HeldCell],
) -> PortResult<JournalOutcome> {
    let change = JournalChange {
        takes: takes.to_vec(),
        frees: Vec::new(),
    };
    save_journal_with_cells(store, Some(guard), journal, &change).await
}

/// Writes a journal if the stored one is that which was read, and the conversation is as `guard` says. Takes and frees cells in the same
/// transaction. Cells are taken as [`store_begun_effect`] does. A cell that another event holds by now is not freed. Afterwards `journal`
/// may be changed and saved again.
pub async fn save_journal_with_cells(
    store: &dyn Store,
    guard: Option<&EffectGuard>,
    journal: &mut Versioned<Journal>,
    change: &JournalChange,
) -> PortResult<JournalOutcome> {
    let (own, tenant) = (Change::save(journal)?, journal.record.tenant.clone());
    // What is taken is free as a rule, so only what is freed is read before.
    let mut known = find_cells(store, &tenant, &change.frees).await?;
    for _ in 0..WRITE_TRIES {
        let writes = [own.writes.clone(), list_cell_writes(&tenant, change, &known)?].concat();
        let written = match guard {
            Some(guard) => store.write_guarded(guard, &writes).await?,
            None => Some(store.write(&writes).await?),
        };
        match written {
            None => return Ok(JournalOutcome::Stopped),
            Some(Ok(versions)) => {
                journal.note_saved(versions.first().copied());
                return Ok(JournalOutcome::Written);
            }
            Some(Err(Refusal(refused))) if own.refused_by(&refused, 0).is_some() => {
                return Ok(JournalOutcome::Conflict);
            }
            Some(Err(_)) => {}
        }
        let all = [change.takes.as_slice(), &change.frees].concat();
        known = find_cells(store, &tenant, &all).await?;
        let is_taken = |held: &HeldCell| known.iter().any(|found| is_of_another(&found.record, held));
        if change.takes.iter().any(is_taken) {
            break;
        }
    }
    Ok(JournalOutcome::CellTaken)
}

/// Returns the writes that take and free cells, of which those in `known` are stored. What another event holds is not freed.
fn list_cell_writes(
    tenant: &TenantId,
    change: &JournalChange,
    known: &[Versioned<MovedCell>],
) -> PortResult<Vec<Write>> {
    let find_own = |held: &HeldCell| known.iter().find(|found| is_own(&found.record, held));
    let mut writes = Vec::new();
    for held in &change.takes {
        let cell = MovedCell::new(tenant.clone(), held.clone());
        let taken = Versioned::replacing(find_own(held).cloned(), cell);
        writes.extend(Change::save(&taken)?.writes);
    }
    let freed = change.frees.iter().filter_map(find_own);
    writes.extend(freed.flat_map(|found| Change::remove(found).writes));
    Ok(writes)
}

fn is_same_cell(found: &MovedCell, held: &HeldCell) -> bool {
    found.calendar == held.cell.calendar && found.start == held.cell.start
}

fn is_own(found: &MovedCell, held: &HeldCell) -> bool {
    is_same_cell(found, held) && found.holder == held.holder
}

fn is_of_another(found: &MovedCell, held: &HeldCell) -> bool {
    is_same_cell(found, held) && found.holder != held.holder
}

/// Reads those of these cells that are held, whoever holds them.
async fn find_cells(
    table: &dyn Table,
    tenant: &TenantId,
    cells: &[HeldCell],
) -> PortResult<Vec<Versioned<MovedCell>>> {
    let key = |held: &HeldCell| {
        let sort = format_sort_of_cell(&held.cell.calendar, held.cell.start);
        Key::new(MovedCell::KIND, Some(tenant), sort)
    };
    let keys: Vec<Key> = cells.iter().map(key).collect();
    find_versions(table, &keys).await
}

/// Lists journals of a tenant by their threads, at most `limit`.
pub async fn list_journals(table: &dyn Table, tenant: &TenantId, limit: usize) -> PortResult<Vec<Journal>> {
    let own = Query::new(Partition::new(Journal::KIND, Some(tenant)), limit);
    let page = PageRequest::first(limit);
    Ok(list_records(table, own, &page, |_| true).await?.items)
}

/// Lists the journals of a tenant with bookings, at most `limit`. The journal whose earliest booking begins the soonest comes first.
pub async fn list_booked_journals(
    table: &dyn Table,
    tenant: &TenantId,
    limit: usize,
) -> PortResult<Vec<Journal>> {
    let booked = Query::new(Partition::new(BOOKED, Some(tenant)), limit);
    let page = PageRequest::first(limit);
    let is_booked = |journal: &Journal| journal.first_booked_at().is_some();
    Ok(list_records(table, booked, &page, is_booked).await?.items)
}

/// Lists the threads whose journals are due at `now`, at most `limit`, the longest due first, with their tenants. The list may be some
/// seconds old.
pub async fn list_due_journals(
    table: &dyn Table,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<(TenantId, ThreadId)>> {
    list_due_ids::<Journal, _, _>(table, now, limit, ThreadId::parse).await
}

/// Lists the cells within `span` that events of the tenant hold, in their order, by a strong read.
pub async fn list_held_cells(
    table: &dyn Table,
    tenant: &TenantId,
    span: &CellSpan,
) -> PortResult<Vec<HeldCell>> {
    let (first, end) = span.cell_bounds();
    let within = Query {
        from: Some(format_sort_of_cell(&span.calendar, first)),
        to: Some(format_sort_of_cell(&span.calendar, end)),
        ..Query::new(Partition::new(MovedCell::KIND, Some(tenant)), CELLS_AT_ONCE)
    };
    // A calendar whose name goes on as a time does may have cells between these.
    let is_within = |cell: &MovedCell| cell.calendar == span.calendar && cell.start < end;
    let found = list_all_records(table, within, is_within).await?;
    Ok(found.iter().map(MovedCell::to_held_cell).collect())
}

/// Frees cells that their event still holds, each by itself.
pub async fn free_held_cells(table: &dyn Table, tenant: &TenantId, cells: &[HeldCell]) -> PortResult<()> {
    for found in find_cells(table, tenant, cells).await? {
        if cells.iter().any(|held| is_own(&found.record, held)) {
            // Whoever changed it meanwhile frees it, or has it.
            remove_record(table, &found).await?;
        }
    }
    Ok(())
}
