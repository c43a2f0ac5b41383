//! The sender: send jobs one by one, and the queue as its workers see it.

use crate::world::Setup;
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::ConversationId;
use recado_domain::provider::Provider;
use recado_domain::wake_up::{OutboundJob, SendJob};
use recado_embedded::DequeuedMessage;
use recado_pipeline::ports::System;
use recado_pipeline::settings::VisibilityTimeouts;
use recado_pipeline::{Verdict, handle_outbound_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::idle::Idle;
use std::time::Duration;

impl Setup {
    /// One receive of a send job for everything open in this conversation. One that moves to another group is followed there.
    pub(crate) async fn job(&self, conversation: &ConversationId) -> Verdict {
        self.send_jobs().await;
        let job = SendJob::new(conversation.clone(), SendJob::ALL_OPEN, correlation());
        let body = serde_json::to_string(&OutboundJob::Send(job)).unwrap();
        let mut verdict = self.run_send_job(&body, 1).await;
        for _ in 0..100 {
            if verdict != Verdict::Done {
                return verdict;
            }
            let Some(moved) = self.send_jobs().await.pop() else {
                return verdict;
            };
            verdict = self.run_send_job(&moved.body, 1).await;
        }
        panic!("a send job goes from group to group without end");
    }

    /// Kicks until there is nothing more to do, waiting as it is told.
    pub(crate) async fn send(&self, conversation: &ConversationId) {
        for _ in 0..100 {
            match self.job(conversation).await {
                Verdict::Done => return,
                Verdict::Retry { after } => self.world.system.sleep(after.unsigned_abs()).await,
            }
        }
        panic!("a kick never ends");
    }

    /// The send jobs that the queue hands out now; they are gone then.
    pub(crate) async fn send_jobs(&self) -> Vec<DequeuedMessage> {
        let mut all = Vec::new();
        loop {
            let jobs = self.receive_send_jobs().await;
            if jobs.is_empty() {
                return all;
            }
            for job in jobs {
                self.world.queues.delete_received(&job.receipt).await.unwrap();
                all.push(job);
            }
        }
    }

    async fn receive_send_jobs(&self) -> Vec<DequeuedMessage> {
        let queues = &self.world.queues;
        let received = queues
            .receive_messages(QueueName::Outbound, 10, VisibilityTimeouts::OUTBOUND)
            .await;
        received.unwrap()
    }

    async fn run_send_job(&self, body: &str, receives: u32) -> Verdict {
        handle_outbound_message(&self.world, &Idle, body, receives, None).await
    }

    /// Lets the sender work off its queue, until it is empty or `until`. It is `until` then.
    pub(crate) async fn sender(&self, until: Timestamp) {
        let queues = &self.world.queues;
        while let Some(next) = queues.next_visible_at(QueueName::Outbound).await.unwrap() {
            let now = self.now();
            if next.max(now) > until {
                break;
            }
            let wait = next.as_millisecond().saturating_sub(now.as_millisecond()).max(0);
            self.world.system.pass(wait);
            for job in self.receive_send_jobs().await {
                match self.run_send_job(&job.body, job.receives).await {
                    Verdict::Done => assert!(queues.delete_received(&job.receipt).await.unwrap()),
                    Verdict::Retry { after } => {
                        let whole = Duration::from_secs(
                            after
                                .unsigned_abs()
                                .as_millis()
                                .div_ceil(1_000)
                                .try_into()
                                .unwrap(),
                        );
                        assert!(queues.change_visibility(&job.receipt, whole).await.unwrap());
                    }
                }
            }
        }
        let left = until.as_millisecond() - self.now().as_millisecond();
        self.world.system.pass(left.max(0));
    }
}

#[tokio::test]
async fn a_reply_of_a_connected_instance_leaves_without_any_wait() {
    for provider in [Provider::Evolution, Provider::Meta] {
        let setup = Setup::set(Fixture::on(provider)).await;
        *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
        setup.message(&setup.fixture, "W1", "oi", false).await;
        setup.pass(4);
        setup.turns(&setup.fixture).await;
        // What is enqueued for later is not handed out.
        setup.sender(setup.now()).await;
        assert_eq!(setup.world.providers.sent(), 1, "{provider}");
    }
}
