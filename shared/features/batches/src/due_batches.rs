//! Starts batches whose time has come, and expansions from which nothing was heard. A reminder of an occasion gets its recipients here:
//! the guests who have one of its statuses now.

use crate::batch_job::{enqueue_batch, restart_batch};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::{BatchId, GuestId, InstanceId, TenantId};
use recado_domain::invitations::{BATCH_CHUNK, Batch, BatchChunk, BatchState, GuestStatus, make_chunk};
use recado_domain::millis::add_duration;
use recado_occasions::occasion_reminders::{end_reminder, find_planned, plan_reminders};
use recado_pipeline::Deps;
use recado_pipeline::hooks::feature_timer::{DueRecord, DueRecords, FeatureTimer, box_records};
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_ports::ports::{PageRequest, PortError, PortResult, WriteOutcome};
use recado_ports::records::batches::{find_batch, list_batch_chunks, list_due_batches};
use recado_ports::records::guests::list_guests;
use recado_ports::records::occasions::find_occasion;
use recado_ports::table::{Versioned, write_record};

/// Time until a batch is started again whose start did not end.
const START_AGAIN: SignedDuration = SignedDuration::from_mins(2);

/// Number of guests that are read at once.
const PAGE: usize = 500;

/// Each batch begins at its time, and an expansion from which nothing was heard goes on.
#[derive(Debug)]
pub struct DueBatches;

#[async_trait]
impl FeatureTimer for DueBatches {
    fn name_in_report(&self) -> &'static str {
        "batches"
    }

    async fn list_due_records(&self, deps: &Deps, now: Timestamp, limit: usize) -> PortResult<DueRecords> {
        let due = list_due_batches(deps.store(), now, limit).await?.into_iter();
        Ok(box_records(due.map(|(tenant, id)| DueBatch(tenant, id))))
    }
}

/// A batch that is due.
#[derive(Debug)]
struct DueBatch(TenantId, BatchId);

#[async_trait]
impl DueRecord for DueBatch {
    /// Handles a batch that is due. Returns `false` if there was nothing to do, or another worker was faster.
    async fn handle_due_record(&self, deps: &Deps, _until: Timestamp) -> PortResult<bool> {
        let Self(tenant, id) = self;
        let now = deps.system().now();
        let found = find_batch(deps.store(), tenant, id).await?;
        let Some(mut found) = found.filter(|found| found.record.due_at.is_some_and(|due| due <= now)) else {
            return Ok(false);
        };
        if found.record.state != BatchState::Scheduled {
            return restart_batch(deps, tenant, id).await;
        }
        found.record.put_off(add_duration(now, START_AGAIN));
        if write_record(deps.store(), &mut found).await? == WriteOutcome::Conflict {
            return Ok(false);
        }
        let recipients = if found.record.reminder.is_some() {
            match fill_reminder(deps, &found.record).await? {
                Some(recipients) => recipients,
                None => return end_reminder(deps, found).await,
            }
        } else {
            found.record.recipients
        };
        found.record.start(recipients, deps.system().now());
        if write_record(deps.store(), &mut found).await? == WriteOutcome::Conflict {
            // Somebody paused or cancelled it meanwhile.
            return Ok(false);
        }
        let batch = found.record;
        tracing::info!(batch_id = %batch.id, recipients, "a batch for later begins");
        if batch.is_expanding() {
            enqueue_batch(deps, &batch, 0, SignedDuration::ZERO).await?;
        }
        Ok(true)
    }

    async fn find_owing_instance(&self, deps: &Deps) -> PortResult<Option<InstanceId>> {
        let Some(batch) = find_batch(deps.store(), &self.0, &self.1).await? else {
            return Ok(None);
        };
        let occasion = find_occasion(deps.store(), &self.0, &batch.record.occasion).await?;
        Ok(occasion.map(|occasion| occasion.instance))
    }
}

/// Stores the recipients of a reminder, and returns their number. `None`: its occasion no longer has it, or has begun.
async fn fill_reminder(deps: &Deps, batch: &Batch) -> PortResult<Option<usize>> {
    let Some(tenant) = find_tenant(deps, &batch.tenant).await? else {
        return Ok(None);
    };
    let found = find_occasion(deps.store(), &tenant.id, &batch.occasion).await?;
    let Some(occasion) = found else {
        return Ok(None);
    };
    if let Some(planned) = find_planned(&tenant, &occasion, batch, deps.system().now()) {
        let filled = store_recipients(deps, batch, &planned.reminder.guests).await?;
        return Ok(Some(filled));
    }
    // A crash, or another time zone of the tenant, may have left the occasion without its reminders.
    plan_reminders(deps, &tenant, &occasion, &batch.by).await?;
    Ok(None)
}

/// Stores the guests with one of these statuses as recipients, and returns their number. A start that a crash ended is gone on with
/// behind the last chunk: the guests are read by their ids.
async fn store_recipients(deps: &Deps, batch: &Batch, wanted: &[GuestStatus]) -> PortResult<usize> {
    let stored = list_batch_chunks(deps.store(), &batch.tenant, &batch.id).await?;
    let stored: Vec<BatchChunk> = stored.into_iter().map(|chunk| chunk.record).collect();
    let mut count: usize = stored.iter().map(|chunk| chunk.recipients.len()).sum();
    if stored
        .last()
        .is_some_and(|last| last.recipients.len() < BATCH_CHUNK)
    {
        return Ok(count);
    }
    let mut known = stored
        .iter()
        .rev()
        .flat_map(|chunk| chunk.recipients.iter().rev());
    let last = known.find_map(|one| one.guest.as_ref());
    let (mut cursor, mut number) = (last.map(GuestId::to_string), stored.len());
    let mut waiting: Vec<GuestId> = Vec::new();
    loop {
        let page = PageRequest { limit: PAGE, cursor };
        let found = list_guests(deps.store(), &batch.tenant, &batch.occasion, &page).await?;
        let guests = found.items.into_iter();
        waiting.extend(
            guests
                .filter(|guest| wanted.contains(&guest.status))
                .map(|guest| guest.id),
        );
        cursor = found.next_cursor;
        while waiting.len() >= BATCH_CHUNK || (cursor.is_none() && !waiting.is_empty()) {
            let rest = waiting.split_off(BATCH_CHUNK.min(waiting.len()));
            let mut chunk = Versioned::new(make_chunk(batch, number, &waiting));
            if write_record(deps.store(), &mut chunk).await? == WriteOutcome::Conflict {
                return Err(PortError::contended("recipients of a batch"));
            }
            count += waiting.len();
            number += 1;
            waiting = rest;
        }
        if cursor.is_none() {
            return Ok(count);
        }
    }
}
