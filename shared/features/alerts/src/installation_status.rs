//! One check of the installation: a bounded number of bounded reads, whatever the number of instances and tenants.

use futures::join;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::alert::{
    AlertWatch, BacklogSample, BacklogStatus, FailingEndpoint, InstallationStatus, InstanceLoad,
    InstanceStatus, IntakeStatus, MissingSecret, TenantBudgetStatus,
};
use recado_domain::budget::MonthlyBudget;
use recado_domain::config::AlertConfig;
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::UNACKNOWLEDGED_TOLD_FOR;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_domain::millis::add_duration;
use recado_pipeline::steps::budget_reading::{measure_budget, read_prices};
use recado_pipeline::steps::installation_reading::{InstallationReading, InstanceReading, read_installation};
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_ports::ports::{
    InstallationStore, Overviews, PortResult, QueueDepths, TroubledInstances, WaitingForPerson,
};
use recado_ports::records::endpoints::list_endpoint_states;
use recado_ports::table::Table;
use std::collections::{HashMap, HashSet};

/// Greatest number of waiting customers that a check reads.
const WAITS_MAX: usize = 1_000;

/// Greatest number of instances whose missing acknowledgements a check reads, and of those of one instance that it counts.
const UNACKNOWLEDGED_MAX: usize = 1_000;

/// Greatest number of webhook endpoints whose states a check reads.
const ENDPOINTS_MAX: usize = 10_000;

/// Number of tenants whose budgets are measured side by side.
const BUDGETS_SIDE_BY_SIDE: usize = 16;

/// Greatest number of tenants whose budgets one check measures. Where more have one, they have their turns minute by minute.
const BUDGETS_MAX: usize = 100;

/// The state that a pass knows before it looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownState<'a> {
    /// Free space of the disk that holds the records, in bytes, if there is one.
    pub disk_free: Option<u64>,
    /// The state of the installation, if it was just read; `None`: the pass reads it.
    pub reading: Option<&'a InstallationReading>,
    /// The secrets that entries name and that are not there. `None`: they were not looked for, and what was told of them stays.
    pub missing_secrets: Option<&'a [MissingSecret]>,
}

/// Returns the numbers of this check, and the record for the next. A read that fails leaves its number unknown, so it
/// neither begins nor ends an alert.
pub(super) async fn read_installation_status(
    store: &dyn InstallationStore,
    depths: &dyn QueueDepths,
    config: &AlertConfig,
    before: &AlertWatch,
    known_state: KnownState<'_>,
    now: Timestamp,
) -> (InstallationStatus, AlertWatch) {
    let patience = SignedDuration::from_mins(i64::from(config.customer_wait_minutes));
    let told = (add_duration(now, -UNACKNOWLEDGED_TOLD_FOR), now);
    let (queued, own, waits, unacknowledged, endpoints, intake) = join!(
        count_queued(depths),
        async {
            match known_state.reading {
                Some(_) => None,
                None => known("the installation", read_installation(store, now).await),
            }
        },
        list_waits(store, patience, now),
        store.count_unacknowledged(told, UNACKNOWLEDGED_MAX),
        list_failing_endpoints(store, now),
        depths.read_oldest_intake(),
    );
    let reading = known_state.reading.or(own.as_ref());
    let waits: Option<WaitingForPerson> = known("waiting customers", waits);
    let queued = known("queues", queued);
    let unacknowledged = known("acknowledgements", unacknowledged);
    let (in_turn, budgets_left_out) =
        reading.map_or_else(Default::default, |reading| part_budgets(&reading.budgets, now));
    let budgets = match reading {
        Some(_) => known("budgets", measure_budgets(store, in_turn, now).await),
        None => None,
    };
    let (backlog, progress) = compare_backlog(before, reading);
    let status = InstallationStatus {
        depth: queued
            .zip(reading)
            .map(|(queued, reading)| queued + reading.parked),
        backlog: progress,
        intake: known("new events", intake).map(|oldest| IntakeStatus { oldest }),
        dead_letters: reading.map(|reading| reading.dead_letters),
        last_check: before.looked_at,
        disk_free: known_state.disk_free,
        loads: reading.map(list_loads),
        more_open: reading.is_some_and(|reading| reading.at_least),
        more_instances: reading.is_some_and(|reading| reading.troubled.at_least),
        instances: reading.map(list_troubled),
        more_person_waits: waits.as_ref().is_some_and(|waits| waits.at_least),
        person_waits: waits.map(|waits| waits.waits),
        more_unacknowledged: unacknowledged.as_ref().is_some_and(|counts| counts.at_least),
        unacknowledged: unacknowledged.map(|counts| counts.instances),
        budgets,
        budgets_left_out,
        failing_endpoints: known("webhook endpoints", endpoints),
        missing_secrets: known_state.missing_secrets.map(<[MissingSecret]>::to_vec),
    };
    let looked_at = Some(now);
    (status, AlertWatch { looked_at, backlog })
}

