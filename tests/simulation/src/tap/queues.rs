use super::Tap;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::kick::{SendKick, TurnKick};
use recado_pipeline::ports::{DeadCopy, DeadQueues, Enqueue, PortResult, Queues};
use serde_json::Value;
use std::future::Future;
use std::time::Duration;

/// How long a queue knows an id, in milliseconds.
const KNOWN_MS: i64 = 300_000;

impl<Q: Queues> Tap<Q> {
    /// Whether a kick of the same conversation and ordinal is known, for a mutation.
    fn was_kicked(&self, kick: &SendKick) -> bool {
        let now = self.hand.common.simulation.elapsed_ms();
        let id = format!("{}-{}", kick.conversation, kick.upto);
        let mut witness = self.hand.common.witness();
        if witness.kicked.get(&id).is_some_and(|at| now - at < KNOWN_MS) {
            return true;
        }
        witness.kicked.insert(id, now);
        false
    }

    /// A call after which a queue may hold something new.
    async fn sends(
        &self,
        queue: QueueName,
        what: &'static str,
        effect: impl Future<Output = PortResult<()>> + Send,
    ) -> PortResult<()> {
        let marked = async {
            self.hand.common.make_dirty(queue);
            effect.await
        };
        self.hand.call(what, marked).await
    }
}

impl<Q: Queues> Queues for Tap<Q> {
    async fn send_inbound(&self, events: &[Enqueue]) -> PortResult<()> {
        let effect = async {
            self.inner.send_inbound(events).await?;
            let at = self.hand.common.simulation.elapsed_ms();
            for event in events {
                self.hand.common.witness().enqueue(&event.job.event, at);
            }
            Ok(())
        };
        self.sends(QueueName::Inbound, "send_inbound", effect).await
    }

    async fn send_turn(&self, kick: &TurnKick, delay: Duration) -> PortResult<()> {
        if self.hand.lacks(Mutation::TimerAfterApplied) && self.hand.function == "processor" {
            self.hand.later.keep(kick.clone(), delay);
            return Ok(());
        }
        if self.hand.lacks(Mutation::NotReadOn) && self.hand.function == "deferred-reply" {
            return Ok(());
        }
        self.sends(QueueName::Turns, "send_turn", self.inner.send_turn(kick, delay))
            .await
    }

    async fn schedule_turn(&self, kick: &TurnKick, at: Timestamp) -> PortResult<()> {
        self.sends(
            QueueName::Turns,
            "schedule_turn",
            self.inner.schedule_turn(kick, at),
        )
        .await
    }

    async fn send_kick(&self, kick: &SendKick, deduplication: &str) -> PortResult<()> {
        if self.hand.lacks(Mutation::KicksHaveOneId) && self.was_kicked(kick) {
            return Ok(());
        }
        self.sends(
            QueueName::Outbound,
            "send_kick",
            self.inner.send_kick(kick, deduplication),
        )
        .await
    }

    async fn send_dead(&self, letter: &DeadLetter) -> PortResult<()> {
        self.sends(letter.queue, "send_dead", self.inner.send_dead(letter))
            .await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        self.hand
            .call("put_payload", self.inner.put_payload(key, payload))
            .await
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        self.hand
            .call("renew_payload", self.inner.renew_payload(key))
            .await
    }

    async fn payload(&self, key: &str) -> PortResult<Option<Value>> {
        self.hand.call("payload", self.inner.payload(key)).await
    }
}

impl<Q: DeadQueues> DeadQueues for Tap<Q> {
    async fn receive_dead(&self, queue: QueueName) -> PortResult<Vec<DeadCopy>> {
        self.hand
            .call("receive_dead", self.inner.receive_dead(queue))
            .await
    }

    async fn remove_dead(&self, copy: &DeadCopy) -> PortResult<()> {
        self.hand.call("remove_dead", self.inner.remove_dead(copy)).await
    }

    async fn send_redrive(&self, letter: &DeadLetter, deduplication: &str) -> PortResult<()> {
        let marked = async {
            self.hand.common.make_dirty(letter.queue);
            self.inner.send_redrive(letter, deduplication).await
        };
        self.hand.call("send_redrive", marked).await
    }
}
