use super::conversations::select_conversation;
use super::published_events::insert_published_events;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    encode_json, execute_sql, follows_stored, keep_readable, query_all, query_one, to_sql_integer,
    to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::conversation::ConversationMode;
use recado_domain::effects::{Cell, CellSpan, EffectId, HeldCell, Journal, JournalChange};
use recado_domain::ids::{TenantId, ThreadId};
use recado_domain::millis;
use recado_domain::published_event::derive_journal_events;
use recado_ports::ports::{EffectGuard, EffectJournals, JournalOutcome, PortError, PortResult, WriteOutcome};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Returns whether the stored journal of a thread has this `rev`; none is stored of one that was never written.
pub(super) fn journal_has_revision(
    connection: &Connection,
    thread: &ThreadId,
    rev: u64,
) -> Result<bool, DbError> {
    let stored: Option<i64> = connection
        .prepare_cached("SELECT rev FROM journals WHERE thread = ?1")?
        .query_row([thread.as_str()], |row| row.get(0))
        .optional()?;
    Ok(follows_stored(stored, rev.saturating_add(1)))
}

/// A row of the table of journals.
pub(crate) struct JournalRow {
    thread: ThreadId,
    tenant: TenantId,
    begun_at: i64,
    unknown_since: Option<i64>,
    due: Option<i64>,
    booked_at: Option<i64>,
    rev: u64,
    body: String,
    journal: Journal,
}

impl JournalRow {
    fn from_journal(journal: &Journal, what: &'static str) -> PortResult<Self> {
        let row = Self::from_record(journal).map_err(|fault| fault.into_port_error(what))?;
        PortError::check_record_size(what, row.body.len())?;
        Ok(row)
    }

    pub(crate) fn from_record(journal: &Journal) -> Result<Self, DbError> {
        Ok(Self {
            thread: journal.thread.clone(),
            tenant: journal.tenant.clone(),
            begun_at: journal.begun_at.as_millisecond(),
            unknown_since: journal.unknown_since().map(Timestamp::as_millisecond),
            due: journal.journal_due_at().map(Timestamp::as_millisecond),
            booked_at: journal.first_booked_at().map(Timestamp::as_millisecond),
            rev: journal.rev,
            body: encode_json(journal)?,
            journal: journal.clone(),
        })
    }

    fn follows_stored(&self, connection: &Connection) -> Result<bool, DbError> {
        match self.rev.checked_sub(1) {
            Some(before) => journal_has_revision(connection, &self.thread, before),
            None => Ok(false),
        }
    }

    /// Writes the journal and its cells, if the journal is as it was read and no cell is another event's.
    fn write_with_cells(
        &self,
        connection: &Connection,
        change: &JournalChange,
        now: Timestamp,
    ) -> Result<JournalOutcome, DbError> {
        if !self.follows_stored(connection)? {
            return Ok(JournalOutcome::Conflict);
        }
        for held in &change.takes {
            if is_held_by_another(connection, &self.tenant, held, now)? {
                return Ok(JournalOutcome::CellTaken);
            }
        }
        let stored = "SELECT body FROM journals WHERE thread = ?1";
        let stored: Option<Journal> = query_one(connection, stored, [self.thread.as_str()])?;
        let events = derive_journal_events(stored.as_ref(), &self.journal, now);
        insert_published_events(connection, &events)?;
        self.write_row(connection)?;
        for held in &change.takes {
            insert_held_cell(connection, &self.tenant, held)?;
        }
        delete_held_cells(connection, &self.tenant, &change.frees)?;
        Ok(JournalOutcome::Written)
    }

    /// Inserts or replaces the row.
    pub(crate) fn write_row(&self, connection: &Connection) -> Result<(), DbError> {
        let sql = "INSERT OR REPLACE INTO journals (thread, tenant, begun_at, unknown_since, due, rev, body, booked_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let values = params![
            self.thread.as_str(),
            self.tenant.as_str(),
            self.begun_at,
            self.unknown_since,
            self.due,
            to_sql_integer(self.rev),
            self.body,
            self.booked_at
        ];
        execute_sql(connection, sql, values).map(drop)
    }
}

