//! Records what a webhook or a provider's history reports, and enqueues the events.
//!
//! One message costs one conditional write and one queue request, or one transaction where records and queue lie in one
//! database; a delivery status or a notice costs one conditional write, one that tells of a charge a transaction of two. No provider
//! and no model is called here. The configuration is read only for a notice that an instance's own secret proved, and for a charge.

use crate::Deps;
use crate::steps::trace_span::find_parent_span;
use crate::steps::typing_signs;
use crate::steps::webhook_file::{delete_unneeded_webhook_file, keep_webhook_file};
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::delivery::StatusUpdate;
use recado_domain::event::{EventPayload, InboundJob, PAYLOAD_INLINE_BYTES_MAX};
use recado_domain::ids::{CorrelationId, EventId, ExternalId};
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_domain::millis::add_duration;
use recado_domain::notice::{NOTICE_RETENTION, Notice};
use recado_domain::provider::Provider;
use recado_domain::typing::TypingUpdate;
use recado_domain::usage::{UsageSum, usage_of_charge};
use recado_ports::ports::{PortError, PortResult, RecordEventOutcome};
use recado_ports::records::configuration::find_config_by_external;
use recado_ports::records::notices::put_notice;
use recado_ports::step_commit::{StepCommit, StepOutcome, StepRecords};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;

/// Number of writes of one webhook that run side by side.
const WRITES_AT_ONCE: usize = 16;

/// The counts of the parts of a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct IngestReport {
    /// Number of events that were enqueued.
    pub events: usize,
    /// Number of enqueued events that were recorded before and are still pending. The provider is not told of it.
    #[serde(skip)]
    pub owed_before: usize,
    /// Number of events that were applied or given up before, or that occur twice in the webhook.
    pub duplicates: usize,
    /// Number of delivery statuses that were recorded.
    pub statuses: usize,
    /// Number of notices of accounts that were recorded.
    pub notices: usize,
    /// Number of parts that were acknowledged and ignored.
    pub ignored: usize,
}

impl IngestReport {
    /// Returns `true` if the webhook brought delivery statuses and nothing else.
    pub fn brings_only_statuses(&self) -> bool {
        self.statuses > 0 && self.events + self.duplicates + self.notices + self.ignored == 0
    }
}

