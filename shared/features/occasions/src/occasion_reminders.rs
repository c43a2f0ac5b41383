//! Plans the reminders of occasions as batches that get their recipients when they fall due, and withdraws them.
//!
//! A reminder is planned before its occasion is stored. After a crash in between, the batch finds when it falls due that the occasion
//! does not have it, and ends.

use jiff::Timestamp;
use recado_domain::config::Tenant;
use recado_domain::ids::{BatchId, TokenName, hash_parts};
use recado_domain::invitations::{
    Batch, BatchReminder, BatchState, Occasion, PlannedReminder, TemplateValues,
};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::random_id::generate_correlation_id;
use recado_ports::records::batches::{begin_batch, find_batch};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};

/// Plans the reminders of an occasion that are not due yet. One that is planned stays as it is.
pub async fn plan_reminders(
    deps: &Deps,
    tenant: &Tenant,
    occasion: &Occasion,
    by: &TokenName,
) -> PortResult<()> {
    let now = deps.system().now();
    for planned in occasion.list_reminders(&tenant.resolve_time_zone()) {
        if planned.due > now {
            plan_reminder(deps, (tenant, occasion), &planned, by).await?;
        }
    }
    Ok(())
}

async fn plan_reminder(
    deps: &Deps,
    (tenant, occasion): (&Tenant, &Occasion),
    planned: &PlannedReminder<'_>,
    by: &TokenName,
) -> PortResult<()> {
    retry_lost_write(PortError::contended("batch"), (), |()| async {
        let now = deps.system().now();
        let Some(mut known) = find_batch(deps.store(), &tenant.id, &planned.batch).await? else {
            let mut batch = Versioned::new(make_reminder(deps, (tenant, occasion), planned, by));
            let _begun = begin_batch(deps.store(), &mut batch, None, now).await?;
            return Ok(WriteAttempt::Done(()));
        };
        if !known.record.restore_reminder(now) {
            return Ok(WriteAttempt::Done(()));
        }
        let written = write_record(deps.store(), &mut known).await?;
        Ok(WriteAttempt::after_write(written, ()))
    })
    .await
}

fn make_reminder(
    deps: &Deps,
    (tenant, occasion): (&Tenant, &Occasion),
    planned: &PlannedReminder<'_>,
    by: &TokenName,
) -> Batch {
    let PlannedReminder {
        batch,
        reminder,
        due,
        begins_at,
    } = planned;
    Batch {
        tenant: tenant.id.clone(),
        id: batch.clone(),
        occasion: occasion.id.clone(),
        channel: reminder.channel,
        template: reminder.template.clone(),
        variables: TemplateValues::new(),
        metadata: None,
        by: by.clone(),
        correlation: generate_correlation_id(deps.system()),
        request_hash: hash_parts(&["reminder", batch.as_str()], 32),
        state: BatchState::Scheduled,
        recipients: 0,
        expanded: 0,
        send_at: Some(*due),
        reminder: Some(BatchReminder {
            before: reminder.before.clone(),
            begins_at: *begins_at,
            is_withdrawn: false,
        }),
        restored_from: None,
        end: None,
        due_at: Some(*due),
        created_at: deps.system().now(),
        keep_until: add_duration(*begins_at, tenant.retention.messages.to_duration()),
    }
}

/// Withdraws the reminders that an occasion had `before` and has no longer, as far as they did not go out.
pub async fn withdraw_reminders(
    deps: &Deps,
    tenant: &Tenant,
    before: &Occasion,
    after: &Occasion,
) -> PortResult<()> {
    let zone = tenant.resolve_time_zone();
    let kept: Vec<BatchId> = list_ids(after.list_reminders(&zone));
    for id in list_ids(before.list_reminders(&zone)) {
        if !kept.contains(&id)
            && let Some(batch) = find_batch(deps.store(), &tenant.id, &id).await?
        {
            withdraw(deps, batch).await?;
        }
    }
    Ok(())
}

fn list_ids(planned: Vec<PlannedReminder<'_>>) -> Vec<BatchId> {
    planned.into_iter().map(|planned| planned.batch).collect()
}

async fn withdraw(deps: &Deps, batch: Versioned<Batch>) -> PortResult<()> {
    retry_lost_write(PortError::contended("batch"), batch, |mut batch| async move {
        if !batch.record.withdraw_reminder()
            || write_record(deps.store(), &mut batch).await? == WriteOutcome::Written
        {
            return Ok(WriteAttempt::Done(()));
        }
        let found = find_batch(deps.store(), &batch.record.tenant, &batch.record.id).await?;
        Ok(found.map_or(WriteAttempt::Done(()), WriteAttempt::Lost))
    })
    .await
}

/// Returns the reminder that a batch is. `None`: the occasion no longer has it, or has begun.
pub fn find_planned<'a>(
    tenant: &Tenant,
    occasion: &'a Occasion,
    batch: &Batch,
    now: Timestamp,
) -> Option<PlannedReminder<'a>> {
    let planned = occasion.list_reminders(&tenant.resolve_time_zone()).into_iter();
    planned
        .filter(|planned| planned.begins_at > now)
        .find(|planned| planned.batch == batch.id)
}

/// Ends a reminder that the occasion no longer has, or that has begun. Returns `false` if another worker was faster.
pub async fn end_reminder(deps: &Deps, mut batch: Versioned<Batch>) -> PortResult<bool> {
    tracing::info!(batch_id = %batch.record.id, "a reminder ends: its occasion no longer has it, or has begun");
    Ok(!batch.record.withdraw_reminder()
        || write_record(deps.store(), &mut batch).await? == WriteOutcome::Written)
}
