//! Reads a provider's history page by page, the oldest page first.

use crate::Deps;
use crate::steps::inbound_arrival::{event_period, is_stale};
use crate::steps::webhook_items::ingest;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{InstanceConfig, Tenant};
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus};
use recado_domain::event::{EventKind, EventPayload, InboundJob};
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::instance::{InstanceChange, InstanceState};
use recado_domain::millis::add_duration;
use recado_ports::ports::{HistoryError, HistoryPage, HistoryRecord, HistorySpan, PortError, PortResult};
use serde::Serialize;
use serde_json::Value;

/// Time before the requested start that is read too. Clocks differ, and the newest known message may
/// have overtaken earlier ones.
const OVERLAP: SignedDuration = SignedDuration::from_mins(10);

/// Maximum time by which the provider's clock may be ahead of Recado's.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);

/// Safety margin before the record of a known event expires. Within this margin the record is not
/// relied on.
const KNOWN_MARGIN: SignedDuration = SignedDuration::from_mins(5);

/// Time before the end of a catch-up that the next one reads again. It is shorter than the overlap: if
/// more was written within the overlap than one catch-up reads, every catch-up would read the same messages.
const REREAD: SignedDuration = SignedDuration::from_mins(1);

/// The limits of one catch-up.
#[derive(Debug, Clone, Copy)]
pub struct CatchUpLimits {
    /// Maximum number of pages.
    pub pages: u32,
    /// Time after which no further page is read.
    pub time: SignedDuration,
}

/// The purpose of reading a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryUse {
    /// Messages that are not known are processed.
    Process,
    /// Nothing is stored.
    Preview,
}

