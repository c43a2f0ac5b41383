//! One look at the installation: a fixed number of bounded reads, whatever the number of instances.

use crate::ports::{
    ConfigurationStore, DeadLetterFilter, DeadLetters, Gauges, OpenWork, PageRequest, PortResult,
    QueueDepths, TroubledInstances, WaitingForPerson,
};
use crate::steps::queue_message::format_error_chain;
use futures::join;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::alert::{AlertWatch, BacklogLook, BacklogSample, InstallationLook, InstanceLook};
use recado_domain::config::{AlertConfig, InstanceConfig};
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceState};
use recado_domain::millis::add_duration;
use std::collections::BTreeSet;

/// Greatest number of open records of each kind, of troubled instances and of waiting customers that a look reads.
const OPEN_WORK_MAX: usize = 2_000;
const TROUBLED_MAX: usize = 2_000;
const WAITS_MAX: usize = 1_000;

/// Number of instances whose configuration is read at the same time.
const READS_AT_ONCE: usize = 16;

/// Returns the numbers of this look, and the record for the next. A read that fails leaves its number unknown, so it
/// neither begins nor ends an alert.
pub(super) async fn look_at_installation(
    store: &(impl Gauges + DeadLetters + ConfigurationStore),
    depths: &impl QueueDepths,
    config: &AlertConfig,
    before: &AlertWatch,
    disk_free: Option<u64>,
    now: Timestamp,
) -> (InstallationLook, AlertWatch) {
    let patience = SignedDuration::from_mins(i64::from(config.customer_wait_minutes));
    let (queued, open, dead, troubled, waits) = join!(
        count_queued(depths),
        store.read_open_work(None, OPEN_WORK_MAX),
        count_dead_letters(store, config),
        find_troubled(store),
        store.list_waiting_for_person(add_duration(now, -patience), WAITS_MAX),
    );
    let open = known("open work", open);
    let troubled = known("instances", troubled);
    let waits: Option<WaitingForPerson> = known("waiting customers", waits);
    let queued = known("queues", queued);
    let waiting = open
        .as_ref()
        .zip(troubled.as_ref())
        .and_then(|(open, (_, closed, _))| {
            // More than was read: how many of them were processed cannot be said.
            (!open.at_least).then(|| list_waiting_times(open, closed))
        });
    let backlog = waiting.as_ref().map(|times| BacklogSample {
        at: now,
        waiting: count_items(times.len()),
    });
    let progress = before.backlog.zip(waiting).map(|(before, times)| BacklogLook {
        before,
        rest: count_items(times.iter().filter(|since| **since <= before.at).count()),
    });
    let parked = open.as_ref().map(|open| count_items(open.parked.len()));
    let look = InstallationLook {
        depth: queued.zip(parked).map(|(queued, parked)| queued + parked),
        backlog: progress,
        dead_letters: known("dead letters", dead),
        last_look: before.looked_at,
        disk_free,
        more_instances: troubled.as_ref().is_some_and(|(_, _, more)| *more),
        instances: troubled.map(|(instances, _, _)| instances),
        more_person_waits: waits.as_ref().is_some_and(|waits| waits.at_least),
        person_waits: waits.map(|waits| waits.waits),
    };
    let looked_at = Some(now);
    (look, AlertWatch { looked_at, backlog })
}

/// Returns the number that was read; `None`, and a warning, if it could not be read.
fn known<T>(what: &'static str, read: PortResult<T>) -> Option<T> {
    read.inspect_err(|error| {
        tracing::warn!(what, error = %format_error_chain(error), "alerts: this could not be looked at");
    })
    .ok()
}

fn count_items(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

async fn count_queued(depths: &impl QueueDepths) -> PortResult<u64> {
    let mut sum = 0;
    for queue in QueueName::ALL {
        sum += depths.read_queue_depth(queue).await?.total_messages();
    }
    Ok(sum)
}

/// Returns the times since which messages and events wait that could be processed: not those of instances in `closed`.
fn list_waiting_times(open: &OpenWork, closed: &BTreeSet<InstanceId>) -> Vec<Timestamp> {
    let messages = open.messages.iter();
    let messages = messages.filter(|message| !closed.contains(&message.instance));
    let events = open.events.iter().map(|event| event.since);
    messages.map(|message| message.since).chain(events).collect()
}

/// Counts dead letters, not further than the thresholds need.
async fn count_dead_letters(store: &impl DeadLetters, config: &AlertConfig) -> PortResult<u64> {
    let most = config.dead_letters_critical.max(config.dead_letters_warning);
    let page = PageRequest {
        limit: usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1),
        cursor: None,
    };
    let found = store
        .list_dead_letters(&DeadLetterFilter::default(), &page)
        .await?;
    Ok(count_items(found.items.len()))
}

/// Returns the enabled instances that do not work as they should, those that are not open, and whether there are
/// more.
async fn find_troubled(
    store: &(impl Gauges + ConfigurationStore),
) -> PortResult<(Vec<InstanceLook>, BTreeSet<InstanceId>, bool)> {
    let TroubledInstances { states, at_least } = store.list_troubled_instances(TROUBLED_MAX).await?;
    let is_closed = |state: &InstanceState| state.connection != ConnectionStatus::Open;
    let closed = states.iter().filter(|(_, state)| is_closed(state));
    let closed = closed.map(|(id, _)| id.clone()).collect();
    let configured = |(instance, state): (InstanceId, InstanceState)| async move {
        let bound = store.instance_config(&instance).await?;
        let enabled = bound.filter(InstanceConfig::is_enabled);
        PortResult::Ok(enabled.map(|bound| InstanceLook {
            tenant: bound.tenant.id,
            instance,
            state,
        }))
    };
    let looks: Vec<Option<InstanceLook>> = stream::iter(states)
        .map(configured)
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    Ok((looks.into_iter().flatten().collect(), closed, at_least))
}
