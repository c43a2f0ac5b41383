//! webhook: record what came, enqueue it, and only then say yes.
//!
//! One message costs one conditional write and one queue request, a delivery status or a notice one conditional write. Nothing else
//! is called here: no provider, no model. The configuration is read only for a notice that an instance's own secret proved.

use crate::give_up::{dead_letter_poison, unreadable_letter_id};
use crate::ports::{
    ConfigurationStore, DeadLetters, Deliveries, InboundEntry, Inbox, Notices, PortResult, Queues,
    RecordEventOutcome,
};
use crate::{Deps, ports::System};
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::StatusUpdate;
use recado_domain::event::{EventKind, EventPayload, InboundJob, PAYLOAD_INLINE_BYTES_MAX};
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_domain::millis::add_millis;
use recado_domain::notice::{NOTICE_RETENTION_MS, Notice};
use std::collections::BTreeSet;

/// How many writes of one webhook run side by side.
const WRITES_AT_ONCE: usize = 16;

/// What a webhook held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IngestReport {
    /// Events that are enqueued now.
    pub events: usize,
    /// Of these, the ones that were recorded before and are still owed.
    pub owed_before: usize,
    /// Events that were applied (or given up) before.
    pub duplicates: usize,
    /// Delivery statuses recorded.
    pub statuses: usize,
    /// Notices of accounts recorded.
    pub notices: usize,
    /// What was acknowledged and left alone.
    pub ignored: usize,
}

/// Makes every part of a webhook safe, or fails: then the provider must repeat it, and nothing is harmed by that.
pub async fn ingest<W: Deps>(
    deps: &W,
    items: Vec<WebhookItem>,
    correlation: &CorrelationId,
) -> PortResult<IngestReport> {
    let mut done = IngestReport::default();
    let (mut events, mut statuses, mut notices) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for item in items {
        match item {
            WebhookItem::Event(event) if !seen.insert(event.id.clone()) => done.duplicates += 1,
            WebhookItem::Event(event) => events.push(event),
            WebhookItem::Status(status) => statuses.push(status),
            WebhookItem::Notice { notice, proven_by } => notices.push((notice, proven_by)),
            WebhookItem::Ignored { what } => {
                tracing::info!(what, "webhook part acknowledged and left alone");
                done.ignored += 1;
            }
        }
    }
    done.statuses = statuses.len();
    let told = notices.len();
    let notices = filter_credible_notices(deps, notices).await?;
    done.notices = notices.len();
    done.ignored += told - notices.len();
    record_statuses(deps, statuses).await?;
    record_notices(deps, notices).await?;
    let owed = record_events(deps, events, correlation, &mut done).await?;
    done.events = owed.len();
    if !owed.is_empty() {
        deps.queues().enqueue_inbound(&owed).await?;
    }
    Ok(done)
}

/// Keeps what came by a queue in place of a webhook and cannot be read: unlike a webhook's sender, nobody would be told.
/// `why` repeats no word of it.
pub async fn keep_unreadable_webhook<W: Deps>(deps: &W, body: &str, why: String) -> PortResult<()> {
    let id = unreadable_letter_id(QueueName::Inbound, body);
    if deps.store().find_dead_letter(&id).await?.is_some() {
        return Ok(());
    }
    dead_letter_poison(deps, QueueName::Inbound, body, why).await
}

async fn record_statuses<W: Deps>(deps: &W, statuses: Vec<StatusUpdate>) -> PortResult<()> {
    let ttl = i64::try_from(deps.settings().delivery_ttl.as_millis()).unwrap_or(i64::MAX);
    let expires = add_millis(deps.system().now(), ttl);
    stream::iter(statuses)
        .map(|status| async move { deps.store().record_status(&status, expires).await })
        .buffer_unordered(WRITES_AT_ONCE)
        .try_collect()
        .await
}

/// The notices whose proof speaks for their account: the provider's own, and that of an instance of the account.
async fn filter_credible_notices<W: Deps>(
    deps: &W,
    told: Vec<(Notice, Option<ExternalId>)>,
) -> PortResult<Vec<Notice>> {
    let mut credible = Vec::with_capacity(told.len());
    for (notice, proven_by) in told {
        let kind = notice.kind.as_str();
        if let Some(external) = proven_by {
            // Cached by the store; a webhook with a notice is rare.
            let bound = deps
                .store()
                .find_instance_config(notice.provider, &external)
                .await?;
            let own = bound.and_then(|bound| bound.instance.account_id);
            if own.as_ref() != Some(&notice.account) {
                tracing::warn!(
                    kind,
                    instance = %external,
                    "a notice of an account that is not its number's was dropped"
                );
                continue;
            }
        }
        tracing::info!(kind, "the provider tells of an account");
        credible.push(notice);
    }
    Ok(credible)
}

async fn record_notices<W: Deps>(deps: &W, notices: Vec<Notice>) -> PortResult<()> {
    let expires = add_millis(deps.system().now(), NOTICE_RETENTION_MS);
    stream::iter(notices)
        .map(|notice| async move { deps.store().put_notice(&notice, expires).await })
        .buffer_unordered(WRITES_AT_ONCE)
        .try_collect()
        .await
}

/// Records each event as pending and returns, in their order, those that are owed.
async fn record_events<W: Deps>(
    deps: &W,
    events: Vec<WebhookEvent>,
    correlation: &CorrelationId,
    done: &mut IngestReport,
) -> PortResult<Vec<InboundEntry>> {
    let recorded: Vec<(InboundJob, RecordEventOutcome)> = stream::iter(events)
        .map(|event| record_webhook_event(deps, event, correlation.clone()))
        .buffered(WRITES_AT_ONCE)
        .try_collect()
        .await?;
    let mut owed = Vec::with_capacity(recorded.len());
    for (job, recorded) in recorded {
        if recorded == RecordEventOutcome::Settled {
            done.duplicates += 1;
        } else {
            done.owed_before += usize::from(recorded == RecordEventOutcome::Pending);
            owed.push(InboundEntry {
                deduplication: job.event.to_string(),
                job,
            });
        }
    }
    Ok(owed)
}

async fn record_webhook_event<W: Deps>(
    deps: &W,
    event: WebhookEvent,
    correlation: CorrelationId,
) -> PortResult<(InboundJob, RecordEventOutcome)> {
    let address = event
        .address
        .as_ref()
        .map(recado_domain::contact::ContactAddress::as_str);
    // A failure waits until it is known which message it is about. In a group of its own it holds nothing up meanwhile.
    let place = match event.kind {
        EventKind::Failed => Some(event.id.as_str()),
        EventKind::Message | EventKind::Connection => address,
    };
    let group = crate::identity::load_identity_key(deps)
        .await?
        .derive_event_group(event.provider, &event.external, place);
    let inline = event.payload.to_string().len() <= PAYLOAD_INLINE_BYTES_MAX;
    let payload = if inline {
        EventPayload::Inline(event.payload)
    } else {
        let key = event.id.to_string();
        deps.queues().put_payload(&key, &event.payload).await?;
        EventPayload::Stored(key)
    };
    let job = InboundJob {
        event: event.id,
        provider: event.provider,
        external: event.external,
        kind: event.kind,
        group,
        correlation,
        received_at: deps.system().now(),
        payload,
        lookalike: event.lookalike,
        redrive: None,
    };
    let recorded = deps.store().record_event(&job).await?;
    Ok((job, recorded))
}
