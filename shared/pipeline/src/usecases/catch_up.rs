//! Catch-up: reads the provider's history for messages whose webhooks were lost, and processes them with the same dedupe
//! as webhooks.
//!
//! The oldest page is read first, so that messages get their ordinals in the order in which they were written. Known
//! messages change nothing. The normal processing of a message does no work for catch-ups.

use crate::Deps;
use crate::steps::audit::audit_action;
use crate::steps::enabled_instance::find_instance_within;
pub use crate::steps::history_reader::{CatchUpError, CatchUpReport, MissedMessages};
use crate::steps::history_reader::{
    CatchUpLimits, HistoryUse, earliest_known_time, history_span, read_history, record_catch_up,
};
use jiff::SignedDuration;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_ports::ports::{ConversationFilter, HistoryError, PageRequest, PortResult};

/// Limits of one catch-up on demand: a function of the API has 29 seconds.
const ON_DEMAND: CatchUpLimits = CatchUpLimits {
    pages: 200,
    time: SignedDuration::from_secs(15),
};

/// Reads the messages that an instance missed since `since` and processes those that are not known. Without `since`, it
/// starts at the newest known message of a contact.
pub async fn catch_up(
    deps: &Deps,
    caller: &Caller,
    id: &InstanceId,
    since: Option<Timestamp>,
    correlation: &CorrelationId,
) -> Result<CatchUpReport, CatchUpError> {
    run_catch_up(deps, caller, (id, since), HistoryUse::Process, correlation).await
}

/// Tells what [`catch_up`] would do. The provider's history is read, and nothing is stored.
pub async fn preview_catch_up(
    deps: &Deps,
    caller: &Caller,
    id: &InstanceId,
    since: Option<Timestamp>,
    correlation: &CorrelationId,
) -> Result<CatchUpReport, CatchUpError> {
    run_catch_up(deps, caller, (id, since), HistoryUse::Preview, correlation).await
}

async fn run_catch_up(
    deps: &Deps,
    caller: &Caller,
    (id, since): (&InstanceId, Option<Timestamp>),
    purpose: HistoryUse,
    correlation: &CorrelationId,
) -> Result<CatchUpReport, CatchUpError> {
    let bound = find_instance_within(deps, caller, id)
        .await?
        .ok_or(CatchUpError::NotFound)?;
    if !bound.is_enabled() {
        return Err(CatchUpError::Disabled);
    }
    let now = deps.system().now();
    let earliest = earliest_known_time(deps, &bound.tenant, now);
    match since {
        Some(since) if since < earliest => return Err(CatchUpError::TooFarBack { earliest }),
        Some(since) if since > now => return Err(CatchUpError::Ahead),
        _ => {}
    }
    if purpose == HistoryUse::Process {
        let asked = AuditAction::CaughtUp.on_object(Some(&bound.tenant.id), "instance", id.as_str());
        audit_action(deps, caller, asked).await?;
    }
    let state = deps.store().read_instance_state(id).await?;
    let from = match since {
        Some(since) => since,
        None => find_last_inbound(deps, id).await?.unwrap_or(earliest),
    };
    let span = history_span(from, earliest, now);
    let done = match read_history(deps, &bound, span, (ON_DEMAND, purpose), correlation).await {
        Err(CatchUpError::Provider(HistoryError::NotOffered)) => {
            return Ok(CatchUpReport {
                offered: false,
                ..CatchUpReport::for_span(span)
            });
        }
        read => read?,
    };
    if purpose == HistoryUse::Process
        && state
            .catch_up_from
            .is_some_and(|noted| noted >= from && !done.more)
    {
        record_catch_up(deps, id, &state, None).await?;
    }
    Ok(done)
}

/// Returns the time of the newest known message of a contact of this instance; `None` if there is none.
async fn find_last_inbound(deps: &Deps, id: &InstanceId) -> PortResult<Option<Timestamp>> {
    let filter = ConversationFilter {
        instance: Some(id.clone()),
        ..ConversationFilter::default()
    };
    let page = PageRequest::first(50);
    let newest = deps.store().search_conversations(&filter, &page).await?;
    Ok(newest
        .items
        .iter()
        .filter_map(|conversation| conversation.contact.last_inbound_at)
        .max())
}