/// Stores every part of a webhook, or returns an error. After an error the provider must repeat the webhook; parts that
/// are stored already do no harm. The future is boxed here, so that it is compiled with this crate.
pub fn ingest<'a>(
    deps: &'a Deps,
    items: Vec<WebhookItem>,
    correlation: &'a CorrelationId,
) -> BoxFuture<'a, PortResult<IngestReport>> {
    Box::pin(async move {
        let mut done = IngestReport::default();
        let (mut events, mut statuses, mut notices) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for item in items {
            match item {
                WebhookItem::Event(event) if !seen.insert(event.id.clone()) => done.duplicates += 1,
                WebhookItem::Event(event) => events.push(event),
                WebhookItem::Status(status) => statuses.push((status, None)),
                WebhookItem::ChargedStatus {
                    update,
                    provider,
                    external,
                } => statuses.push((update, Some((provider, external)))),
                WebhookItem::Notice { notice, proven_by } => notices.push((notice, proven_by)),
                WebhookItem::Typing(update) => {
                    keep_typing(deps, &update).await;
                    done.ignored += 1;
                }
                WebhookItem::Ignored { what } => {
                    tracing::info!(what, "webhook part acknowledged and ignored");
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
        let recorded = record_events(deps, events, correlation).await?;
        let count = |outcome| recorded.iter().filter(|found| **found == outcome).count();
        done.owed_before = count(RecordEventOutcome::Pending);
        done.events = count(RecordEventOutcome::New) + done.owed_before;
        done.duplicates += count(RecordEventOutcome::Settled);
        Ok(done)
    })
}

/// Records and enqueues events. The files of those that were settled before are not needed.
async fn record_events(
    deps: &Deps,
    events: Vec<WebhookEvent>,
    correlation: &CorrelationId,
) -> PortResult<Vec<RecordEventOutcome>> {
    let jobs: Vec<InboundJob> = stream::iter(events)
        .map(|event| build_inbound_job(deps, event, correlation.clone()))
        .buffered(WRITES_AT_ONCE)
        .try_collect()
        .await?;
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let with_files = list_with_files(&jobs);
    let step = StepCommit {
        records: StepRecords::Events(&jobs),
        jobs: Vec::new(),
        acknowledges: false,
        takes_jobs: false,
    };
    let StepOutcome::Recorded(recorded) = deps.commit_step(&step).await? else {
        return Err(PortError::contended("event"));
    };
    for (event, found) in with_files.iter().zip(&recorded) {
        if let (Some(event), RecordEventOutcome::Settled) = (event, found) {
            delete_unneeded_webhook_file(deps, event).await;
        }
    }
    Ok(recorded)
}

/// Keeps a sign that a contact types, where typing is waited for. A failure has no effect: nobody waits then.
async fn keep_typing(deps: &Deps, update: &TypingUpdate) {
    if deps.settings().typing.is_on()
        && let Err(error) = typing_signs::keep_sign(deps, update).await
    {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "a sign of typing was not kept"
        );
    }
}

/// A delivery status; with the provider and the instance if it tells of a charge.
type ReportedStatus = (StatusUpdate, Option<(Provider, ExternalId)>);

async fn record_statuses(deps: &Deps, statuses: Vec<ReportedStatus>) -> PortResult<()> {
    let expires = add_duration(deps.system().now(), deps.settings().delivery_ttl);
    stream::iter(statuses)
        .map(|(status, charged)| async move {
            let charge = match charged {
                Some((provider, external)) => find_charge(deps, &status, provider, &external).await?,
                None => None,
            };
            deps.store()
                .record_status(&status, expires, charge.as_ref())
                .await
        })
        .buffer_unordered(WRITES_AT_ONCE)
        .try_collect()
        .await
}

/// Returns what a status adds to the sums of the instance's tenant and agent. `None`: the instance is not configured.
async fn find_charge(
    deps: &Deps,
    status: &StatusUpdate,
    provider: Provider,
    external: &ExternalId,
) -> PortResult<Option<UsageSum>> {
    // The store caches the configuration.
    let Some(bound) = find_config_by_external(deps.store(), provider, external).await? else {
        return Ok(None);
    };
    Ok(status.find_charge().map(|charge| UsageSum {
        kept: bound.tenant.retention.usage,
        ..usage_of_charge(charge, provider, &bound.tenant.id, &bound.agent.id)
    }))
}

/// Returns the notices whose proof is valid for their account: the provider's own proof, or that of an instance of the
/// account.
async fn filter_credible_notices(
    deps: &Deps,
    told: Vec<(Notice, Option<ExternalId>)>,
) -> PortResult<Vec<Notice>> {
    let mut credible = Vec::with_capacity(told.len());
    for (notice, proven_by) in told {
        let kind = notice.kind.as_str();
        if let Some(external) = proven_by {
            // The store caches the configuration, and a webhook with a notice is rare.
            let bound = find_config_by_external(deps.store(), notice.provider, &external).await?;
            let own = bound.and_then(|bound| bound.instance.account_id.clone());
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

async fn record_notices(deps: &Deps, notices: Vec<Notice>) -> PortResult<()> {
    let expires = add_duration(deps.system().now(), NOTICE_RETENTION);
    stream::iter(notices)
        .map(|notice| async move { put_notice(deps.store(), &notice, expires).await })
        .buffer_unordered(WRITES_AT_ONCE)
        .try_collect()
        .await
}

/// Returns the ids of the events whose webhooks held files, each in its place.
fn list_with_files(jobs: &[InboundJob]) -> Vec<Option<EventId>> {
    let with_file = |job: &InboundJob| job.has_file.then(|| job.event.clone());
    jobs.iter().map(with_file).collect()
}

/// Builds the job of an event. A large body and a file are stored first.
async fn build_inbound_job(
    deps: &Deps,
    event: WebhookEvent,
    correlation: CorrelationId,
) -> PortResult<InboundJob> {
    let key = crate::steps::identity::load_identity_key(deps).await?;
    let group = event.derive_group(&key);
    let has_file = match event.file {
        Some(base64) => keep_webhook_file(deps, &event.id, base64).await,
        None => false,
    };
    let inline = measure_json(&event.payload) <= PAYLOAD_INLINE_BYTES_MAX;
    let payload = if inline {
        EventPayload::Inline(event.payload)
    } else {
        let key = event.id.to_string();
        deps.queues().put_payload(&key, &event.payload).await?;
        EventPayload::Stored(key)
    };
    Ok(InboundJob {
        event: event.id,
        provider: event.provider,
        external: event.external,
        kind: event.kind,
        group,
        parent: find_parent_span(&correlation),
        correlation,
        received_at: deps.system().now(),
        payload,
        lookalike: event.lookalike,
        has_file,
        redrive: None,
    })
}

/// Returns the length of `value` as JSON, without writing it out.
fn measure_json(value: &Value) -> usize {
    let mut length = WrittenLength(0);
    // Counting cannot fail. If it did, the body would be stored separately, which is always right.
    serde_json::to_writer(&mut length, value).map_or(usize::MAX, |()| length.0)
}

/// A writer that counts the bytes and keeps none.
struct WrittenLength(usize);

impl io::Write for WrittenLength {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
