//! Events of AWS End User Messaging Social: a queue in place of a webhook. They go the way of a webhook, into the records and
//! the queue `inbound`; here is only who may bring them.

use crate::batch::{Received, Visibility};
use crate::event::SqsEvent;
use recado_domain::ids::{CorrelationId, hash_of};
use recado_pipeline::ingest::ingest;
use recado_pipeline::ports::Ambient;
use recado_pipeline::{Verdict, World};
use recado_whatsapp::aws_social::{NAME, Topics, split};
use std::convert::Infallible;
use std::time::Duration;

/// The queue that AWS's events come by, if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Social {
    queue_arn: Option<String>,
    topics: Topics,
}

impl Social {
    /// The queue `RECADO_AWS_SOCIAL_QUEUE_ARN` and the topics `RECADO_AWS_SOCIAL_TOPICS` (ARNs, separated by commas).
    pub fn from_env() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let arn = variable("RECADO_AWS_SOCIAL_QUEUE_ARN").map(|arn| arn.trim().to_owned());
        Self {
            queue_arn: arn.filter(|arn| !arn.is_empty()),
            topics: Topics::parse(&variable("RECADO_AWS_SOCIAL_TOPICS").unwrap_or_default()),
        }
    }

    /// Whether a batch is of that queue. Lambda never mixes queues in one.
    pub fn sent(&self, event: &SqsEvent) -> bool {
        let of = event.records.first().map(|record| record.queue_arn.as_str());
        self.queue_arn.is_some() && of == self.queue_arn.as_deref()
    }
}

/// What comes back does so when the queue's own time-out ends: nothing here knows better.
impl Visibility for Social {
    type Error = Infallible;

    async fn change(&self, _: &str, _: u32) -> Result<(), Infallible> {
        Ok(())
    }
}

/// How long until an event that was not taken is tried again; the queue's own time-out counts where that is longer.
const AGAIN: Duration = Duration::from_secs(30);

/// Takes one queue message in: records its events and enqueues them. What cannot be read comes back, until the queue gives
/// it up and keeps it as a dead letter: unlike a webhook's sender, nobody would be told. The body is not logged.
pub async fn take_social<W: World>(world: &W, social: &Social, received: &Received) -> Verdict {
    let again = Verdict::ComeBack { after: AGAIN };
    let body = received.body.as_bytes();
    let items = match split(body, &social.topics, world.ambient().now()) {
        Ok(items) => items,
        Err(error) => {
            tracing::error!(%error, receives = received.receives, "an event of AWS End User Messaging Social was not understood");
            return again;
        }
    };
    // The same in every repetition, and nothing of the body can be read from it.
    let Ok(correlation) = CorrelationId::parse(&hash_of(&[NAME.as_str(), &received.body], 16)) else {
        return again;
    };
    match ingest(world, items, &correlation).await {
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
