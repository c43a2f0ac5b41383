//! Reads a provider's history page by page, the oldest page first.

use super::{CatchUpError, CatchUpReport, OVERLAP_MS};
use crate::Deps;
use crate::ingest::ingest;
use crate::ports::{Deliveries, HistoryPage, HistoryRecord, HistorySpan, PortResult, Providers, System};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus};
use recado_domain::event::EventKind;
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::WebhookItem;
use recado_domain::millis::add_millis;

/// Time before the end of a catch-up that the next one reads again, in milliseconds. It is shorter than the overlap: if
/// more was written within the overlap than one catch-up reads, every catch-up would read the same messages.
const REREAD_MS: i64 = 60_000;

/// The limits of one catch-up.
#[derive(Debug, Clone, Copy)]
pub(super) struct CatchUpLimits {
    /// Maximum number of pages.
    pub(super) pages: u32,
    /// Time after which no further page is read, in milliseconds.
    pub(super) time_ms: i64,
}

/// Reads the history in `span` and processes messages that are not known, until a limit is reached.
pub(super) async fn read_history<W: Deps>(
    deps: &W,
    bound: &InstanceConfig,
    span: HistorySpan,
    limits: CatchUpLimits,
    correlation: &CorrelationId,
) -> Result<CatchUpReport, CatchUpError> {
    let end = add_millis(deps.system().now(), limits.time_ms);
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
        ingest_page(deps, page, correlation, &mut done).await?;
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
    add_millis(newest, OVERLAP_MS - REREAD_MS).min(now)
}

/// Processes one page. Known messages that Recado sent are left out: their echoes have no news, and their statuses count
/// only if they are newer.
async fn ingest_page<W: Deps>(
    deps: &W,
    page: HistoryPage,
    correlation: &CorrelationId,
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
        WebhookItem::Status(update) => update.status.status_rank() > best,
        WebhookItem::Event(event) => {
            event.kind == EventKind::Failed && DeliveryStatus::Failed.status_rank() > best
        }
        WebhookItem::Notice { .. } | WebhookItem::Ignored { .. } => false,
    })
}
