//! catch-up: what a provider failed to deliver is fetched from its memory and fed through the same dedupe as a webhook.
//!
//! The oldest page first, so that messages get their ordinals in the order in which they were written; whatever is known
//! changes nothing. No message in the ordinary course pays for any of this.

mod by_itself;
mod reading;

pub(crate) use by_itself::by_itself;

use crate::World;
use crate::ports::{
    Ambient, ConversationFilter, Conversations, Directory, HistoryError, Instances, PageRequest, PortError,
    PortResult, Span,
};
use jiff::Timestamp;
use reading::{Limits, read};
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_domain::millis::shift;
use serde::Serialize;

/// So much earlier than asked for is read: clocks differ, and what came last may have overtaken what came before it.
const OVERLAP_MS: i64 = 10 * 60_000;

/// How far the provider's clock may be ahead of ours.
const AHEAD_MS: i64 = 60_000;

/// How long before its end a known event is no longer relied on to be known.
const MARGIN_MS: i64 = 5 * 60_000;

/// What one catch-up on demand may cost: a function of the API has 29 seconds.
const ON_DEMAND: Limits = Limits {
    pages: 200,
    time_ms: 15_000,
};

/// What a catch-up found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaughtUp {
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
    /// Whether there is more to read: go on with [`CaughtUp::next`].
    pub more: bool,
    /// When the newest message was written that was read; if there is more, from when on to ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// The provider gives only its newest messages, and they do not reach back as far.
    pub cut: bool,
}

impl CaughtUp {
    fn empty(span: Span) -> Self {
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
pub async fn catch_up<W: World>(
    world: &W,
    id: &InstanceId,
    since: Option<Timestamp>,
    correlation: &CorrelationId,
) -> Result<CaughtUp, CatchUpError> {
    let bound = world
        .store()
        .bound_by_id(id)
        .await?
        .ok_or(CatchUpError::NotFound)?;
    let now = world.ambient().now();
    let earliest = earliest(world, now);
    match since {
        Some(since) if since < earliest => return Err(CatchUpError::TooFarBack { earliest }),
        Some(since) if since > now => return Err(CatchUpError::Ahead),
        _ => {}
    }
    let state = world.store().instance_state(id).await?;
    let from = match since {
        Some(since) => since,
        None => last_known(world, id).await?.unwrap_or(earliest),
    };
    let span = span(from, earliest, now);
    let done = match read(world, &bound, span, ON_DEMAND, correlation).await {
        Err(CatchUpError::Provider(HistoryError::NotOffered)) => {
            return Ok(CaughtUp {
                offered: false,
                ..CaughtUp::empty(span)
            });
        }
        read => read?,
    };
    if state
        .catch_up_from
        .is_some_and(|noted| noted >= from && !done.more)
    {
        world.store().caught_up(id, &state, None).await?;
    }
    Ok(done)
}

/// From when on events are still known again.
fn earliest<W: World>(world: &W, now: Timestamp) -> Timestamp {
    let ttl = i64::try_from(world.settings().event_ttl.as_millis()).unwrap_or(i64::MAX);
    shift(now, -ttl.saturating_sub(MARGIN_MS).max(0))
}

fn span(from: Timestamp, earliest: Timestamp, now: Timestamp) -> Span {
    Span {
        since: shift(from, -OVERLAP_MS).max(earliest),
        until: shift(now, AHEAD_MS),
    }
}

/// When the last message of a contact was written that is known of this instance.
async fn last_known<W: World>(world: &W, id: &InstanceId) -> PortResult<Option<Timestamp>> {
    let filter = ConversationFilter {
        instance: Some(id.clone()),
        ..ConversationFilter::default()
    };
    let page = PageRequest {
        limit: 50,
        cursor: None,
    };
    let newest = world.store().list(&filter, &page).await?;
    Ok(newest
        .items
        .iter()
        .filter_map(|conversation| conversation.last_inbound_at)
        .max())
}
