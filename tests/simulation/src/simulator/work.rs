use super::{Simulator, Style, whole_seconds};
use crate::executor::Life;
use crate::fake_world::FakeServices;
use crate::fault_injector::FaultInjector;
use crate::queue::{Got, WorkQueues};
use futures::future::join_all;
use recado_domain::dead_letter::QueueName;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::{Store, System};
use recado_pipeline::{Verdict, handle_outbound_message, handle_turns_message, process};
use std::fmt::Debug;
use std::sync::Arc;

/// When a function is cut off, in milliseconds.
fn function_timeout_ms(queue: QueueName) -> i64 {
    match queue {
        QueueName::Inbound => 15_000,
        QueueName::Turns => 90_000,
        QueueName::Outbound => 30_000,
    }
}

fn name(queue: QueueName) -> &'static str {
    match queue {
        QueueName::Inbound => "processor",
        QueueName::Turns => "deferred-reply",
        QueueName::Outbound => "sender",
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// Starts a function with a batch.
    pub(super) fn start(self: &Arc<Self>, queue: QueueName, batch: Vec<Got<Q::Receipt>>) -> Life {
        let injector = FaultInjector::new(&self.common, name(queue));
        if queue == QueueName::Outbound {
            let count = u64::try_from(batch.len()).unwrap_or(1);
            self.common.count(|counters| counters.sender_receives += count);
        }
        let life = injector.life.clone();
        let (sim, ended) = (Arc::clone(self), life.clone());
        self.simulation().spawn(life.clone(), async move {
            sim.batch(queue, batch, &injector).await;
            ended.end();
            sim.common.note_ended();
            sim.common.make_dirty(queue);
        });
        if self.style == Style::Lambda {
            let (sim, cut_off) = (Arc::clone(self), life.clone());
            self.simulation().spawn(Life::default(), async move {
                sim.simulation().sleep(function_timeout_ms(queue)).await;
                if !cut_off.is_over() {
                    sim.common.note(|| format!("{} is cut off", name(queue)));
                    sim.common.disturb();
                    sim.common.count(|counters| counters.cut_off += 1);
                    cut_off.end();
                    sim.common.note_ended();
                }
            });
        }
        life
    }

    /// Groups side by side, a group's messages one after the other; after the first that comes back, so does the rest.
    async fn batch(
        self: &Arc<Self>,
        queue: QueueName,
        batch: Vec<Got<Q::Receipt>>,
        injector: &FaultInjector,
    ) {
        let mut groups: Vec<Vec<Got<Q::Receipt>>> = Vec::new();
        for got in batch {
            let same = |group: &&mut Vec<Got<Q::Receipt>>| got.group.is_some() && group[0].group == got.group;
            match groups.iter_mut().find(same) {
                Some(group) => group.push(got),
                None => groups.push(vec![got]),
            }
        }
        let done = join_all(groups.into_iter().map(|group| self.group(queue, group, injector))).await;
        for receipt in done.into_iter().flatten() {
            self.queues.delete(&receipt);
            self.common.make_dirty(queue);
        }
    }

    /// Returns what is done and not deleted yet.
    async fn group(
        self: &Arc<Self>,
        queue: QueueName,
        group: Vec<Got<Q::Receipt>>,
        injector: &FaultInjector,
    ) -> Vec<Q::Receipt> {
        let (mut back, mut done) = (None, Vec::new());
        for got in group {
            let verdict = match back {
                Some(after) => Verdict::Retry { after },
                None => self.one(queue, &got, &injector.of_record()).await,
            };
            match verdict {
                Verdict::Done if self.style == Style::Machine => self.queues.delete(&got.receipt),
                Verdict::Done => done.push(got.receipt),
                Verdict::Retry { after } => {
                    self.common
                        .note(|| format!("{} comes back in {after:?}", injector.function));
                    self.queues
                        .put_off(&got.receipt, whole_seconds(after.unsigned_abs()));
                    back = Some(after);
                }
            }
            self.common.make_dirty(queue);
        }
        done
    }

    async fn one(
        self: &Arc<Self>,
        queue: QueueName,
        got: &Got<Q::Receipt>,
        injector: &FaultInjector,
    ) -> Verdict {
        let world = self.world_over(injector, self.queues.for_message(&got.receipt));
        let deadline = add_millis(injector.now(), function_timeout_ms(queue));
        let verdict = match queue {
            QueueName::Inbound => process::process(&world, &got.body, got.receives).await,
            QueueName::Turns => handle_turns_message(&world, &got.body, got.receives, None).await,
            QueueName::Outbound => {
                let carriers = FakeServices::new(self.fake_world.clone(), injector.clone());
                handle_outbound_message(&world, &carriers, &got.body, got.receives, Some(deadline)).await
            }
        };
        // Done, and nobody knows yet.
        injector.step("acknowledge").await;
        verdict
    }
}
