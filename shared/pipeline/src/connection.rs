//! What is known of an instance's connection, and the release of what waits for it.

use crate::Deps;
use crate::ports::{ConnectionAnswer, InstanceStates, PortResult, Providers, Queues, System};
use crate::random_id::generate_correlation_id;
use crate::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_domain::instance::{ConnectionStatus, ConnectionUpdate, ParkedConversation};
use recado_domain::millis::add_millis;
use recado_domain::wake_up::SendJob;
use std::time::Duration;

/// How many parked conversations are read at once, and how often: what is left after that is swept by `reconcile`.
const RELEASE_AT_ONCE: usize = 200;
const RELEASE_ROUNDS: usize = 50;

/// The first probe of a closed instance.
const PROBE_FIRST: Duration = Duration::from_secs(30);

/// So often at most is what waits released at once: a connection that comes and goes must not kick a thousand parked
/// conversations each time. What is put off, `reconcile` does.
const RELEASE_EVERY_MS: i64 = 10_000;

/// How long after an opening it is made sure that all was released.
const RELEASE_AGAIN_MS: i64 = 60_000;

/// So often at most an event makes us ask.
const ASK_EVERY_MS: i64 = 2_000;

/// How long an event that says the connection changed is to wait: one that came right after an answer is asked about
/// together with those that follow it.
pub(crate) async fn delay_connection_event<W: Deps>(
    deps: &W,
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
        .map(|at| add_millis(at, ASK_EVERY_MS))
        .filter(|again| *again > now)
        .map(|again| Verdict::retry_at(again, now)))
}

/// Asks because of an event that arrived at `received_at`, unless the provider was asked since.
pub(crate) async fn handle_connection_event<W: Deps>(
    deps: &W,
    bound: &InstanceConfig,
    received_at: Timestamp,
) -> PortResult<()> {
    let instance = &bound.instance.id;
    let state = deps.store().read_instance_state(instance).await?;
    if state.confirmed_at.is_none_or(|at| at <= received_at) {
        return refresh_connection(deps, bound).await;
    }
    if state.connection == ConnectionStatus::Open && state.probe_at.is_none() {
        // Whoever asked may have died before it released.
        return release_parked(deps, instance).await;
    }
    Ok(())
}

/// Asks the provider and takes its answer. Events only make us ask: they carry no order.
pub(crate) async fn refresh_connection<W: Deps>(deps: &W, bound: &InstanceConfig) -> PortResult<()> {
    let asked_at = Some(deps.system().now());
    let instance = &bound.instance.id;
    match deps.providers().query_connection(bound).await {
        ConnectionAnswer::Open => record_open(deps, instance, asked_at).await,
        ConnectionAnswer::Closed => record_closed(deps, instance, ConnectionStatus::Closed, asked_at).await,
        ConnectionAnswer::NeedsCredentials => {
            record_closed(deps, instance, ConnectionStatus::NeedsCredentials, asked_at).await
        }
        ConnectionAnswer::Unclear => record_unclear(deps, instance).await,
    }
}

/// The instance can send: store that first, then release, or leave that to `reconcile` if it was done a moment ago.
/// `reconcile` asks once more a minute after an opening, and releases what this may leave should it die.
async fn record_open<W: Deps>(
    deps: &W,
    instance: &InstanceId,
    asked_at: Option<Timestamp>,
) -> PortResult<()> {
    let now = deps.system().now();
    let before = deps.store().read_instance_state(instance).await?;
    let mut seen = ConnectionUpdate {
        connection: ConnectionStatus::Open,
        at: now,
        probe_at: None,
        asked_at,
        releases_waiting: true,
    };
    let again = before.released_at.map(|at| add_millis(at, RELEASE_EVERY_MS));
    let put_off = again.filter(|again| *again > now);
    if before.connection == ConnectionStatus::Open {
        if put_off.is_some() && before.probe_at.is_some() {
            (seen.probe_at, seen.releases_waiting) = (before.probe_at, false);
        } else {
            release_parked(deps, instance).await?;
        }
        return deps.store().set_connection(instance, &seen).await.map(drop);
    }
    seen.releases_waiting = put_off.is_none();
    seen.probe_at = Some(put_off.unwrap_or(add_millis(now, RELEASE_AGAIN_MS)));
    if deps.store().set_connection(instance, &seen).await? {
        tracing::info!(instance_id = %instance, put_off = put_off.is_some(), "instance open");
    }
    if seen.releases_waiting {
        release_parked(deps, instance).await?;
    }
    Ok(())
}