/// The reason why a catch-up failed.
#[derive(Debug, thiserror::Error)]
pub enum CatchUpError {
    /// The instance does not exist.
    #[error("there is no such instance")]
    NotFound,
    /// The instance is disabled.
    #[error("the instance is disabled: nothing is fetched for it")]
    Disabled,
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

/// Returns the earliest time from which the tenant's events are still recognized, and what was sent by its deliveries.
pub fn earliest_known_time(deps: &Deps, tenant: &Tenant, now: Timestamp) -> Timestamp {
    let ttl = event_period(deps, Some(tenant)).min(tenant.retention.deliveries.to_duration());
    add_duration(now, -ttl.saturating_sub(KNOWN_MARGIN).max(SignedDuration::ZERO))
}

/// Returns the period that a catch-up from `from` reads: the overlap before it is read too, back to `earliest` at most.
pub fn history_span(from: Timestamp, earliest: Timestamp, now: Timestamp) -> HistorySpan {
    HistorySpan {
        since: add_duration(from, -OVERLAP).max(earliest),
        until: add_duration(now, CLOCK_SKEW),
    }
}

/// Reads the history in `span` and processes or previews messages that are not known, until a limit is reached.
pub async fn read_history(
    deps: &Deps,
    bound: &InstanceConfig,
    span: HistorySpan,
    (limits, purpose): (CatchUpLimits, HistoryUse),
    correlation: &CorrelationId,
) -> Result<CatchUpReport, CatchUpError> {
    let end = add_duration(deps.system().now(), limits.time);
    let mut done = CatchUpReport::for_span(span);
    let first = deps.providers().read_history_page(bound, span, 1).await?;
    let (mut number, mut total) = (first.pages.max(1), first.total);
    done.cut = first.cut;
    // Page 1 has the newest messages, so it is processed last.
    let mut newest = (number == 1).then_some(first);
    loop {
        let page = match newest.take() {
            Some(page) => page,
            None => deps.providers().read_history_page(bound, span, number).await?,
        };
        done.pages += 1;
        done.cut |= page.cut;
        let grown = page.total > total && page.pages > number;
        let pages = page.pages;
        total = total.max(page.total);
        handle_page(deps, page, (purpose, correlation), &mut done).await?;
        if grown {
            // An older message came in and shifted messages to pages that were already read: read those pages again.
            number = pages;
        } else if number == 1 {
            return Ok(done);
        } else {
            number -= 1;
        }
        let now = deps.system().now();
        if done.pages >= limits.pages || now >= end {
            done.more = true;
            done.next = done.next.map(|newest| next_start_time(newest, now));
            return Ok(done);
        }
    }
}

/// Returns the start of the next catch-up after one that read up to `newest`. The next catch-up begins an overlap
/// earlier than this start.
fn next_start_time(newest: Timestamp, now: Timestamp) -> Timestamp {
    add_duration(newest, OVERLAP - REREAD).min(now)
}

/// Processes or previews one page. Known messages that Recado sent are left out: their echoes have no news, and their statuses count
/// only if they are newer.
async fn handle_page(
    deps: &Deps,
    page: HistoryPage,
    (purpose, correlation): (HistoryUse, &CorrelationId),
    done: &mut CatchUpReport,
) -> PortResult<()> {
    let keys: Vec<DeliveryKey> = page
        .records
        .iter()
        .filter_map(|record| record.own_delivery.clone())
        .collect();
    let mut deliveries = if keys.is_empty() {
        Vec::new().into_iter()
    } else {
        deps.store().find_deliveries(&keys).await?.into_iter()
    };
    let mut items = Vec::new();
    for record in page.records {
        done.looked_at += 1;
        done.next = done.next.max(record.at);
        let sent = record
            .own_delivery
            .as_ref()
            .and_then(|_| deliveries.next().flatten());
        match sent.filter(|delivery| delivery.message.is_some()) {
            Some(delivery) => {
                done.known += 1;
                items.extend(find_new_status(record, &delivery));
            }
            None => items.extend(record.items),
        }
    }
    if purpose == HistoryUse::Preview {
        return preview_items(deps, items, correlation, done).await;
    }
    let taken = ingest(deps, items, correlation).await?;
    done.known += taken.duplicates + taken.owed_before;
    done.missed += taken.events - taken.owed_before;
    done.statuses += taken.statuses;
    done.ignored += taken.ignored;
    Ok(())
}

/// Returns the status in a history record that is newer than the known one; `None` if there is none.
fn find_new_status(record: HistoryRecord, known: &Delivery) -> Option<WebhookItem> {
    let best = known.status.map_or(0, DeliveryStatus::status_rank);
    record.items.into_iter().find(|item| match item {
        WebhookItem::Status(update) | WebhookItem::ChargedStatus { update, .. } => {
            update.status.status_rank() > best
        }
        WebhookItem::Event(event) => {
            event.kind == EventKind::Failed && DeliveryStatus::Failed.status_rank() > best
        }
        WebhookItem::Notice { .. } | WebhookItem::Typing(_) | WebhookItem::Ignored { .. } => false,
    })
}

/// Stores the progress of a catch-up that began with the state `seen`. `rest`: the start of the next catch-up; `None` if
/// everything was read.
pub async fn record_catch_up(
    deps: &Deps,
    id: &InstanceId,
    seen: &InstanceState,
    rest: Option<Timestamp>,
) -> PortResult<()> {
    let (from, since) = (seen.catch_up_from, seen.since);
    let progress = InstanceChange::CatchUp { from, since, rest };
    let changed = deps.store().change_instance_state(id, seen, &progress);
    changed.await.map(drop)
}

/// Counts the items into `done`, as processing them would. Nothing is stored, so items of a page that is read twice count
/// twice.
async fn preview_items(
    deps: &Deps,
    items: Vec<WebhookItem>,
    correlation: &CorrelationId,
    done: &mut CatchUpReport,
) -> PortResult<()> {
    let mut missed = done.preview.take().unwrap_or_default();
    for item in items {
        match item {
            WebhookItem::Status(_) | WebhookItem::ChargedStatus { .. } => done.statuses += 1,
            WebhookItem::Notice { .. } | WebhookItem::Typing(_) | WebhookItem::Ignored { .. } => {
                done.ignored += 1;
            }
            WebhookItem::Event(event) => {
                if deps.store().find_event(&event.id).await?.is_some() {
                    done.known += 1;
                } else {
                    done.missed += 1;
                    judge_event(deps, event, correlation, &mut missed);
                }
            }
        }
    }
    done.preview = Some(missed);
    Ok(())
}

/// Judges what would become of an event that is not known.
fn judge_event(deps: &Deps, event: WebhookEvent, correlation: &CorrelationId, missed: &mut MissedMessages) {
    let job = InboundJob {
        group: String::new(),
        event: event.id,
        provider: event.provider,
        external: event.external,
        kind: event.kind,
        correlation: correlation.clone(),
        parent: None,
        received_at: deps.system().now(),
        payload: EventPayload::Inline(Value::Null),
        lookalike: event.lookalike,
        has_file: false,
        redrive: None,
    };
    let InboundEvent::Message(inbound) = deps.providers().interpret_event(&job, &event.payload) else {
        return;
    };
    if let Some(at) = inbound.sent_at {
        missed.oldest = Some(missed.oldest.map_or(at, |oldest| oldest.min(at)));
        missed.newest = missed.newest.max(Some(at));
    }
    if inbound.from_me || !inbound.content.expects_answer() {
        return;
    }
    if is_stale(deps, &job, &inbound) {
        missed.too_old += 1;
    } else {
        missed.answerable += 1;
    }
}

/// The result of a catch-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    /// `true` if there is more to read: continue with `next` as `since`.
    pub more: bool,
    /// Time of the newest message that was read. If there is more to read: the start of the next catch-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// `true` if the provider offers only its newest messages, and they do not reach back to the requested start.
    pub cut: bool,
    /// The future of the missed messages. Only with `dry_run`: then nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<MissedMessages>,
}

impl CatchUpReport {
    /// Returns the report of a catch-up that has read nothing yet.
    pub fn for_span(span: HistorySpan) -> Self {
        Self {
            since: span.since,
            until: span.until,
            offered: true,
            ..Self::default()
        }
    }
}

/// The messages that a catch-up would store, by what would become of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MissedMessages {
    /// Number of messages that would be answered, unless a person has the conversation.
    pub answerable: usize,
    /// Number of messages that are too old for an answer: they would be stored only.
    pub too_old: usize,
    /// Time of the oldest missed message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Timestamp>,
    /// Time of the newest missed message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Timestamp>,
}
