//! Events of AWS End User Messaging Social: a queue in place of a webhook. They go the way of a webhook, into the records and
//! the queue `inbound`; here is only who may bring them.

use crate::batch::{BatchMessage, MessageVisibility};
use crate::compose::AwsDeps;
use crate::event::SqsEvent;
use recado_domain::ids::{CorrelationId, hash_parts};
use recado_pipeline::ingest::{ingest, keep_unreadable_webhook};
use recado_pipeline::ports::{PortError, System};
use recado_pipeline::{Deps, Verdict};
use recado_whatsapp::aws_social::{AllowedTopics, NAME, is_topic_not_allowed, split_queue_message};
use std::time::Duration;

/// The queue that AWS's events come by, if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocialQueue {
    queue_arn: Option<String>,
    queue_url: Option<String>,
    topics: AllowedTopics,
}

impl SocialQueue {
    /// The queue `RECADO_AWS_SOCIAL_QUEUE_ARN`, at `RECADO_AWS_SOCIAL_QUEUE_URL`, and the topics `RECADO_AWS_SOCIAL_TOPICS` (ARNs, separated by commas).
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let of_queue = |name| {
            let value = variable(name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        Self {
            queue_arn: of_queue("RECADO_AWS_SOCIAL_QUEUE_ARN"),
            queue_url: of_queue("RECADO_AWS_SOCIAL_QUEUE_URL"),
            topics: AllowedTopics::parse(&variable("RECADO_AWS_SOCIAL_TOPICS").unwrap_or_default()),
        }
    }

    /// Whether a batch is of that queue. Lambda never mixes queues in one.
    pub fn is_source_of(&self, event: &SqsEvent) -> bool {
        let of = event.records.first().map(|record| record.queue_arn.as_str());
        self.queue_arn.is_some() && of == self.queue_arn.as_deref()
    }
}

/// The visibility of messages of that queue.
#[derive(Debug, Clone, Copy)]
pub struct SocialVisibility<'a> {
    /// What reaches the queue.
    pub deps: &'a AwsDeps,
    /// The queue.
    pub social: &'a SocialQueue,
}

impl MessageVisibility for SocialVisibility<'_> {
    type Error = PortError;

    async fn change_visibility(&self, receipt: &str, seconds: u32) -> Result<(), PortError> {
        match &self.social.queue_url {
            Some(url) => self.deps.queues.change_visibility_at(url, receipt, seconds).await,
            // It comes back when the queue's own time-out ends.
            None => Ok(()),
        }
    }
}

/// How long until an event that was not taken is tried again: twice as long each time, up to a quarter of an hour. So an
/// outage of a week does not bring one to the number of receives at which its queue gives it up.
fn retry_verdict(receives: u32) -> Verdict {
    let after = Duration::from_secs(30 << receives.saturating_sub(1).min(5)).min(Duration::from_secs(900));
    Verdict::Retry { after }
}

/// Takes one queue message in: records its events and enqueues them. What was not taken yet, or is of another topic than
/// the one that is set up, comes back. What cannot be read never will be: it is kept as a dead letter at once. The body is
/// not logged.
pub async fn ingest_social_message<W: Deps>(
    deps: &W,
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
    // The same in every repetition, and nothing of the body can be read from it.
    let Ok(correlation) = CorrelationId::parse(&hash_parts(&[NAME.as_str(), &received.body], 16)) else {
        return again;
    };
    match ingest(deps, items, &correlation).await {
        Ok(done) => {
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
