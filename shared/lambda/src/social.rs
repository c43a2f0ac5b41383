//! Events of AWS End User Messaging Social, which arrive over a queue and not over a webhook.
//!
//! Such an event is stored and put on the queue `inbound` as a webhook's events are. This module checks the queue and the
//! topic that the event comes from.

use crate::AwsDeps;
use crate::batch::{BatchMessage, MessageVisibility};
use crate::event::SqsEvent;
use jiff::SignedDuration;
use recado_domain::ids::{CorrelationId, hash_parts};
use recado_domain::provider::Provider;
use recado_pipeline::ingest::{ingest, keep_unreadable_webhook};
use recado_pipeline::measure::count_webhook_items;
use recado_pipeline::ports::PortError;
use recado_pipeline::settings::VariableReader;
use recado_pipeline::trace_span::{TRACE_TARGET, continue_trace};
use recado_pipeline::{Deps, Verdict};
use recado_whatsapp::aws_social::{AllowedTopics, is_topic_not_allowed, split_queue_message};
use tracing::Instrument;

/// The queue over which the events of AWS End User Messaging Social arrive, if it is configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocialQueue {
    queue_arn: Option<String>,
    queue_url: Option<String>,
    topics: AllowedTopics,
}

impl SocialQueue {
    /// Reads the queue from `RECADO_AWS_SOCIAL_QUEUE_ARN` and `RECADO_AWS_SOCIAL_QUEUE_URL`, and the allowed topics from
    /// `RECADO_AWS_SOCIAL_TOPICS` (ARNs, separated by commas).
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        Self {
            queue_arn: reader.read_text("RECADO_AWS_SOCIAL_QUEUE_ARN"),
            queue_url: reader.read_text("RECADO_AWS_SOCIAL_QUEUE_URL"),
            topics: AllowedTopics::parse(&reader.read_text("RECADO_AWS_SOCIAL_TOPICS").unwrap_or_default()),
        }
    }

    /// Returns `true` if a batch comes from this queue. Lambda never mixes queues in a batch, so the first message
    /// decides.
    pub fn is_source_of(&self, event: &SqsEvent) -> bool {
        let of = event.records.first().map(|record| record.queue_arn.as_str());
        self.queue_arn.is_some() && of == self.queue_arn.as_deref()
    }
}

/// The visibility of messages from the queue of AWS End User Messaging Social.
#[derive(Debug, Clone, Copy)]
pub struct SocialVisibility<'a> {
    /// Dependencies that reach the queue.
    pub deps: &'a AwsDeps,
    /// The queue of the messages.
    pub social: &'a SocialQueue,
}

impl MessageVisibility for SocialVisibility<'_> {
    type Error = PortError;

    async fn change_visibility(&self, receipt: &str, seconds: u32) -> Result<(), PortError> {
        match &self.social.queue_url {
            Some(url) => self.deps.queues.change_visibility_at(url, receipt, seconds).await,
            // Without the queue's URL, the message comes back when the queue's own visibility time-out ends.
            None => Ok(()),
        }
    }
}

/// Returns a retry after a wait that doubles at each receive, from 30 seconds to 15 minutes. So even in an outage of a
/// week, an event does not reach the number of receives at which its queue gives it up.
fn retry_verdict(receives: u32) -> Verdict {
    let after =
        SignedDuration::from_secs(30 << receives.saturating_sub(1).min(5)).min(SignedDuration::from_mins(15));
    Verdict::Retry { after }
}

/// Stores the events of a queue message and enqueues them. The message comes back if they could not be stored yet, or if
/// it comes from a topic that is not allowed. A message that cannot be read is stored as a dead letter at once. The body
/// is not logged.
pub(crate) async fn ingest_social_message(
    deps: &Deps,
    social: &SocialQueue,
    received: &BatchMessage,
) -> Verdict {
    let again = retry_verdict(received.receives);
    let body = received.body.as_bytes();
    let items = match split_queue_message(body, &social.topics, deps.system().now()) {
        Ok(items) => items,
        Err(error) => {
            tracing::error!(%error, receives = received.receives, "an event of AWS End User Messaging Social was not understood");
            if is_topic_not_allowed(&error) {
                return again;
            }
            let kept = keep_unreadable_webhook(deps, &received.body, error.to_string()).await;
            return kept.map_or(again, |()| Verdict::Done);
        }
    };
    // The correlation id is a hash of the body: the same for every repetition, and the body cannot be derived from it.
    let Ok(correlation) =
        CorrelationId::parse(&hash_parts(&[Provider::AwsSocial.as_str(), &received.body], 16))
    else {
        return again;
    };
    let span = tracing::info_span!(
        target: TRACE_TARGET, "webhook", provider = Provider::AwsSocial.as_str(), correlation_id = %correlation
    );
    continue_trace(&span, &correlation, None);
    match ingest(deps, items, &correlation).instrument(span).await {
        Ok(done) => {
            count_webhook_items(Provider::AwsSocial, &done);
            tracing::info!(
                correlation_id = %correlation,
                events = done.events,
                duplicates = done.duplicates,
                statuses = done.statuses,
                ignored = done.ignored,
                "events of AWS End User Messaging Social taken"
            );
            Verdict::Done
        }
        Err(error) => {
            tracing::warn!(correlation_id = %correlation, %error, "events of AWS End User Messaging Social were not taken yet");
            again
        }
    }
}

#[cfg(test)]
mod tests;
