//! Looks at all dead letters once a day: those whose retention period is over are given up for good, and the payloads that
//! the others name are kept. Payloads are bodies too large for a queue, and uploads of messages.

use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_contacts::dead_letter_erasure::{erase_event_body, purge_named_record};
use recado_domain::config::{ConfigNames, EntryRef};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::event::{EventPayload, webhook_file_key};
use recado_domain::ids::TenantId;
use recado_domain::retention::RetentionPeriod;
use recado_pipeline::Deps;
use recado_pipeline::hooks::reconcile_pass::ReconcilePass;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_pipeline::steps::upload;
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::configuration::find_named_entries;
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters, remove_dead_letter};
use std::collections::BTreeMap;

/// Number of dead letters that one read returns, and number that are handled at the same time.
const PAGE: usize = 100;
const SIDE_BY_SIDE: usize = 16;

/// Time for which dead letters of no tenant are kept: unreadable queue messages, and events of unknown instances.
const OF_NOBODY: RetentionPeriod = RetentionPeriod::Days(90);

/// Each dead letter is kept for its period with the payload that it names, and then given up for good.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "given_up",
    failure_message: "dead letters were not looked at",
    is_due_at: is_daily_look,
    works_on_reading: false,
    run: |deps, _| Box::pin(look_at_dead_letters(deps)),
};

/// Returns `true` in the first minute of each day (UTC). Once a day is enough: no stored payload expires in less than
/// two weeks.
fn is_daily_look(now: Timestamp) -> bool {
    now.as_second().rem_euclid(86_400) < 60
}

/// Gives up the dead letters whose period is over, and renews the payloads that the others name. Returns the number of
/// dead letters that were given up.
async fn look_at_dead_letters(deps: &Deps) -> PortResult<usize> {
    let (mut given_up, mut next) = (0, Some(PageRequest::first(PAGE)));
    while let Some(page) = next {
        let found = list_dead_letters(deps.store(), &DeadLetterFilter::default(), &page).await?;
        let periods = &read_periods(deps, &found.items).await?;
        // A record that cannot be read keeps its own letter, and no other.
        let ended: Vec<Option<bool>> = stream::iter(found.items)
            .map(|dead_letter| async move {
                pass_over_unreadable(keep_or_give_up(deps, &dead_letter, periods).await.map(Some))
            })
            .buffer_unordered(SIDE_BY_SIDE)
            .try_collect()
            .await?;
        given_up += ended.into_iter().flatten().filter(|ended| *ended).count();
        next = page.follow(found.next_cursor);
    }
    Ok(given_up)
}

/// Reads for how long the tenants of these dead letters keep them.
async fn read_periods(
    deps: &Deps,
    dead_letters: &[DeadLetter],
) -> PortResult<BTreeMap<TenantId, RetentionPeriod>> {
    let tenants = dead_letters
        .iter()
        .filter_map(|dead_letter| dead_letter.tenant.clone());
    let names = ConfigNames::of(tenants.map(EntryRef::Tenant));
    let tenants = find_named_entries(deps.store(), &names).await?.tenants;
    let period = |tenant: recado_domain::config::Tenant| (tenant.id, tenant.retention.dead_letters);
    Ok(tenants.into_iter().map(period).collect())
}

/// Gives up a dead letter if its period is over, else renews the payload that it names. Returns whether it was given up.
async fn keep_or_give_up(
    deps: &Deps,
    dead_letter: &DeadLetter,
    periods: &BTreeMap<TenantId, RetentionPeriod>,
) -> PortResult<bool> {
    let of_tenant = dead_letter.tenant.as_ref().and_then(|tenant| periods.get(tenant));
    let period = of_tenant.copied().unwrap_or(OF_NOBODY);
    let is_due = period
        .due_before(deps.system().now())
        .is_some_and(|before| dead_letter.at <= before);
    if !is_due {
        renew_letter_payload(deps, dead_letter).await?;
        return Ok(false);
    }
    purge_named_record(deps, dead_letter, None).await?;
    if let DeadLetterContent::Event(job) = &dead_letter.what {
        erase_event_body(deps, job).await?;
    }
    let removed = remove_dead_letter(deps.store(), &dead_letter.id, dead_letter.at).await?;
    if removed {
        tracing::warn!(
            dead_letter = %dead_letter.id, correlation_id = %dead_letter.correlation,
            "a dead letter was given up for good: its retention period is over"
        );
    }
    Ok(removed)
}

async fn renew_letter_payload(deps: &Deps, dead_letter: &DeadLetter) -> PortResult<bool> {
    match &dead_letter.what {
        DeadLetterContent::Event(job) => {
            if job.has_file {
                deps.queues().renew_payload(&webhook_file_key(&job.event)).await?;
            }
            match &job.payload {
                EventPayload::Stored(key) => deps.queues().renew_payload(key).await,
                EventPayload::Inline(_) => Ok(false),
            }
        }
        DeadLetterContent::Message { message } => match deps.store().find_message(message).await? {
            Some(message) => upload::renew_upload(deps, &message).await,
            None => Ok(false),
        },
        DeadLetterContent::Email { .. }
        | DeadLetterContent::Turns(_)
        | DeadLetterContent::Unreadable { .. }
        | DeadLetterContent::Damaged { .. } => Ok(false),
    }
}
