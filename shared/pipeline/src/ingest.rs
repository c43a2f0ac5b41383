//! webhook: record what came, enqueue it, and only then say yes.
//!
//! One message costs one conditional write and one queue request, a delivery status or a notice one conditional write. Nothing else
//! is called here: no provider, no model. The configuration is read only for a notice that an instance's own secret proved.

use crate::dead::{keep_poison, unreadable_id};
use crate::ports::{
    DeadLetters, Deliveries, Directory, Enqueue, Inbox, Notices, PortResult, Queues, Recorded,
};
use crate::{World, ports::Ambient};
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::StatusUpdate;
use recado_domain::event::{EventKind, InboundJob, PAYLOAD_INLINE_BYTES_MAX, Payload};
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_domain::millis::shift;
use recado_domain::notice::{NOTICE_KEPT_MS, Notice};
use std::collections::BTreeSet;

/// How many writes of one webhook run side by side.
const WRITES_AT_ONCE: usize = 16;

/// What a webhook held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ingested {
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
pub async fn ingest<W: World>(
    world: &W,
    items: Vec<WebhookItem>,
    correlation: &CorrelationId,
) -> PortResult<Ingested> {
    let mut done = Ingested::default();
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
    let notices = credible(world, notices).await?;
    done.notices = notices.len();
    done.ignored += told - notices.len();
    record_statuses(world, statuses).await?;
    record_notices(world, notices).await?;
    let owed = record_events(world, events, correlation, &mut done).await?;
    done.events = owed.len();
    if !owed.is_empty() {
        world.queues().send_inbound(&owed).await?;
    }
    Ok(done)
}

/// Keeps what came by a queue in place of a webhook and cannot be read: unlike a webhook's sender, nobody would be told.
/// `why` repeats no word of it.
pub async fn keep_unreadable<W: World>(world: &W, body: &str, why: String) -> PortResult<()> {
    let id = unreadable_id(QueueName::Inbound, body);
    if world.store().dead_letter(&id).await?.is_some() {
        return Ok(());
    }
    keep_poison(world, QueueName::Inbound, body, why).await
}

async fn record_statuses<W: World>(world: &W, statuses: Vec<StatusUpdate>) -> PortResult<()> {
    let ttl = i64::try_from(world.settings().delivery_ttl.as_millis()).unwrap_or(i64::MAX);
    let expires = shift(world.ambient().now(), ttl);
    stream::iter(statuses)
        .map(|status| async move { world.store().record_status(&status, expires).await })
        .buffer_unordered(WRITES_AT_ONCE)
        .try_collect()
        .await
}

/// The notices whose proof speaks for their account: the provider's own, and that of an instance of the account.
async fn credible<W: World>(world: &W, told: Vec<(Notice, Option<ExternalId>)>) -> PortResult<Vec<Notice>> {
    let mut credible = Vec::with_capacity(told.len());
    for (notice, proven_by) in told {
        let kind = notice.kind.as_str();
        if let Some(external) = proven_by {
            // Cached by the store; a webhook with a notice is rare.
            let bound = world.store().bound(notice.provider, &external).await?;
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

async fn record_notices<W: World>(world: &W, notices: Vec<Notice>) -> PortResult<()> {
    let expires = shift(world.ambient().now(), NOTICE_KEPT_MS);
    stream::iter(notices)
        .map(|notice| async move { world.store().put_notice(&notice, expires).await })
        .buffer_unordered(WRITES_AT_ONCE)
        .try_collect()
        .await
}

/// Records each event as pending and returns, in their order, those that are owed.
async fn record_events<W: World>(
    world: &W,
    events: Vec<WebhookEvent>,
    correlation: &CorrelationId,
    done: &mut Ingested,
) -> PortResult<Vec<Enqueue>> {
    let recorded: Vec<(InboundJob, Recorded)> = stream::iter(events)
        .map(|event| record(world, event, correlation.clone()))
        .buffered(WRITES_AT_ONCE)
        .try_collect()
        .await?;
    let mut owed = Vec::with_capacity(recorded.len());
    for (job, recorded) in recorded {
        if recorded == Recorded::Settled {
            done.duplicates += 1;
        } else {
            done.owed_before += usize::from(recorded == Recorded::Pending);
            owed.push(Enqueue {
                deduplication: job.event.to_string(),
                job,
            });
        }
    }
    Ok(owed)
}

async fn record<W: World>(
    world: &W,
    event: WebhookEvent,
    correlation: CorrelationId,
) -> PortResult<(InboundJob, Recorded)> {
    let address = event
        .address
        .as_ref()
        .map(recado_domain::contact::ContactAddress::as_str);
    // A failure waits until it is known which message it is about. In a group of its own it holds nothing up meanwhile.
    let place = match event.kind {
        EventKind::Failed => Some(event.id.as_str()),
        EventKind::Message | EventKind::Connection => address,
    };
    let group = crate::identity::key(world)
        .await?
        .group(event.provider, &event.external, place);
    let inline = event.payload.to_string().len() <= PAYLOAD_INLINE_BYTES_MAX;
    let payload = if inline {
        Payload::Inline(event.payload)
    } else {
        let key = event.id.to_string();
        world.queues().put_payload(&key, &event.payload).await?;
        Payload::Stored(key)
    };
    let job = InboundJob {
        event: event.id,
        provider: event.provider,
        external: event.external,
        kind: event.kind,
        group,
        correlation,
        received_at: world.ambient().now(),
        payload,
        lookalike: event.lookalike,
        redrive: None,
    };
    let recorded = world.store().record_event(&job).await?;
    Ok((job, recorded))
}
