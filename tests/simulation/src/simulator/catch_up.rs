use super::Simulator;
use super::people::REQUEST_PATIENCE_MS;
use crate::executor::Life;
use crate::fault_injector::FaultInjector;
use crate::queue::WorkQueues;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::InstanceId;
use recado_domain::inbound::WebhookEvent;
use recado_pipeline::catch_up::{CatchUpError, catch_up};
use recado_pipeline::ports::{HistoryError, Store};
use recado_pipeline::random_id;
use std::fmt::Debug;
use std::sync::Arc;

/// How a catch-up ended, for who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// All was read.
    Done,
    /// There is more from then on.
    More(Option<Timestamp>),
    /// Nothing to be had.
    No,
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// A contact's message whose webhook never comes: the provider alone remembers it.
    pub fn lose(&self, event: &mut WebhookEvent) {
        self.fake_world.by_the_providers_clock(event, 0);
        self.fake_world.remember(event);
        self.common.note(|| format!("no webhook comes of {}", event.id));
        let mut ledger = self.ledger();
        ledger.posted.insert(event.id.clone());
        ledger.note_said(event);
    }

    /// An operator has fetched what was missed since `since`, asking until all was read. What the provider remembered
    /// before is then as good as acknowledged.
    pub fn fetch(self: &Arc<Self>, instance: &InstanceId, since: Option<Timestamp>) {
        self.ledger().pending += 1;
        let (sim, instance) = (Arc::clone(self), instance.clone());
        self.simulation().spawn(Life::default(), async move {
            let (begun, mut from) = (sim.simulation().now(), since);
            for _ in 0..40 {
                match sim.fetch_once(&instance, from).await {
                    Some(Answer::Done) => {
                        if since.is_some() {
                            let known = sim.fake_world.remembered(&instance, begun);
                            sim.ledger().acknowledged.extend(known);
                        }
                        break;
                    }
                    Some(Answer::More(next)) => from = next.max(from),
                    Some(Answer::No) => break,
                    None => sim.simulation().sleep(8_000).await,
                }
            }
            sim.ledger().pending -= 1;
        });
    }

    /// What came of one request, if it was answered.
    async fn fetch_once(self: &Arc<Self>, instance: &InstanceId, since: Option<Timestamp>) -> Option<Answer> {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, caller) = (self.world(&injector), injector.clone());
        let instance = instance.clone();
        let request = async move {
            let done = catch_up(
                &world,
                &Caller::installation(),
                &instance,
                since,
                &random_id::generate_correlation_id(&caller),
            )
            .await;
            match done {
                Ok(done) if done.more => Some(Answer::More(done.next)),
                Ok(_) => Some(Answer::Done),
                Err(CatchUpError::Port(_) | CatchUpError::Provider(HistoryError::Unavailable { .. })) => None,
                Err(_) => Some(Answer::No),
            }
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request)
            .await
            .flatten()
    }
}
