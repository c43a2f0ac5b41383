//! The stored connection state of instances, and the release of parked conversations.

use crate::Deps;
use crate::steps::enabled_instance::change_unread_state;
use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::connection_check::ConnectionCheck;
use recado_domain::ids::{ConversationId, InstanceId};
use recado_domain::instance::{
    ConnectionStatus, ConnectionUpdate, InstanceChange, InstanceState, ParkedConversation,
};
use recado_domain::millis::add_duration;
use recado_domain::wake_up::SendJob;
use recado_ports::ports::{ConnectionAnswer, OutboundEntry, PortResult};
use recado_ports::random_id::generate_correlation_id;
use recado_ports::records::samples::list_samples;
use recado_ports::table::Table;

/// Number of parked conversations in one read, and maximum number of reads in one release. `reconcile` releases the
/// rest.
const RELEASE_AT_ONCE: usize = 200;
const RELEASE_ROUNDS: usize = 50;

/// Wait before the first probe of a closed instance.
const PROBE_FIRST: SignedDuration = SignedDuration::from_secs(30);

/// Minimum time between two immediate releases. A connection that comes and goes must not send a
/// thousand send jobs each time. A release that is put off is done by `reconcile`.
const RELEASE_EVERY: SignedDuration = SignedDuration::from_secs(10);

/// Time after an opening at which `reconcile` checks that everything was released.
const RELEASE_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// Time within which the checks of connections count: after a longer one without a pass, the first instance is next.
const LOOKS_COUNT_FOR: SignedDuration = SignedDuration::from_mins(10);

/// Minimum time between two questions to the provider that events cause.
const ASK_EVERY: SignedDuration = SignedDuration::from_secs(2);

/// Returns a verdict to wait for an event that says the connection changed, or `None`. The event waits if it came right
/// after an answer of the provider, so that one question serves it and the events that follow.
pub async fn delay_connection_event(
    deps: &Deps,
    bound: &InstanceConfig,
    received_at: Timestamp,
) -> PortResult<Option<Verdict>> {
    let now = deps.system().now();
    let confirmed = deps
        .store()
        .read_instance_state(&bound.instance.id)
        .await?
        .confirmed_at;
    Ok(confirmed
        .filter(|at| *at <= received_at)
        .map(|at| add_duration(at, ASK_EVERY))
        .filter(|again| *again > now)
        .map(|again| Verdict::retry_at(again, now)))
}

/// Asks the provider because of an event that arrived at `received_at`, unless the provider was asked since.
pub async fn handle_connection_event(
    deps: &Deps,
    bound: &InstanceConfig,
    received_at: Timestamp,
) -> PortResult<()> {
    let instance = &bound.instance.id;
    let state = deps.store().read_instance_state(instance).await?;
    if state.confirmed_at.is_none_or(|at| at <= received_at) {
        return refresh_connection(deps, bound).await;
    }
    if state.connection == ConnectionStatus::Open && state.probe_at.is_none() {
        // The worker that asked may have failed before it released the parked conversations.
        return release_parked(deps, instance).await;
    }
    Ok(())
}

/// Asks the provider for the connection and stores the answer. An event only causes the question, because events come in
/// no order.
pub async fn refresh_connection(deps: &Deps, bound: &InstanceConfig) -> PortResult<()> {
    let asked_at = Some(deps.system().now());
    let answer = deps.providers().query_connection(bound).await;
    record_answer(deps, &bound.instance.id, answer, asked_at).await
}

/// Stores a provider's answer about its connection.
pub async fn record_answer(
    deps: &Deps,
    instance: &InstanceId,
    answer: ConnectionAnswer,
    asked_at: Option<Timestamp>,
) -> PortResult<()> {
    match answer {
        ConnectionAnswer::Open => record_open(deps, instance, asked_at).await,
        ConnectionAnswer::Closed => record_closed(deps, instance, ConnectionStatus::Closed, asked_at).await,
        ConnectionAnswer::NeedsCredentials => {
            record_closed(deps, instance, ConnectionStatus::NeedsCredentials, asked_at).await
        }
        ConnectionAnswer::Refused(why) => record_refusal(deps, instance, None, (why, true)).await.map(drop),
        ConnectionAnswer::Unreachable | ConnectionAnswer::Unclear => record_unclear(deps, instance).await,
    }
}

/// Stores an observation of the connection. Returns `true` if the connection's status changed.
async fn store_connection(
    deps: &Deps,
    instance: &InstanceId,
    before: &InstanceState,
    seen: ConnectionUpdate,
) -> PortResult<bool> {
    let change = InstanceChange::Connection(seen);
    Ok(deps
        .store()
        .change_instance_state(instance, before, &change)
        .await?
        .done)
}

