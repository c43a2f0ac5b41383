use super::Simulator;
use crate::executor::Life;
use crate::fault_injector::FaultInjector;
use crate::mutation::Mutation;
use crate::queue::WorkQueues;
use futures::channel::oneshot;
use futures::future::{Either, select};
use recado_domain::inbound::WebhookItem;
use recado_pipeline::ports::Store;
use recado_pipeline::{ingest, random_id};
use std::fmt::Debug;
use std::sync::Arc;

/// How long a provider waits for an answer, in milliseconds.
const PATIENCE_MS: i64 = 10_000;

/// How often a provider repeats.
const TRIES: usize = 40;

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// What the provider owes is posted.
    pub(super) fn post_owed(self: &Arc<Self>) {
        let owed = self.fake_world.take_owed();
        let together = owed.len() > 1 && self.simulation().chance(0.1);
        if let Some(after_ms) = owed.iter().map(|owed| owed.after_ms).max().filter(|_| together) {
            self.post_all(owed.into_iter().map(|owed| owed.item).collect(), after_ms);
            return;
        }
        for owed in owed {
            self.post(owed.item, owed.after_ms);
        }
    }

    /// Posts a webhook after a while, again and again until it is acknowledged; now and then once more.
    pub fn post(self: &Arc<Self>, item: WebhookItem, after_ms: i64) {
        self.post_all(vec![item], after_ms);
    }

    /// Posts a webhook of several items, which is acknowledged as a whole.
    pub fn post_all(self: &Arc<Self>, mut items: Vec<WebhookItem>, after_ms: i64) {
        for item in &mut items {
            if let Some(status) = item.as_delivery_status() {
                self.ledger().told_deliveries.insert(status.key.clone());
            }
            let WebhookItem::Event(event) = item else {
                continue;
            };
            self.fake_world.by_the_providers_clock(event, after_ms);
            self.fake_world.remember(event);
            let mut ledger = self.ledger();
            ledger.posted.insert(event.id.clone());
            ledger.note_said(event);
        }
        self.post_unchanged(items, after_ms);
    }

    /// Posts a webhook again that was posted before.
    pub fn post_again(self: &Arc<Self>, item: WebhookItem, after_ms: i64) {
        self.post_unchanged(vec![item], after_ms);
    }

    fn post_unchanged(self: &Arc<Self>, items: Vec<WebhookItem>, after_ms: i64) {
        self.ledger().pending += 1;
        let sim = Arc::clone(self);
        self.simulation().spawn(Life::default(), async move {
            sim.simulation().sleep(after_ms).await;
            sim.until_acknowledged(&items).await;
            sim.ledger().pending -= 1;
        });
    }

    async fn until_acknowledged(self: &Arc<Self>, items: &[WebhookItem]) {
        let mut again = self.simulation().chance(self.posted_twice);
        for attempt in 0..TRIES {
            let believed = self.common.mutation == Some(Mutation::AcknowledgeBeforeEnqueue);
            if self.post_once(items).await || believed {
                for item in items {
                    self.acknowledged(item);
                }
                if !again {
                    return;
                }
                again = false;
            } else if !self.clients_repeat {
                return;
            }
            let longest = if attempt < 3 { 10_000 } else { 120_000 };
            self.simulation()
                .sleep(self.simulation().between(0, longest))
                .await;
        }
    }

    /// It was answered 200.
    fn acknowledged(&self, item: &WebhookItem) {
        match item {
            WebhookItem::Event(event) => {
                let known = self.common.observations().enqueued.contains_key(&event.id);
                if !known {
                    self.common.broken(format!(
                        "event {} was acknowledged before it was enqueued",
                        event.id
                    ));
                }
                self.ledger().acknowledged.insert(event.id.clone());
            }
            other => self.ledger().statuses.extend(other.as_delivery_status().cloned()),
        }
    }

    /// Whether it was answered 200 in time.
    async fn post_once(self: &Arc<Self>, items: &[WebhookItem]) -> bool {
        let injector = FaultInjector::new(&self.common, "webhook");
        let (world, items, caller) = (self.world(&injector), items.to_vec(), injector.clone());
        let request = async move {
            let correlation = random_id::generate_correlation_id(&caller);
            ingest::ingest(&world, items, &correlation).await.is_ok()
        };
        self.answered_in(injector, PATIENCE_MS, request).await == Some(true)
    }

    /// Runs `request` as the function of `injector`; its answer, if one came within `patience_ms`.
    pub(super) async fn answered_in<T: Send + 'static>(
        &self,
        injector: FaultInjector,
        patience_ms: i64,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.simulation().spawn(injector.life.clone(), async move {
            let done = request.await;
            injector.step("answer").await;
            let _ = answer.send(done);
            injector.life.end();
        });
        let patience = std::pin::pin!(self.simulation().sleep(patience_ms));
        match select(answered, patience).await {
            Either::Left((answer, _)) => answer.ok(),
            Either::Right(_) => None,
        }
    }
}
