//! What is known of an instance's connection, and the release of what waits for it.

use crate::World;
use crate::chance::correlation;
use crate::ports::{Ambient, ConnectionAnswer, Instances, PortResult, Providers, Queues};
use crate::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::config::Bound;
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_domain::instance::{Connection, Parked, Sighting};
use recado_domain::kick::SendKick;
use recado_domain::millis::shift;
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
pub(crate) async fn event_waits<W: World>(
    world: &W,
    bound: &Bound,
    received_at: Timestamp,
) -> PortResult<Option<Verdict>> {
    let now = world.ambient().now();
    let confirmed = world
        .store()
        .instance_state(&bound.instance.id)
        .await?
        .confirmed_at;
    Ok(confirmed
        .filter(|at| *at <= received_at)
        .map(|at| shift(at, ASK_EVERY_MS))
        .filter(|again| *again > now)
        .map(|again| Verdict::at(again, now)))
}

/// Asks because of an event that arrived at `received_at`, unless the provider was asked since.
pub(crate) async fn event<W: World>(world: &W, bound: &Bound, received_at: Timestamp) -> PortResult<()> {
    let instance = &bound.instance.id;
    let state = world.store().instance_state(instance).await?;
    if state.confirmed_at.is_none_or(|at| at <= received_at) {
        return ask(world, bound).await;
    }
    if state.connection == Connection::Open && state.probe_at.is_none() {
        // Whoever asked may have died before it released.
        return release(world, instance).await;
    }
    Ok(())
}

/// Asks the provider and takes its answer. Events only make us ask: they carry no order.
pub(crate) async fn ask<W: World>(world: &W, bound: &Bound) -> PortResult<()> {
    let asked_at = Some(world.ambient().now());
    let instance = &bound.instance.id;
    match world.providers().connection(bound).await {
        ConnectionAnswer::Open => opened(world, instance, asked_at).await,
        ConnectionAnswer::Closed => closed(world, instance, Connection::Closed, asked_at).await,
        ConnectionAnswer::NeedsCredentials => {
            closed(world, instance, Connection::NeedsCredentials, asked_at).await
        }
        ConnectionAnswer::Unclear => unclear(world, instance).await,
    }
}

/// The instance can send: store that first, then release, or leave that to `reconcile` if it was done a moment ago.
/// `reconcile` asks once more a minute after an opening, and releases what this may leave should it die.
async fn opened<W: World>(world: &W, instance: &InstanceId, asked_at: Option<Timestamp>) -> PortResult<()> {
    let now = world.ambient().now();
    let before = world.store().instance_state(instance).await?;
    let mut seen = Sighting {
        connection: Connection::Open,
        at: now,
        probe_at: None,
        asked_at,
        releases: true,
    };
    let again = before.released_at.map(|at| shift(at, RELEASE_EVERY_MS));
    let put_off = again.filter(|again| *again > now);
    if before.connection == Connection::Open {
        if put_off.is_some() && before.probe_at.is_some() {
            (seen.probe_at, seen.releases) = (before.probe_at, false);
        } else {
            release(world, instance).await?;
        }
        return world.store().set_connection(instance, &seen).await.map(drop);
    }
    seen.releases = put_off.is_none();
    seen.probe_at = Some(put_off.unwrap_or(shift(now, RELEASE_AGAIN_MS)));
    if world.store().set_connection(instance, &seen).await? {
        tracing::info!(instance_id = %instance, put_off = put_off.is_some(), "instance open");
    }
    if seen.releases {
        release(world, instance).await?;
    }
    Ok(())
}

/// The instance cannot send, and is probed with a growing interval. `asked_at`: when the provider was asked, if this is
/// its answer.
pub(crate) async fn closed<W: World>(
    world: &W,
    instance: &InstanceId,
    connection: Connection,
    asked_at: Option<Timestamp>,
) -> PortResult<()> {
    let now = world.ambient().now();
    let before = world.store().instance_state(instance).await?;
    // Another connection than before begins to be probed anew.
    let probes = if before.connection == connection {
        before.probes
    } else {
        0
    };
    let seen = Sighting {
        connection,
        at: now,
        probe_at: Some(next_probe(now, probes)),
        asked_at,
        releases: false,
    };
    let changed = world.store().set_connection(instance, &seen).await?;
    if connection == Connection::NeedsCredentials {
        // At every probe, not only at the first: an alarm must last as long as its cause.
        tracing::error!(instance_id = %instance, event = "needs_credentials", "credential missing or refused: messages wait");
    } else if changed {
        tracing::warn!(instance_id = %instance, connection = connection.as_str(), "instance not open: messages wait");
    }
    Ok(())
}

/// No answer that counts: what was believed stays, and a probe is due later.
async fn unclear<W: World>(world: &W, instance: &InstanceId) -> PortResult<()> {
    let state = world.store().instance_state(instance).await?;
    if state.connection != Connection::Open {
        let now = world.ambient().now();
        let seen = Sighting {
            connection: state.connection,
            at: now,
            probe_at: Some(next_probe(now, state.probes)),
            asked_at: None,
            releases: false,
        };
        world.store().set_connection(instance, &seen).await?;
    }
    Ok(())
}

/// 30 s, 1, 2, 4 … 10 minutes.
fn next_probe(now: Timestamp, probes: u32) -> Timestamp {
    let wait = PROBE_FIRST
        .saturating_mul(1 << probes.min(5))
        .min(Duration::from_secs(600));
    shift(now, i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

/// Kicks each parked conversation of an open instance, and removes its entry if it was not parked again meanwhile.
pub(crate) async fn release<W: World>(world: &W, instance: &InstanceId) -> PortResult<()> {
    let now = world.ambient().now();
    for _ in 0..RELEASE_ROUNDS {
        let parked = world.store().parked(instance, RELEASE_AT_ONCE).await?;
        let due = parked
            .iter()
            .filter(|entry| entry.not_before.is_none_or(|not_before| not_before <= now));
        let mut released = 0;
        for entry in due {
            released += usize::from(release_one(world, entry).await?);
        }
        if released == 0 || parked.len() < RELEASE_AT_ONCE {
            return Ok(());
        }
    }
    Ok(())
}

/// Kicks one parked conversation and removes its entry; `false` if it was parked again meanwhile.
pub(crate) async fn release_one<W: World>(world: &W, parked: &Parked) -> PortResult<bool> {
    let correlation = correlation(world.ambient());
    let kick = SendKick {
        reply: parked.reply.clone(),
        ..SendKick::new(parked.conversation.clone(), SendKick::ALL, correlation)
    };
    world
        .queues()
        .send_kick(&kick, &format!("release-{}", parked.version))
        .await?;
    world.store().unpark(parked).await
}

/// Notes that the model's key is missing or was refused.
pub(crate) async fn model_needs_credentials<W: World>(
    world: &W,
    instance: &InstanceId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    if world.store().set_llm_needs_credentials(instance, true).await? {
        tracing::error!(
            instance_id = %instance, correlation_id = %correlation, event = "needs_credentials",
            "the model's key is missing or was refused: turns wait"
        );
    }
    Ok(())
}
