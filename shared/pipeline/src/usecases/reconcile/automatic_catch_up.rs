//! Automatic catch-ups: after a reconnection, and while an instance is silent at hours when messages usually come.

use crate::Deps;
use crate::deps::capabilities;
use crate::steps::enabled_instance::find_enabled_instance;
use crate::steps::history_reader::{
    CatchUpError, CatchUpLimits, CatchUpReport, HistoryUse, earliest_known_time, history_span, read_history,
    record_catch_up,
};
use jiff::SignedDuration;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{InstanceChange, InstanceState};
use recado_domain::millis::add_duration;
use recado_ports::ports::{HistoryError, PortResult};
use recado_ports::random_id::generate_correlation_id;

/// Minimum time between two automatic catch-ups of an instance.
const EVERY: SignedDuration = SignedDuration::from_mins(15);

/// Limits of one automatic catch-up: `reconcile` has one minute for all its work.
const LIMITS: CatchUpLimits = CatchUpLimits {
    pages: 40,
    time: SignedDuration::from_secs(8),
};

/// Reads the messages that the instance may have missed, if its state says that it may. Returns `true` if a catch-up was
/// tried.
///
/// After a crash, the next catch-up is tried a quarter of an hour later: the stored start stays until everything was
/// read.
pub async fn catch_up_automatically(deps: &Deps, id: &InstanceId, state: &InstanceState) -> PortResult<bool> {
    let now = deps.system().now();
    let before = add_duration(now, -EVERY);
    let Some(from) = state.messages_missing_since() else {
        return Ok(false);
    };
    if state.caught_up_at.is_some_and(|at| at > before) {
        return Ok(false);
    }
    let Some(bound) = find_enabled_instance(deps, id).await? else {
        return Ok(false);
    };
    // Meta repeats its webhooks for seven days by itself, and has no history that can be read.
    let remembers = capabilities(deps, &bound).has_history;
    let claim = InstanceChange::ClaimCatchUp { now, before };
    if !remembers || !deps.store().change_instance_state(id, state, &claim).await?.done {
        return Ok(false);
    }
    let span = history_span(from, earliest_known_time(deps, &bound.tenant, now), now);
    match Box::pin(read_history(
        deps,
        &bound,
        span,
        (LIMITS, HistoryUse::Process),
        &generate_correlation_id(deps.system()),
    ))
    .await
    {
        Ok(done) => record_progress(deps, id, state, &done).await?,
        Err(CatchUpError::Provider(HistoryError::NotOffered)) => clear_missing_since(deps, id, state).await?,
        Err(error) => tracing::warn!(
            instance_id = %id, error = %error, "what the instance may have missed was not fetched"
        ),
    }
    Ok(true)
}

async fn clear_missing_since(deps: &Deps, id: &InstanceId, state: &InstanceState) -> PortResult<()> {
    match state.catch_up_from {
        Some(_) => record_catch_up(deps, id, state, None).await,
        None => Ok(()),
    }
}

async fn record_progress(
    deps: &Deps,
    id: &InstanceId,
    state: &InstanceState,
    done: &CatchUpReport,
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
        return clear_missing_since(deps, id, state).await;
    }
    // The next catch-up continues where this one ended.
    let rest = done.next.max(state.messages_missing_since());
    record_catch_up(deps, id, state, rest).await
}