fn is_held_by_another(
    connection: &Connection,
    tenant: &TenantId,
    held: &HeldCell,
    now: Timestamp,
) -> Result<bool, DbError> {
    let sql = "SELECT 1 FROM cells WHERE tenant = ?1 AND calendar = ?2 AND start = ?3 AND holder <> ?4 AND expires > ?5";
    let (cell, holder) = (&held.cell, held.holder.as_str());
    let start = cell.start.as_millisecond();
    let values = params![
        tenant.as_str(),
        cell.calendar,
        start,
        holder,
        now.as_millisecond()
    ];
    Ok(connection.prepare_cached(sql)?.exists(values)?)
}

pub(super) fn insert_held_cell(
    connection: &Connection,
    tenant: &TenantId,
    held: &HeldCell,
) -> Result<(), DbError> {
    let sql =
        "INSERT OR REPLACE INTO cells (tenant, calendar, start, holder, expires) VALUES (?1, ?2, ?3, ?4, ?5)";
    let (cell, expires) = (&held.cell, held.expires.as_millisecond());
    let start = cell.start.as_millisecond();
    let values = params![
        tenant.as_str(),
        cell.calendar,
        start,
        held.holder.as_str(),
        expires
    ];
    execute_sql(connection, sql, values)?;
    Ok(())
}

fn delete_held_cells(connection: &Connection, tenant: &TenantId, cells: &[HeldCell]) -> Result<(), DbError> {
    let sql = "DELETE FROM cells WHERE tenant = ?1 AND calendar = ?2 AND start = ?3 AND holder = ?4";
    for held in cells {
        let start = held.cell.start.as_millisecond();
        let values = params![tenant.as_str(), held.cell.calendar, start, held.holder.as_str()];
        execute_sql(connection, sql, values)?;
    }
    Ok(())
}

/// Returns whether the conversation is as it was drafted.
fn is_conversation_as_drafted(connection: &Connection, guard: &EffectGuard) -> Result<bool, DbError> {
    let found = select_conversation(connection, &guard.conversation)?;
    Ok(found.is_some_and(|found| {
        found.mode == ConversationMode::Ai
            && found.epoch == guard.epoch
            && found.answered == guard.answered
            && found.turn_upto == guard.turn_upto
    }))
}

/// Parses a row of a cell: its start, its holder and when it expires.
fn parse_cell(span: &CellSpan, row: &Row<'_>) -> Result<HeldCell, DbError> {
    let holder: String = row.get(1)?;
    Ok(HeldCell {
        cell: Cell {
            calendar: span.calendar.clone(),
            start: millis::from_unix_millis(row.get(0)?),
        },
        holder: EffectId::parse(&holder).map_err(|_| DbError::Argument("a cell's event is unreadable"))?,
        expires: millis::from_unix_millis(row.get(2)?),
    })
}

fn select_held_cells(
    connection: &Connection,
    tenant: &TenantId,
    span: &CellSpan,
    now: Timestamp,
) -> Result<Vec<HeldCell>, DbError> {
    let (first, end) = span.cell_bounds();
    let mut statement = connection.prepare_cached(
        "SELECT start, holder, expires FROM cells
            WHERE tenant = ?1 AND calendar = ?2 AND start >= ?3 AND start < ?4 AND expires > ?5 ORDER BY start",
    )?;
    let (first, end) = (first.as_millisecond(), end.as_millisecond());
    let values = params![tenant.as_str(), span.calendar, first, end, now.as_millisecond()];
    let mut rows = statement.query(values)?;
    let mut cells = Vec::new();
    while let Some(row) = rows.next()? {
        cells.extend(keep_readable("cells", parse_cell(span, row))?);
    }
    Ok(cells)
}

