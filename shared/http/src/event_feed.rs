//! The feed of published events of one machine: one reader of the log for all open streams.

use futures::future::{Either, select};
use recado_domain::published_event::EventCursor;
use recado_pipeline::ports::{LogPlace, LoggedEvent, PortResult, PublishedEvents};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{broadcast, watch};

/// The number of batches that a stream may be behind. A stream that is further behind reads the log by itself.
const BATCHES_KEPT: usize = 256;

/// The number of events of a batch at most.
pub const BATCH_MAX: usize = 200;

/// Events that were published one after the other.
#[derive(Debug)]
pub struct FeedBatch {
    /// The place before the first of them.
    pub from: EventCursor,
    /// The place behind the last of them.
    pub to: EventCursor,
    pub events: Vec<LoggedEvent>,
}

/// The feed of published events. Clones share one feed.
#[derive(Debug, Clone)]
pub struct EventFeed {
    batches: broadcast::Sender<Arc<FeedBatch>>,
    closing: watch::Receiver<bool>,
}

/// An update of the feed for a stream.
#[derive(Debug)]
pub enum FeedUpdate {
    /// The next batch.
    Batch(Arc<FeedBatch>),
    /// Batches were missed.
    Missed,
    /// The process stops.
    Closing,
}

/// One stream's end of the feed.
#[derive(Debug)]
pub struct Subscription {
    batches: broadcast::Receiver<Arc<FeedBatch>>,
    closing: watch::Receiver<bool>,
}

impl Subscription {
    /// Waits for the next batch.
    pub async fn wait_for_batch(&mut self) -> FeedUpdate {
        let closing = pin!(self.closing.wait_for(|closing| *closing));
        let next = pin!(self.batches.recv());
        match select(closing, next).await {
            Either::Left(_) | Either::Right((Err(broadcast::error::RecvError::Closed), _)) => {
                FeedUpdate::Closing
            }
            Either::Right((Ok(batch), _)) => FeedUpdate::Batch(batch),
            Either::Right((Err(broadcast::error::RecvError::Lagged(_)), _)) => FeedUpdate::Missed,
        }
    }
}

impl EventFeed {
    /// Creates a feed whose streams end once `closing` is `true`.
    pub fn new(closing: watch::Receiver<bool>) -> Self {
        let (batches, _) = broadcast::channel(BATCHES_KEPT);
        Self { batches, closing }
    }

    pub fn open_subscription(&self) -> Subscription {
        Subscription {
            batches: self.batches.subscribe(),
            closing: self.closing.clone(),
        }
    }

    /// Feeds the open streams until the process stops. `wait_for_change` returns when something may have been published. While no
    /// stream is open, nothing is read.
    pub async fn run_feed<W: Future<Output = ()> + Send>(
        &self,
        log: &dyn PublishedEvents,
        wait_for_change: impl Fn() -> W,
    ) {
        let mut place = None;
        let mut closing = self.closing.clone();
        loop {
            {
                let change = pin!(wait_for_change());
                let stop = pin!(closing.wait_for(|closing| *closing));
                if let Either::Right(_) = select(change, stop).await {
                    return;
                }
            }
            if self.batches.receiver_count() == 0 {
                place = None;
            } else if let Err(error) = self.send_new_events(log, &mut place).await {
                // The streams hear of the events with the next change.
                tracing::warn!(%error, "published events could not be read");
            }
        }
    }

    /// Sends the streams what was published since `place`.
    async fn send_new_events(
        &self,
        log: &dyn PublishedEvents,
        place: &mut Option<EventCursor>,
    ) -> PortResult<()> {
        let mut from = if let Some(from) = *place {
            from
        } else {
            // Streams that began before this place read on from their own.
            let newest = log.list_published_events(None, LogPlace::Newest, 0).await?.next;
            self.send_batch(newest, newest, Vec::new());
            newest
        };
        loop {
            *place = Some(from);
            let page = log.list_published_events(None, LogPlace::After(from), BATCH_MAX);
            let page = page.await?;
            let is_last = page.events.len() < BATCH_MAX;
            if page.next != from {
                self.send_batch(from, page.next, page.events);
            }
            from = page.next;
            if is_last {
                *place = Some(from);
                return Ok(());
            }
        }
    }

    fn send_batch(&self, from: EventCursor, to: EventCursor, events: Vec<LoggedEvent>) {
        // Without a receiver there is nobody to tell.
        let _ = self.batches.send(Arc::new(FeedBatch { from, to, events }));
    }
}
