//! Asks the providers of open instances for their state, in turn. So one that is gone is noticed while nothing is sent.
//!
//! Which instances a pass asked for is kept in its sample, with which it is written. A good answer writes nothing.

use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::connection_check::{ASKED_MAX, add_check, choose_next_instances, find_last_check};
use recado_domain::ids::InstanceId;
use recado_domain::instance::ConnectionStatus;
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_pipeline::hooks::reconcile_pass::{PassMinute, ReconcilePass, is_every_minute};
use recado_pipeline::steps::connection::{read_connection_checks, record_answer, record_unreachable};
use recado_pipeline::steps::enabled_instance::find_enabled_instance;
use recado_pipeline::steps::installation_reading::InstallationReading;
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_ports::ports::{ConnectionAnswer, PortError, PortResult};
use std::sync::Arc;

/// Number of providers that are asked side by side. One that hangs is waited for 5 s.
const ASKED_AT_ONCE: usize = 64;

/// Time of a pass of `reconcile` within which a first question begins. The rest is asked a minute later.
const FIRST_WITHIN: SignedDuration = SignedDuration::from_secs(15);

/// Wait between a question without an answer and the second one.
const ASKED_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// Longest time before the first question without an answer since which a provider counts as gone. It may have been gone for longer,
/// where there are so many instances that each has its turn less often.
const GONE_BEFORE: SignedDuration = SignedDuration::from_mins(1);

/// Each open instance's provider is asked in turn. So a connection that is gone is noticed while nothing is sent.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "asked",
    failure_message: "connections were not looked at",
    is_due_at: is_every_minute,
    works_on_reading: true,
    run: |deps, minute| Box::pin(check_connections(deps, minute)),
};

/// The result of a first question.
enum FirstCheck {
    /// There was no time for it.
    NotAsked,
    /// The instance is as it was.
    Unchanged,
    /// The answer was stored.
    Stored(InstanceId),
    /// No answer came.
    NoAnswer(Arc<InstanceConfig>, Timestamp),
}

/// A provider that did not answer a first question.
struct Silence {
    bound: Arc<InstanceConfig>,
    /// Time of the last good answer, or not much later.
    since: Timestamp,
    asked_at: Timestamp,
}

/// Asks for the instances whose turn it is. Shows in the minute's reading what was found, and keeps the checks that count now. Returns
/// the number of instances that were asked for.
async fn check_connections(deps: &Deps, minute: &mut PassMinute) -> PortResult<usize> {
    let Some(reading) = &mut minute.reading else {
        return Ok(0);
    };
    let now = deps.system().now();
    let checks = read_connection_checks(deps.store(), now).await?;
    let ids = list_open_devices(deps, reading);
    let mut next = choose_next_instances(&checks, &ids);
    let until = add_duration(minute.began, FIRST_WITHIN);
    let questions: Vec<_> = ids
        .get(next.clone())
        .unwrap_or_default()
        .iter()
        .map(|id| ask_first(deps, id, until))
        .collect();
    let found: Vec<FirstCheck> = stream::iter(questions).buffered(ASKED_AT_ONCE).collect().await;
    let asked = found
        .iter()
        .take_while(|one| !matches!(one, FirstCheck::NotAsked))
        .count();
    next.end = next.start + asked;
    let (mut changed, mut silent) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            FirstCheck::NotAsked | FirstCheck::Unchanged => {}
            FirstCheck::Stored(id) => changed.push(id),
            FirstCheck::NoAnswer(bound, asked_at) => {
                let earliest = add_duration(asked_at, -GONE_BEFORE);
                let good_at = find_last_check(&checks, &bound.instance.id);
                let since = good_at.map_or(asked_at, |good_at| good_at.max(earliest).min(asked_at));
                silent.push(Silence {
                    bound,
                    since,
                    asked_at,
                });
            }
        }
    }
    changed.extend(ask_again(deps, silent).await);
    for id in &changed {
        show_change(deps, reading, id).await?;
    }
    minute.looks = add_check(checks, &ids, next, now);
    Ok(asked)
}

/// Returns the ids of the open instances whose provider can lose its connection without a report, sorted.
fn list_open_devices(deps: &Deps, reading: &InstallationReading) -> Vec<InstanceId> {
    let is_asked = |provider| deps.providers().capabilities(provider).is_linked_device;
    let instances = reading.instances.iter();
    instances
        .filter(|one| one.connection == ConnectionStatus::Open && is_asked(one.instance.provider))
        .map(|one| one.instance.id.clone())
        .collect()
}

/// Asks for an instance, if there is time. A failure is logged, and the instance counts as asked for.
async fn ask_first(deps: &Deps, id: &InstanceId, until: Timestamp) -> FirstCheck {
    let at = deps.system().now();
    if at >= until {
        return FirstCheck::NotAsked;
    }
    let bound = match find_enabled_instance(deps, id).await {
        Ok(Some(bound)) => bound,
        Ok(None) => return FirstCheck::Unchanged,
        Err(error) => {
            log_failure(id, &error);
            return FirstCheck::Unchanged;
        }
    };
    match deps.providers().query_connection(&bound).await {
        ConnectionAnswer::Open | ConnectionAnswer::Unclear => FirstCheck::Unchanged,
        ConnectionAnswer::Unreachable => FirstCheck::NoAnswer(bound, at),
        answer => match record_answer(deps, id, answer, Some(at)).await {
            Ok(()) => FirstCheck::Stored(id.clone()),
            Err(error) => {
                log_failure(id, &error);
                FirstCheck::Unchanged
            }
        },
    }
}

fn log_failure(id: &InstanceId, error: &PortError) {
    tracing::warn!(instance_id = %id, error = %format_error_chain(error), "the connection was not looked at");
}

/// Asks the providers that did not answer once more, all at once, 10 s after the last of them. Returns the instances whose state
/// was stored.
async fn ask_again(deps: &Deps, silent: Vec<Silence>) -> Vec<InstanceId> {
    if silent.is_empty() {
        return Vec::new();
    }
    deps.system().sleep(ASKED_AGAIN_AFTER.unsigned_abs()).await;
    let questions: Vec<_> = silent.into_iter().map(|one| ask_second(deps, one)).collect();
    let found: Vec<Option<InstanceId>> = stream::iter(questions)
        .buffer_unordered(ASKED_MAX)
        .collect()
        .await;
    found.into_iter().flatten().collect()
}

/// Asks a provider once more that did not answer.
async fn ask_second(deps: &Deps, silence: Silence) -> Option<InstanceId> {
    let (id, now) = (&silence.bound.instance.id, deps.system().now());
    let stored = match deps.providers().query_connection(&silence.bound).await {
        ConnectionAnswer::Open | ConnectionAnswer::Unclear => return None,
        ConnectionAnswer::Unreachable => record_unreachable(deps, id, silence.since, silence.asked_at).await,
        answer => record_answer(deps, id, answer, Some(now)).await,
    };
    match stored {
        Ok(()) => Some(id.clone()),
        Err(error) => {
            log_failure(id, &error);
            None
        }
    }
}

/// Shows the state of an instance in the reading, which was made before.
async fn show_change(deps: &Deps, reading: &mut InstallationReading, id: &InstanceId) -> PortResult<()> {
    let state = deps.store().read_instance_state(id).await?;
    if let Some(one) = reading.instances.iter_mut().find(|one| one.instance.id == *id) {
        (one.connection, one.since) = (state.connection, state.since);
    }
    reading.troubled.states.retain(|(troubled, _)| troubled != id);
    if state.index_time().is_some() {
        reading.troubled.states.push((id.clone(), state));
    }
    Ok(())
}