/// The instance cannot send, and is probed with a growing interval. `asked_at`: when the provider was asked, if this is
/// its answer.
pub(crate) async fn record_closed<W: Deps>(
    deps: &W,
    instance: &InstanceId,
    connection: ConnectionStatus,
    asked_at: Option<Timestamp>,
) -> PortResult<()> {
    let now = deps.system().now();
    let before = deps.store().read_instance_state(instance).await?;
    // Another connection than before begins to be probed anew.
    let probes = if before.connection == connection {
        before.probes
    } else {
        0
    };
    let seen = ConnectionUpdate {
        connection,
        at: now,
        probe_at: Some(next_probe_time(now, probes)),
        asked_at,
        releases_waiting: false,
    };
    let changed = deps.store().set_connection(instance, &seen).await?;
    if connection == ConnectionStatus::NeedsCredentials {
        // At every probe, not only at the first: an alarm must last as long as its cause.
        tracing::error!(instance_id = %instance, event = "needs_credentials", "credential missing or refused: messages wait");
    } else if changed {
        tracing::warn!(instance_id = %instance, connection = connection.as_str(), "instance not open: messages wait");
    }
    Ok(())
}

/// No answer that counts: what was believed stays, and a probe is due later.
async fn record_unclear<W: Deps>(deps: &W, instance: &InstanceId) -> PortResult<()> {
    let state = deps.store().read_instance_state(instance).await?;
    if state.connection != ConnectionStatus::Open {
        let now = deps.system().now();
        let seen = ConnectionUpdate {
            connection: state.connection,
            at: now,
            probe_at: Some(next_probe_time(now, state.probes)),
            asked_at: None,
            releases_waiting: false,
        };
        deps.store().set_connection(instance, &seen).await?;
    }
    Ok(())
}

/// 30 s, 1, 2, 4 … 10 minutes.
fn next_probe_time(now: Timestamp, probes: u32) -> Timestamp {
    let wait = PROBE_FIRST
        .saturating_mul(1 << probes.min(5))
        .min(Duration::from_secs(600));
    add_millis(now, i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

/// Kicks each parked conversation of an open instance, and removes its entry if it was not parked again meanwhile.
pub(crate) async fn release_parked<W: Deps>(deps: &W, instance: &InstanceId) -> PortResult<()> {
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

/// Kicks one parked conversation and removes its entry; `false` if it was parked again meanwhile.
pub(crate) async fn release_conversation<W: Deps>(deps: &W, parked: &ParkedConversation) -> PortResult<bool> {
    let correlation = generate_correlation_id(deps.system());
    let kick = SendJob {
        reply: parked.reply.clone(),
        ..SendJob::new(parked.conversation.clone(), SendJob::ALL_OPEN, correlation)
    };
    deps.queues()
        .enqueue_send_job(&kick, &format!("release-{}", parked.version))
        .await?;
    deps.store().remove_parked(parked).await
}

/// Notes that the model's key is missing or was refused.
pub(crate) async fn record_missing_model_key<W: Deps>(
    deps: &W,
    instance: &InstanceId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    if deps.store().set_llm_needs_credentials(instance, true).await? {
        tracing::error!(
            instance_id = %instance, correlation_id = %correlation, event = "needs_credentials",
            "the model's key is missing or was refused: turns wait"
        );
    }
    Ok(())
}