/// Stores that the instance can send, and releases its parked conversations. If a release was done a moment ago, the new
/// release is left to `reconcile`. `reconcile` asks once more a minute after an opening, and releases conversations that
/// a failed worker did not release.
async fn record_open(deps: &Deps, instance: &InstanceId, asked_at: Option<Timestamp>) -> PortResult<()> {
    let now = deps.system().now();
    let before = deps.store().read_instance_state(instance).await?;
    if let Some(run) = before.refusal().filter(|run| !run.everything) {
        return try_one_conversation(deps, instance, &before, run.trials, asked_at).await;
    }
    let mut seen = ConnectionUpdate {
        connection: ConnectionStatus::Open,
        at: now,
        probe_at: None,
        asked_at,
        releases_waiting: true,
    };
    let again = before.released_at.map(|at| add_duration(at, RELEASE_EVERY));
    let put_off = again.filter(|again| *again > now);
    if before.connection == ConnectionStatus::Open {
        if put_off.is_some() && before.probe_at.is_some() {
            (seen.probe_at, seen.releases_waiting) = (before.probe_at, false);
        } else {
            release_parked(deps, instance).await?;
        }
        return store_connection(deps, instance, &before, seen).await.map(drop);
    }
    seen.releases_waiting = put_off.is_none();
    seen.probe_at = Some(put_off.unwrap_or(add_duration(now, RELEASE_AGAIN)));
    if store_connection(deps, instance, &before, seen).await? {
        tracing::info!(instance_id = %instance, put_off = put_off.is_some(), "instance open");
    }
    if seen.releases_waiting {
        release_parked(deps, instance).await?;
    }
    Ok(())
}

/// Has one parked conversation of a refused instance tried: the provider's word that it is connected does not show that it takes
/// messages. The instance is open meanwhile, so a refusal closes it again, and an accepted message releases the others
/// ([`end_trial`]). Each try is of another conversation.
async fn try_one_conversation(
    deps: &Deps,
    instance: &InstanceId,
    before: &InstanceState,
    trials: u32,
    asked_at: Option<Timestamp>,
) -> PortResult<()> {
    let now = deps.system().now();
    let seen = observe_waiting(ConnectionStatus::Open, now, (now, trials), asked_at);
    store_connection(deps, instance, before, seen).await?;
    let mut parked = deps.store().list_parked(instance, RELEASE_AT_ONCE).await?;
    parked.retain(|entry| entry.not_before.is_none_or(|not_before| not_before <= now));
    // The one that waits for longest: after its try it is parked again and waits for its next turn.
    if let Some(next) = parked.first() {
        tracing::info!(instance_id = %instance, trials, "one conversation of a refused instance is tried");
        release_conversation(deps, next).await?;
    }
    Ok(())
}

/// Releases what waits of an instance that was refused, after one of its messages was accepted.
pub async fn end_trial(deps: &Deps, instance: &InstanceId) -> PortResult<()> {
    tracing::info!(instance_id = %instance, "a refused instance sends again");
    record_open(deps, instance, None).await
}

/// Counts a refusal that may be one of the whole instance: its words, and whether the provider said that it refuses everything. Where
/// it is, the instance is closed. Returns `true` then.
pub async fn record_refusal(
    deps: &Deps,
    instance: &InstanceId,
    conversation: Option<&ConversationId>,
    (why, everything): (String, bool),
) -> PortResult<bool> {
    let refused = InstanceChange::Refused {
        why,
        conversation: conversation.cloned(),
        everything,
    };
    let changed = change_unread_state(deps, instance, &refused).await?;
    if changed.done {
        let why = changed.state.refusal().map(|run| run.why.as_str());
        tracing::error!(instance_id = %instance, event = "refused", why, "the provider refuses every message: they wait");
        record_closed(deps, instance, ConnectionStatus::Closed, None).await?;
    }
    Ok(changed.done)
}

/// Stores that the instance cannot send, and sets the next probe with a growing interval. `asked_at`: the time when the
/// provider was asked, if this is its answer; otherwise `None`.
pub async fn record_closed(
    deps: &Deps,
    instance: &InstanceId,
    connection: ConnectionStatus,
    asked_at: Option<Timestamp>,
) -> PortResult<()> {
    let now = deps.system().now();
    let before = deps.store().read_instance_state(instance).await?;
    // The intervals start anew if the connection state is another than before.
    let probes = if before.connection == connection {
        before.probes
    } else {
        // The tries of a refused instance open it each time.
        before.refusal().map_or(0, |run| run.trials)
    };
    let seen = observe_waiting(connection, now, (now, probes), asked_at);
    let changed = store_connection(deps, instance, &before, seen).await?;
    if connection == ConnectionStatus::NeedsCredentials {
        // Logged at every probe, not only at the first: an alarm must last as long as its cause.
        tracing::error!(instance_id = %instance, event = "needs_credentials", "credential missing or refused: messages wait");
    } else if changed {
        tracing::warn!(instance_id = %instance, connection = connection.as_str(), "instance not open: messages wait");
    }
    Ok(())
}