/// Returns what waits, and how much of what waited at the check `before` still does.
fn compare_backlog(
    before: &AlertWatch,
    reading: Option<&InstallationReading>,
) -> (Option<BacklogSample>, Option<BacklogStatus>) {
    // More than was read: how many of them were processed cannot be said.
    let countable = reading.filter(|reading| !reading.at_least);
    let backlog = countable.map(|reading| BacklogSample {
        at: reading.at,
        waiting: reading.waiting_since.len() as u64,
    });
    let progress = before.backlog.zip(countable).map(|(before, reading)| {
        let times = reading.waiting_since.iter();
        BacklogStatus {
            before,
            rest: times.filter(|since| **since <= before.at).count() as u64,
        }
    });
    (backlog, progress)
}

/// Returns the conversations in which a person owes an answer. If they are more than are read, those that wait for longer
/// than `patience` are read apart: the newer ones must not hide them.
async fn list_waits(
    store: &dyn Overviews,
    patience: SignedDuration,
    now: Timestamp,
) -> PortResult<WaitingForPerson> {
    let mut newest = store.list_waiting_for_person(now, WAITS_MAX).await?;
    if newest.at_least {
        let before = add_duration(now, -patience);
        let long = store.list_waiting_for_person(before, WAITS_MAX).await?;
        let known: HashSet<ConversationId> = newest
            .waits
            .iter()
            .map(|wait| wait.conversation.clone())
            .collect();
        let others = long.waits.into_iter();
        newest
            .waits
            .extend(others.filter(|wait| !known.contains(&wait.conversation)));
    }
    Ok(newest)
}

/// Returns the webhook endpoints that fail for some time or were switched off.
async fn list_failing_endpoints(table: &dyn Table, now: Timestamp) -> PortResult<Vec<FailingEndpoint>> {
    let states = list_endpoint_states(table, None, ENDPOINTS_MAX).await?;
    let failing = states.into_iter().filter_map(|state| {
        Some(FailingEndpoint {
            since: state.reported_since(now)?,
            is_switched_off: state.switched_off_at.is_some(),
            tenant: state.tenant,
            endpoint: state.endpoint,
        })
    });
    Ok(failing.collect())
}

/// Parts the budgets into those whose turn it is at `now`, and the tenants of all others.
fn part_budgets(
    budgets: &[(TenantId, MonthlyBudget)],
    now: Timestamp,
) -> (Vec<(TenantId, MonthlyBudget)>, Vec<TenantId>) {
    let looks = i64::try_from(budgets.len().div_ceil(BUDGETS_MAX).max(1)).unwrap_or(i64::MAX);
    let turn = now.as_second().div_euclid(60).rem_euclid(looks);
    let begin = usize::try_from(turn).unwrap_or_default() * BUDGETS_MAX;
    let (mut in_turn, mut left_out) = (Vec::new(), Vec::new());
    for (place, (tenant, budget)) in budgets.iter().enumerate() {
        if (begin..begin + BUDGETS_MAX).contains(&place) {
            in_turn.push((tenant.clone(), budget.clone()));
        } else {
            left_out.push(tenant.clone());
        }
    }
    (in_turn, left_out)
}

