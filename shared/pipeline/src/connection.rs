//! What is known of an instance's connection, and the release of what waits for it.

use crate::World;
use crate::chance::correlation;
use crate::ports::{Ambient, ConnectionAnswer, Instances, PortResult, Providers, Queues};
use recado_domain::config::Bound;
use recado_domain::ids::{CorrelationId, InstanceId, Ordinal};
use recado_domain::instance::{Connection, Parked};
use recado_domain::millis::shift;
use recado_domain::outbox::SendKick;
use std::time::Duration;

/// How many parked conversations are read at once, and how often: what is left after that is swept by `reconcile`.
const RELEASE_AT_ONCE: usize = 200;
const RELEASE_ROUNDS: usize = 50;

/// The first probe of a closed instance.
const PROBE_FIRST: Duration = Duration::from_secs(30);

/// Asks the provider and takes its answer. Events only make us ask: they carry no order.
pub(crate) async fn ask<W: World>(world: &W, bound: &Bound) -> PortResult<()> {
    match world.providers().connection(bound).await {
        ConnectionAnswer::Open => opened(world, &bound.instance.id).await,
        ConnectionAnswer::Closed => closed(world, &bound.instance.id, Connection::Closed).await,
        ConnectionAnswer::NeedsCredentials => {
            closed(world, &bound.instance.id, Connection::NeedsCredentials).await
        }
        ConnectionAnswer::Unclear => unclear(world, &bound.instance.id).await,
    }
}

/// The instance can send: store that first, then release.
async fn opened<W: World>(world: &W, instance: &InstanceId) -> PortResult<()> {
    let now = world.ambient().now();
    if world
        .store()
        .set_connection(instance, Connection::Open, now, None)
        .await?
    {
        tracing::info!(instance_id = %instance, "instance open");
    }
    release(world, instance).await
}

/// The instance cannot send, and is probed with a growing interval.
pub(crate) async fn closed<W: World>(
    world: &W,
    instance: &InstanceId,
    connection: Connection,
) -> PortResult<()> {
    let now = world.ambient().now();
    let probes = world.store().instance_state(instance).await?.probes;
    let changed = world
        .store()
        .set_connection(instance, connection, now, Some(next_probe(now, probes)))
        .await?;
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
        let probe_at = Some(next_probe(now, state.probes));
        world
            .store()
            .set_connection(instance, state.connection, now, probe_at)
            .await?;
    }
    Ok(())
}

/// 30 s, 1, 2, 4 … 10 minutes.
fn next_probe(now: jiff::Timestamp, probes: u32) -> jiff::Timestamp {
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
    let kick = SendKick {
        conversation: parked.conversation.clone(),
        upto: Ordinal(u64::MAX),
        correlation: correlation(world.ambient()),
        redrive: None,
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