/// Stores that the provider of an open instance is gone since `since`: it did not answer, first at `asked_at`. Nothing is stored
/// if a sender or an event showed another state after that.
pub async fn record_unreachable(
    deps: &Deps,
    instance: &InstanceId,
    since: Timestamp,
    asked_at: Timestamp,
) -> PortResult<()> {
    let before = deps.store().read_instance_state(instance).await?;
    let is_confirmed = before.confirmed_at.is_some_and(|at| at > asked_at);
    if before.connection != ConnectionStatus::Open || is_confirmed {
        return Ok(());
    }
    let seen = observe_waiting(
        ConnectionStatus::Unreachable,
        since,
        (deps.system().now(), 0),
        None,
    );
    if store_connection(deps, instance, &before, seen).await? {
        tracing::warn!(instance_id = %instance, "the provider does not answer: messages wait");
    }
    Ok(())
}

/// Reads the newest checks of connections, the newest first.
pub async fn read_connection_checks(table: &dyn Table, now: Timestamp) -> PortResult<Vec<ConnectionCheck>> {
    let since = add_duration(now, -LOOKS_COUNT_FOR);
    let mut samples = list_samples(table, None, since).await?;
    Ok(samples.pop().map(|newest| newest.looks).unwrap_or_default())
}

/// Handles an unclear answer: the stored state stays, and an instance that is not open gets its next probe.
async fn record_unclear(deps: &Deps, instance: &InstanceId) -> PortResult<()> {
    let before = deps.store().read_instance_state(instance).await?;
    if before.connection != ConnectionStatus::Open {
        let now = deps.system().now();
        let seen = observe_waiting(before.connection, now, (now, before.probes), None);
        store_connection(deps, instance, &before, seen).await?;
    }
    Ok(())
}

/// Describes an observation after which the parked conversations wait on. The instance is probed again, the later the more `probes` it
/// had.
fn observe_waiting(
    connection: ConnectionStatus,
    at: Timestamp,
    (now, probes): (Timestamp, u32),
    asked_at: Option<Timestamp>,
) -> ConnectionUpdate {
    ConnectionUpdate {
        connection,
        at,
        probe_at: Some(next_probe_time(now, probes)),
        asked_at,
        releases_waiting: false,
    }
}

/// Returns the time of the next probe: after 30 s, 1, 2, 4, 8 and then always 10 minutes.
fn next_probe_time(now: Timestamp, probes: u32) -> Timestamp {
    let wait = PROBE_FIRST
        .saturating_mul(1 << probes.min(5))
        .min(SignedDuration::from_mins(10));
    add_duration(now, wait)
}

/// Sends a send job for each parked conversation of an open instance whose time has come. The parked entry is removed if
/// the conversation was not parked again meanwhile.
pub async fn release_parked(deps: &Deps, instance: &InstanceId) -> PortResult<()> {
    let now = deps.system().now();
    for _ in 0..RELEASE_ROUNDS {
        let parked = deps.store().list_parked(instance, RELEASE_AT_ONCE).await?;
        let due = parked
            .iter()
            .filter(|entry| entry.not_before.is_none_or(|not_before| not_before <= now));
        let mut released = 0;
        for entry in due {
            released += usize::from(release_conversation(deps, entry).await?);
        }
        if released == 0 || parked.len() < RELEASE_AT_ONCE {
            return Ok(());
        }
    }
    Ok(())
}

/// Sends a send job for one parked conversation and removes its entry. `false`: it was parked again meanwhile.
pub async fn release_conversation(deps: &Deps, parked: &ParkedConversation) -> PortResult<bool> {
    let correlation = generate_correlation_id(deps.system());
    let job = SendJob {
        reply: parked.reply.clone(),
        ..SendJob::new(parked.conversation.clone(), SendJob::ALL_OPEN, correlation)
    };
    let entry = OutboundEntry {
        job: job.into(),
        deduplication: format!("release-{}", parked.version),
    };
    deps.queues().enqueue_outbound(&[entry]).await?;
    deps.store().remove_parked(parked).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_come_after_half_a_minute_and_then_less_often_up_to_ten_minutes() {
        let now = Timestamp::UNIX_EPOCH;
        let waits: Vec<i64> = (0..8)
            .chain([u32::MAX])
            .map(|probes| next_probe_time(now, probes).as_second())
            .collect();
        assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600, 600, 600]);
    }
}
