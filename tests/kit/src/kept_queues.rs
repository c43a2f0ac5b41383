//! Queues, large bodies and files in memory, which keep what comes as SQS and S3 do, and a point at which their caller is
//! killed.

use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName, RedrivenLetter};
use recado_domain::ids::TokenName;
use recado_domain::wake_up::TurnsJob;
use recado_ports::ports::{
    DeadLetterQueues, DeadQueueMessage, FileBytes, FileError, Files, InboundEntry, OutboundEntry, PortResult,
    Queues, System,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, pending};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// A received message of a dead-letter queue is hidden for so many seconds.
const HIDDEN_SECONDS: i64 = 5;

/// The step at which whoever works is killed. Steps are counted from the moment at which it was set.
#[derive(Debug, Clone, Default)]
pub struct KillPoint {
    /// The number of steps until then; 0: nobody is killed.
    left: Arc<AtomicU64>,
    reached: Arc<Notify>,
}

impl KillPoint {
    /// Sets the step, from 1; 0: nobody is killed.
    pub fn set(&self, step: u64) {
        self.left.store(step, Ordering::SeqCst);
    }

    /// Counts a step, and waits for ever at the one that was set.
    pub async fn pass_step(&self) {
        let counted = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if counted == Ok(1) {
            self.reached.notify_one();
            pending::<()>().await;
        }
    }

    /// Does `work` until it ends or is killed at `step`. Returns `true` if it ended.
    pub async fn kill_at<T>(&self, step: u64, work: impl Future<Output = T>) -> bool {
        self.set(step);
        let ended = tokio::select! {
            biased;
            _ = work => true,
            () = self.reached.notified() => false,
        };
        self.set(0);
        ended
    }
}

/// A message of a dead-letter queue.
#[derive(Debug, Clone)]
struct DeadMessage {
    queue: QueueName,
    body: String,
    copy_of: RedrivenLetter,
    hidden_until: Timestamp,
}

#[derive(Debug, Default)]
struct Kept {
    inbound: Vec<String>,
    wake_up_jobs: Vec<String>,
    dead: BTreeMap<u64, DeadMessage>,
    payloads: BTreeMap<String, Value>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Queues, large bodies and files in memory. Clones are the same ones. What waits in `inbound` is not deleted, but received.
#[derive(Debug, Clone)]
pub struct KeptQueues<A> {
    kept: Arc<Mutex<Kept>>,
    clock: A,
    before: KillPoint,
    after: KillPoint,
}

impl<A: System> KeptQueues<A> {
    /// Makes empty ones on this clock. Each call is a step of both points: before its effect, and after it.
    pub fn new(clock: A, before: KillPoint, after: KillPoint) -> Self {
        Self {
            kept: Arc::default(),
            clock,
            before,
            after,
        }
    }

    async fn change<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        self.before.pass_step().await;
        let changed = change(&mut self.kept.lock().unwrap());
        self.after.pass_step().await;
        changed
    }

    /// Takes the bodies that wait in `inbound`.
    pub fn take_inbound(&self) -> Vec<String> {
        std::mem::take(&mut self.kept.lock().unwrap().inbound)
    }

    /// Lists all that is kept, each as a line.
    pub fn list_kept(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap();
        let files = kept.files.iter();
        let payloads = kept.payloads.iter();
        let dead = kept.dead.values();
        let waiting = kept.inbound.iter().chain(&kept.wake_up_jobs);
        files
            .map(|(key, bytes)| format!("file {key} {}", String::from_utf8_lossy(bytes)))
            .chain(payloads.map(|(key, body)| format!("payload {key} {body}")))
            .chain(dead.map(|message| format!("dead {} {:?}", message.body, message.copy_of)))
            .chain(waiting.map(|body| format!("waiting {body}")))
            .collect()
    }
}

fn to_json(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap()
}

#[async_trait]
impl<A: System> Queues for KeptQueues<A> {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        let bodies = events.iter().map(|entry| to_json(&entry.job));
        self.change(|kept| kept.inbound.extend(bodies)).await;
        Ok(())
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, _: Duration) -> PortResult<()> {
        self.change(|kept| kept.wake_up_jobs.push(to_json(job))).await;
        Ok(())
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, _: Timestamp) -> PortResult<()> {
        self.change(|kept| kept.wake_up_jobs.push(to_json(job))).await;
        Ok(())
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        let bodies = entries.iter().map(|entry| to_json(&entry.job));
        self.change(|kept| kept.wake_up_jobs.extend(bodies)).await;
        Ok(())
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        let (_, payload) = dead_letter.build_redrive_payload(None).unwrap().unwrap();
        let message = DeadMessage {
            queue: dead_letter.queue,
            body: to_json(&payload),
            copy_of: RedrivenLetter {
                dead_letter: dead_letter.id.clone(),
                failed_at: dead_letter.at,
            },
            hidden_until: Timestamp::MIN,
        };
        let number = self.clock.random_u64();
        self.change(|kept| kept.dead.insert(number, message)).await;
        Ok(())
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        let (key, payload) = (key.to_owned(), payload.clone());
        self.change(|kept| kept.payloads.insert(key, payload)).await;
        Ok(())
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        Ok(self.change(|kept| kept.payloads.contains_key(key)).await)
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        Ok(self.change(|kept| kept.payloads.get(key).cloned()).await)
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        self.change(|kept| kept.payloads.remove(key)).await;
        Ok(())
    }

    async fn delete_inbound(&self, _: &BTreeSet<String>) -> PortResult<()> {
        Ok(())
    }
}

#[async_trait]
impl<A: System> Files for KeptQueues<A> {
    async fn put_file(&self, key: &str, _: &str, bytes: FileBytes) -> Result<(), FileError> {
        let (key, bytes) = (key.to_owned(), bytes.read_all().await?);
        self.change(|kept| kept.files.insert(key, bytes)).await;
        Ok(())
    }

    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        let found = self.change(|kept| kept.files.get(key).cloned()).await;
        Ok(found.map(FileBytes::from_bytes))
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        self.change(|kept| kept.files.remove(key)).await;
        Ok(())
    }
}

#[async_trait]
impl<A: System> DeadLetterQueues for KeptQueues<A> {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        let now = self.clock.now();
        let receive = |kept: &mut Kept| {
            let visible = |message: &DeadMessage| message.queue == queue && message.hidden_until <= now;
            let found = kept.dead.iter_mut().filter(|(_, message)| visible(message));
            let received = found.take(10).map(|(number, message)| {
                message.hidden_until = now + jiff::SignedDuration::from_secs(HIDDEN_SECONDS);
                DeadQueueMessage {
                    queue,
                    body: message.body.clone(),
                    sent_at: message.copy_of.failed_at,
                    copy_of: Some(message.copy_of.clone()),
                    receipt: number.to_string(),
                }
            });
            received.collect()
        };
        Ok(self.change(receive).await)
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        let number = copy.receipt.parse().unwrap();
        self.change(|kept: &mut Kept| kept.dead.remove(&number)).await;
        Ok(())
    }

    async fn enqueue_redrive(&self, dead_letter: &DeadLetter, _: &TokenName, _: &str) -> PortResult<()> {
        let (_, payload) = dead_letter.build_redrive_payload(None).unwrap().unwrap();
        self.change(|kept| kept.wake_up_jobs.push(to_json(&payload)))
            .await;
        Ok(())
    }
}