impl EffectJournals for Embedded {
    async fn find_journal(&self, thread: &ThreadId) -> PortResult<Option<Journal>> {
        let thread = thread.clone();
        let sql = "SELECT body FROM journals WHERE thread = ?1";
        self.run_lookup("find_journal", move |c| query_one(c, sql, [thread.as_str()]))
            .await
    }

    async fn store_begun_effect(
        &self,
        guard: &EffectGuard,
        journal: &Journal,
        takes: &[HeldCell],
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        const WHAT: &str = "begin_effect";
        let (guard, row) = (guard.clone(), JournalRow::from_journal(journal, WHAT)?);
        let change = JournalChange {
            takes: takes.to_vec(),
            frees: Vec::new(),
        };
        let work = move |c: &Connection| {
            if !is_conversation_as_drafted(c, &guard)? {
                return Ok(JournalOutcome::Stopped);
            }
            row.write_with_cells(c, &change, now)
        };
        self.run_write(WHAT, work).await
    }

    async fn save_journal_with_cells(
        &self,
        journal: &Journal,
        change: &JournalChange,
        now: Timestamp,
    ) -> PortResult<JournalOutcome> {
        const WHAT: &str = "save_journal";
        let (row, change) = (JournalRow::from_journal(journal, WHAT)?, change.clone());
        self.run_write(WHAT, move |c| row.write_with_cells(c, &change, now))
            .await
    }

    async fn delete_journal(&self, journal: &Journal) -> PortResult<WriteOutcome> {
        let (thread, rev) = (journal.thread.clone(), journal.rev);
        let work = move |c: &Connection| {
            if !journal_has_revision(c, &thread, rev)? && !journal_has_revision(c, &thread, 0)? {
                return Ok(WriteOutcome::Conflict);
            }
            execute_sql(c, "DELETE FROM journals WHERE thread = ?1", [thread.as_str()])?;
            Ok(WriteOutcome::Written)
        };
        self.run_write("delete_journal", work).await
    }

    async fn list_journals(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<Journal>> {
        let tenant = tenant.clone();
        let sql = "SELECT body FROM journals WHERE tenant = ?1 ORDER BY begun_at, thread LIMIT ?2";
        self.run_read("list_journals", move |c| {
            query_all(c, sql, params![tenant.as_str(), to_sql_limit(limit)])
        })
        .await
    }

    async fn list_unknown_effects(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<Journal>> {
        let tenant = tenant.clone();
        let sql = "SELECT body FROM journals WHERE tenant = ?1 AND unknown_since IS NOT NULL
            ORDER BY unknown_since, thread LIMIT ?2";
        self.run_read("list_unknown_effects", move |c| {
            query_all(c, sql, params![tenant.as_str(), to_sql_limit(limit)])
        })
        .await
    }

    async fn list_booked_journals(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<Journal>> {
        let tenant = tenant.clone();
        let sql = "SELECT body FROM journals WHERE tenant = ?1 AND booked_at IS NOT NULL
            ORDER BY booked_at, thread LIMIT ?2";
        self.run_read("list_booked_journals", move |c| {
            query_all(c, sql, params![tenant.as_str(), to_sql_limit(limit)])
        })
        .await
    }

    async fn list_held_cells(
        &self,
        tenant: &TenantId,
        span: &CellSpan,
        now: Timestamp,
    ) -> PortResult<Vec<HeldCell>> {
        let (tenant, span) = (tenant.clone(), span.clone());
        self.run_read("list_held_cells", move |c| {
            select_held_cells(c, &tenant, &span, now)
        })
        .await
    }

    async fn free_held_cells(&self, tenant: &TenantId, cells: &[HeldCell]) -> PortResult<()> {
        let (tenant, cells) = (tenant.clone(), cells.to_vec());
        self.run_write("free_held_cells", move |c| delete_held_cells(c, &tenant, &cells))
            .await
    }
}
