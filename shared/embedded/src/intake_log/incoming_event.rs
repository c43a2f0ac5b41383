use crate::db_error::DbResult;
use crate::queue::TenantKey;
use crate::sql_records::read_lossy_text;
use crate::store::{EventRow, cut_out_job};
use jiff::Timestamp;
use recado_domain::event::{EventRecord, InboundJob, JobNames};
use rusqlite::{Connection, Row};

/// An event that came in, as it is recorded. Its record is also the body of its queue message.
#[derive(Debug)]
pub(crate) struct IncomingEvent {
    pub(crate) record: EventRow,
    pub(crate) group: String,
    pub(crate) owner: TenantKey,
}

impl IncomingEvent {
    pub(crate) fn from_job(job: &InboundJob) -> DbResult<Self> {
        let record = EventRecord::new_pending(job.with_borrowed_payload());
        Ok(Self {
            owner: TenantKey::for_event(job),
            record: EventRow::from_record(&record, None)?,
            group: record.job.group,
        })
    }

    /// Reads an event from the intake log.
    pub(crate) fn from_log_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |name| read_lossy_text(row, row.as_ref().column_index(name)?);
        Ok(Self {
            record: EventRow::from_log_row(row)?,
            group: text("grp")?.unwrap_or_default(),
            owner: TenantKey::from_column(text("owner")?.unwrap_or_default()),
        })
    }

    /// Returns the id of the event.
    pub(crate) fn id(&self) -> &str {
        self.record.id()
    }

    /// Returns when the event's webhook came, if that can be read.
    pub(crate) fn received_at(&self) -> Option<Timestamp> {
        JobNames::cut_out(&self.cut_out_job()).received_at
    }

    /// Appends the event to the intake log. Returns `false` if it is in the log already.
    pub(crate) fn append_to_log(&self, db: &Connection) -> DbResult<bool> {
        self.record.append_to_log(db, &self.group, self.owner.as_str())
    }

    /// Returns the event's job, as JSON.
    pub(crate) fn cut_out_job(&self) -> String {
        let mut job = self.record.body().to_owned();
        cut_out_job(&mut job);
        job
    }
}
