//! Catch-up: reads the provider's history for messages whose webhooks were lost, and processes them with the same dedupe
//! as webhooks.
//!
//! The oldest page is read first, so that messages get their ordinals in the order in which they were written. Known
//! messages change nothing. The normal processing of a message does no work for catch-ups.

mod automatic;
mod history_reader;

pub(crate) use automatic::catch_up_automatically;

use crate::Deps;
use crate::ports::{
    ConfigurationStore, ConversationFilter, Conversations, HistoryError, HistorySpan, InstanceStates,
    PageRequest, PortError, PortResult, System,
};
use history_reader::{CatchUpLimits, read_history};
use jiff::Timestamp;
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_domain::millis::add_millis;
use serde::Serialize;

/// Time before the requested start that is read too, in milliseconds. Clocks differ, and the newest known message may
/// have overtaken earlier ones.
const OVERLAP_MS: i64 = 10 * 60_000;

/// Maximum time by which the provider's clock may be ahead of Recado's, in milliseconds.
const CLOCK_SKEW_MS: i64 = 60_000;

/// Safety margin before the record of a known event expires, in milliseconds. Within this margin the record is not
/// relied on.
const KNOWN_MARGIN_MS: i64 = 5 * 60_000;

/// Limits of one catch-up on demand: a function of the API has 29 seconds.
const ON_DEMAND: CatchUpLimits = CatchUpLimits {
    pages: 200,
    time_ms: 15_000,
};

/// The result of a catch-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatchUpReport {
    /// Start of the period that was read, the overlap included.
    pub since: Timestamp,
    /// End of the period that was read.
    pub until: Timestamp,
    /// `true` if the provider has a history that can be read. If `false`, all counts are 0.
    pub offered: bool,
    /// Number of messages that were read, of contacts and of the business.
    pub looked_at: usize,
    /// Number of messages that were known already.
    pub known: usize,
    /// Number of messages that were missed: they are stored now, and answered if they are young enough.
    pub missed: usize,
    /// Number of statuses of Recado's messages that were newer than the stored ones.
    pub statuses: usize,
    /// Number of messages that Recado ignores (groups, broadcasts and the like).
    pub ignored: usize,
    /// Number of pages that were read.
    pub pages: u32,
    /// `true` if there is more to read: continue with [`CatchUpReport::next`].
    pub more: bool,
    /// Time of the newest message that was read. If there is more to read: the start of the next catch-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// `true` if the provider offers only its newest messages, and they do not reach back to the requested start.
    pub cut: bool,
}

impl CatchUpReport {
    fn for_span(span: HistorySpan) -> Self {
        Self {
            since: span.since,
            until: span.until,
            offered: true,
            looked_at: 0,
            known: 0,
            missed: 0,
            statuses: 0,
            ignored: 0,
            pages: 0,
            more: false,
            next: None,
            cut: false,
        }
    }
}

/// The reason why a catch-up failed.
#[derive(Debug, thiserror::Error)]
pub enum CatchUpError {
    /// The instance does not exist.
    #[error("there is no such instance")]
    NotFound,
    /// The requested start is too early: older messages are no longer recognized and would be stored a second time.
    #[error("messages are known again for so long only: nothing before {earliest} can be fetched")]
    TooFarBack {
        /// Earliest start that is allowed.
        earliest: Timestamp,
    },
    /// The requested start is in the future.
    #[error("that instant lies ahead")]
    Ahead,
    /// The provider's history could not be read.
    #[error(transparent)]
    Provider(#[from] HistoryError),
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Reads the messages that an instance missed since `since` and processes those that are not known. Without `since`, it
/// starts at the newest known message of a contact.
pub async fn catch_up<W: Deps>(
    deps: &W,
    id: &InstanceId,
    since: Option<Timestamp>,
    correlation: &CorrelationId,
) -> Result<CatchUpReport, CatchUpError> {
    let bound = deps
        .store()
        .instance_config(id)
        .await?
        .ok_or(CatchUpError::NotFound)?;
    let now = deps.system().now();
    let earliest = earliest_known_time(deps, now);
    match since {
        Some(since) if since < earliest => return Err(CatchUpError::TooFarBack { earliest }),
        Some(since) if since > now => return Err(CatchUpError::Ahead),
        _ => {}
    }
    let state = deps.store().read_instance_state(id).await?;
    let from = match since {
        Some(since) => since,
        None => find_last_inbound(deps, id).await?.unwrap_or(earliest),
    };
    let span = history_span(from, earliest, now);
    let done = match read_history(deps, &bound, span, ON_DEMAND, correlation).await {
        Err(CatchUpError::Provider(HistoryError::NotOffered)) => {
            return Ok(CatchUpReport {
                offered: false,
                ..CatchUpReport::for_span(span)
            });
        }
        read => read?,
    };
    if state
        .catch_up_from
        .is_some_and(|noted| noted >= from && !done.more)
    {
        deps.store().record_catch_up(id, &state, None).await?;
    }
    Ok(done)
}

/// Returns the earliest time from which events are still recognized.
fn earliest_known_time<W: Deps>(deps: &W, now: Timestamp) -> Timestamp {
    let ttl = i64::try_from(deps.settings().event_ttl.as_millis()).unwrap_or(i64::MAX);
    add_millis(now, -ttl.saturating_sub(KNOWN_MARGIN_MS).max(0))
}

fn history_span(from: Timestamp, earliest: Timestamp, now: Timestamp) -> HistorySpan {
    HistorySpan {
        since: add_millis(from, -OVERLAP_MS).max(earliest),
        until: add_millis(now, CLOCK_SKEW_MS),
    }
}

/// Returns the time of the newest known message of a contact of this instance; `None` if there is none.
async fn find_last_inbound<W: Deps>(deps: &W, id: &InstanceId) -> PortResult<Option<Timestamp>> {
    let filter = ConversationFilter {
        instance: Some(id.clone()),
        ..ConversationFilter::default()
    };
    let page = PageRequest {
        limit: 50,
        cursor: None,
    };
    let newest = deps.store().search_conversations(&filter, &page).await?;
    Ok(newest
        .items
        .iter()
        .filter_map(|conversation| conversation.last_inbound_at)
        .max())
}