/// Measures budgets of tenants. Nothing is read if there is none.
async fn measure_budgets(
    store: &dyn InstallationStore,
    budgets: Vec<(TenantId, MonthlyBudget)>,
    now: Timestamp,
) -> PortResult<Vec<TenantBudgetStatus>> {
    if budgets.is_empty() {
        return Ok(Vec::new());
    }
    let prices = &read_prices(store).await?;
    stream::iter(budgets)
        .map(|(tenant, budget)| async move {
            let used = measure_budget(store, &tenant, &budget, prices, now).await?;
            let stops = budget.stop;
            Ok(TenantBudgetStatus { tenant, used, stops })
        })
        .buffered(BUDGETS_SIDE_BY_SIDE)
        .try_collect()
        .await
}

/// Returns the number that was read; `None`, and a warning, if it could not be read.
fn known<T>(what: &'static str, read: PortResult<T>) -> Option<T> {
    read.inspect_err(|error| {
        tracing::warn!(what, error = %format_error_chain(error), "alerts: this could not be looked at");
    })
    .ok()
}

async fn count_queued(depths: &dyn QueueDepths) -> PortResult<u64> {
    let mut sum = 0;
    for queue in QueueName::ALL {
        sum += depths.read_queue_depth(queue).await?.total_messages();
    }
    Ok(sum)
}

/// Returns what waits and what was given up of the instances of which anything did.
fn list_loads(reading: &InstallationReading) -> Vec<InstanceLoad> {
    let load = |one: &InstanceReading| InstanceLoad {
        tenant: one.instance.tenant.clone(),
        instance: one.instance.id.clone(),
        depth: one.depth,
        dead_letters: one.dead_letters,
    };
    let waits = |one: &&InstanceReading| one.depth > 0 || one.dead_letters > 0;
    reading.instances.iter().filter(waits).map(load).collect()
}

/// Returns the enabled instances that do not work as they should.
fn list_troubled(reading: &InstallationReading) -> Vec<InstanceStatus> {
    let instances = reading.instances.iter().map(|one| &one.instance);
    let tenants: HashMap<&InstanceId, &TenantId> = instances.map(|one| (&one.id, &one.tenant)).collect();
    let TroubledInstances { states, .. } = &reading.troubled;
    let looks = states.iter().filter_map(|(instance, state)| {
        Some(InstanceStatus {
            tenant: (*tenants.get(instance)?).clone(),
            instance: instance.clone(),
            state: state.clone(),
        })
    });
    looks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_budget_has_its_turn_within_as_many_minutes_as_there_are_hundreds() {
        let budget: MonthlyBudget = serde_json::from_str(r#"{"tokens": 1000}"#).expect("a budget");
        for (count, minutes) in [(0, 1), (1, 1), (100, 1), (101, 2), (250, 3)] {
            let budgets: Vec<(TenantId, MonthlyBudget)> = (0..count)
                .map(|number| {
                    let tenant = TenantId::parse(&format!("tenant-{number:03}")).expect("an id");
                    (tenant, budget.clone())
                })
                .collect();
            let mut measured = Vec::new();
            for minute in 0..minutes {
                let now = Timestamp::from_second(1_700_000_000 + minute * 60).expect("a time");
                let (in_turn, left_out) = part_budgets(&budgets, now);
                assert!(in_turn.len() <= BUDGETS_MAX);
                assert_eq!(in_turn.len() + left_out.len(), budgets.len());
                measured.extend(in_turn.into_iter().map(|(tenant, _)| tenant));
            }
            measured.sort();
            let all: Vec<TenantId> = budgets.into_iter().map(|(tenant, _)| tenant).collect();
            assert_eq!(measured, all, "{count} budgets");
        }
    }
}
