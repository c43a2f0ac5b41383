//! catch-up: what a provider failed to deliver is fetched from its memory and fed through the same dedupe as a webhook.
//!
//! The oldest page first, so that messages get their ordinals in the order in which they were written; whatever is known
//! changes nothing. No message in the ordinary course pays for any of this.

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

/// So much earlier than asked for is read: clocks differ, and what came last may have overtaken what came before it.
const OVERLAP_MS: i64 = 10 * 60_000;

/// How far the provider's clock may be ahead of ours.
const CLOCK_SKEW_MS: i64 = 60_000;

/// How long before its end a known event is no longer relied on to be known.
const KNOWN_MARGIN_MS: i64 = 5 * 60_000;

/// What one catch-up on demand may cost: a function of the API has 29 seconds.
const ON_DEMAND: CatchUpLimits = CatchUpLimits {
    pages: 200,
    time_ms: 15_000,
};

/// What a catch-up found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatchUpReport {
    /// From when on was read, the overlap included.
    pub since: Timestamp,
    /// Up to when.
    pub until: Timestamp,
    /// Whether the provider keeps anything that could be read. If not, everything else is 0.
    pub offered: bool,
    /// How many messages were read, of contacts and of ours.
    pub looked_at: usize,
    /// How many of them were known.
    pub known: usize,
    /// How many were not: they are stored, and answered if they are young enough.
    pub missed: usize,
    /// How many statuses of our messages were newer than what was known.
    pub statuses: usize,
    /// How many were nothing for us (groups, broadcasts and the like).
    pub ignored: usize,
    /// How many pages were read.
    pub pages: u32,
    /// Whether there is more to read: go on with [`CatchUpReport::next`].
    pub more: bool,
    /// When the newest message was written that was read; if there is more, from when on to ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// The provider gives only its newest messages, and they do not reach back as far.
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

/// Why nothing was fetched, or not all.
#[derive(Debug, thiserror::Error)]
pub enum CatchUpError {
    /// There is no such instance.
    #[error("there is no such instance")]
    NotFound,
    /// What is older is no longer known again: it would be stored a second time.
    #[error("messages are known again for so long only: nothing before {earliest} can be fetched")]
    TooFarBack {
        /// The earliest instant.
        earliest: Timestamp,
    },
    /// The instant lies ahead.
    #[error("that instant lies ahead")]
    Ahead,
    /// The provider did not say.
    #[error(transparent)]
    Provider(#[from] HistoryError),
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Fetches what this instance missed since `since`, or since the last message that is known of it.
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

/// From when on events are still known again.
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

/// When the last message of a contact was written that is known of this instance.
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
