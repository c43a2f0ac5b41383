//! Catch-ups that nobody asks for: after a reconnection, and while an instance is silent against its custom.

use super::reading::{Limits, read};
use super::{CatchUpError, CaughtUp, earliest, span};
use crate::World;
use crate::chance::correlation;
use crate::ports::{Ambient, Directory, HistoryError, Instances, PortResult};
use crate::world::traits;
use recado_domain::ids::InstanceId;
use recado_domain::instance::InstanceState;
use recado_domain::millis::shift;

/// So often at most by instance.
const EVERY_MS: i64 = 15 * 60_000;

/// What one may cost: `reconcile` has a minute for everything.
const LIMITS: Limits = Limits {
    pages: 40,
    time_ms: 8_000,
};

/// Fetches what the instance may have missed, if its state says that it may. Whether it was tried.
///
/// A crash in between costs a quarter of an hour: what was noted stays noted until all was read.
pub(crate) async fn by_itself<W: World>(
    world: &W,
    id: &InstanceId,
    state: &InstanceState,
) -> PortResult<bool> {
    let now = world.ambient().now();
    let before = shift(now, -EVERY_MS);
    let Some(from) = state.missing_since() else {
        return Ok(false);
    };
    if state.caught_up_at.is_some_and(|at| at > before) {
        return Ok(false);
    }
    let Some(bound) = world.store().bound_by_id(id).await? else {
        return Ok(false);
    };
    // Meta repeats for seven days by itself, and keeps nothing that could be asked for.
    let remembers = traits(world, &bound).remembers;
    if !remembers || !world.store().claim_catch_up(id, now, before).await? {
        return Ok(false);
    }
    let span = span(from, earliest(world, now), now);
    match Box::pin(read(world, &bound, span, LIMITS, &correlation(world.ambient()))).await {
        Ok(done) => note(world, id, state, &done).await?,
        Err(CatchUpError::Provider(HistoryError::NotOffered)) => forget(world, id, state).await?,
        Err(error) => tracing::warn!(
            instance_id = %id, error = %error, "what the instance may have missed was not fetched"
        ),
    }
    Ok(true)
}

async fn forget<W: World>(world: &W, id: &InstanceId, state: &InstanceState) -> PortResult<()> {
    match state.catch_up_from {
        Some(_) => world.store().caught_up(id, state, None).await,
        None => Ok(()),
    }
}

async fn note<W: World>(
    world: &W,
    id: &InstanceId,
    state: &InstanceState,
    done: &CaughtUp,
) -> PortResult<()> {
    if done.missed > 0 {
        tracing::error!(
            instance_id = %id, event = "messages_missed", missed = done.missed, looked_at = done.looked_at,
            "messages had been missed and were fetched"
        );
    } else {
        tracing::info!(instance_id = %id, looked_at = done.looked_at, "no message was missed");
    }
    if !done.more {
        return forget(world, id, state).await;
    }
    // The next one goes on where this one ended.
    let rest = done.next.max(state.missing_since());
    world.store().caught_up(id, state, rest).await
}
