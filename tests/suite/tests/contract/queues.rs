//! What the queues port promises, on SQS, S3 and `EventBridge` Scheduler.

use crate::account::{REGION, clients};
use aws_sdk_scheduler::types::Target;
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use futures::future::join_all;
use recado_aws::{AwsConfig, AwsQueues, Clients, OsSystem};
use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName, TurnsMessage};
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::reason::Reason;
use recado_domain::wake_up::{OutboundJob, Redrive, SendJob, TurnJob, TurnsJob};
use recado_pipeline::ports::{InboundEntry, OutboundEntry, Queues};
use recado_testkit::builders::{Fixture, correlation, fresh};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const ACCOUNT: &str = "333333333333";

/// Queues, a bucket and a group of schedules that nobody else has.
pub(crate) struct Bench {
    pub(crate) clients: Clients,
    pub(crate) config: AwsConfig,
    queues: AwsQueues<OsSystem>,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let (clients, name) = (clients(ACCOUNT), fresh("contract"));
        let url = |suffix: &str| make_queue(&clients, format!("{name}-{suffix}"));
        let config = AwsConfig {
            table: None,
            bucket: Some(make_bucket(&clients, &name).await),
            inbound_queue_url: Some(url("inbound.fifo").await),
            turns_queue_url: Some(url("turns").await),
            outbound_queue_url: Some(url("outbound.fifo").await),
            webhooks_queue_url: Some(url("webhooks.fifo").await),
            turns_queue_arn: Some(format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}-turns")),
            inbound_dlq_url: Some(url("inbound-dlq.fifo").await),
            turns_dlq_url: Some(url("turns-dlq").await),
            outbound_dlq_url: Some(url("outbound-dlq.fifo").await),
            schedule_group: Some(make_group(&clients, &name).await),
            scheduler_role_arn: Some(format!("arn:aws:iam::{ACCOUNT}:role/scheduler")),
            parameter_prefix: None,
        };
        let queues = AwsQueues::new(clients.clone(), config.clone(), OsSystem);
        Self {
            clients,
            config,
            queues,
        }
    }

    fn inbound(&self) -> &str {
        self.config.inbound_queue_url.as_deref().unwrap()
    }

    async fn send_job(&self, job: &SendJob, deduplication: &str) {
        let entry = OutboundEntry {
            job: job.clone().into(),
            deduplication: deduplication.to_owned(),
        };
        self.queues.enqueue_outbound(&[entry]).await.unwrap();
    }

    /// What lies in a queue, in the order it is handed out, removed. Until there are `count`.
    async fn take(&self, url: &str, count: usize) -> Vec<Message> {
        let began = Instant::now();
        let mut taken = Vec::new();
        while taken.len() < count && began.elapsed() < Duration::from_secs(60) {
            taken.extend(self.receive(url).await);
        }
        taken
    }

    pub(crate) async fn receive(&self, url: &str) -> Vec<Message> {
        let request = self
            .clients
            .sqs
            .receive_message()
            .queue_url(url)
            .max_number_of_messages(10);
        let request = request.message_attribute_names("All").wait_time_seconds(1);
        let messages = request.send().await.unwrap().messages.unwrap_or_default();
        let remove = |message: &Message| {
            let receipt = message.receipt_handle.clone().unwrap();
            self.clients
                .sqs
                .delete_message()
                .queue_url(url)
                .receipt_handle(receipt)
                .send()
        };
        join_all(messages.iter().map(remove))
            .await
            .into_iter()
            .for_each(|removed| {
                removed.unwrap();
            });
        messages
    }
}

async fn make_queue(clients: &Clients, name: String) -> String {
    let mut request = clients.sqs.create_queue().queue_name(&name);
    if name.split('.').any(|part| part == "fifo") {
        request = request
            .attributes(QueueAttributeName::FifoQueue, "true")
            .attributes(QueueAttributeName::ContentBasedDeduplication, "false")
            .attributes(QueueAttributeName::DeduplicationScope, "messageGroup")
            .attributes(QueueAttributeName::FifoThroughputLimit, "perMessageGroupId");
    }
    request.send().await.unwrap().queue_url.unwrap()
}

pub(crate) async fn make_bucket(clients: &Clients, name: &str) -> String {
    clients.s3().create_bucket().bucket(name).send().await.unwrap();
    name.to_owned()
}

async fn make_group(clients: &Clients, name: &str) -> String {
    clients
        .scheduler()
        .create_schedule_group()
        .name(name)
        .send()
        .await
        .unwrap();
    name.to_owned()
}

fn json_of(message: &Message) -> Value {
    serde_json::from_str(message.body.as_deref().unwrap()).unwrap()
}

fn send_job_of(message: &Message) -> SendJob {
    match serde_json::from_value(json_of(message)).unwrap() {
        OutboundJob::Send(job) => job,
        OutboundJob::Email(other) => panic!("no send job: {other:?}"),
    }
}

/// Events of one contact, in order, each saying its number.
fn events(count: usize) -> Vec<InboundEntry> {
    let fixture = Fixture::new();
    let event = |number: usize| {
        let job = InboundJob {
            payload: EventPayload::Inline(json!({"number": number})),
            ..fixture.job()
        };
        InboundEntry {
            deduplication: job.event.to_string(),
            job,
        }
    };
    (0..count).map(event).collect()
}

fn numbers(messages: &[Message]) -> Vec<u64> {
    messages
        .iter()
        .map(|message| json_of(message)["payload"]["inline"]["number"].as_u64().unwrap())
        .collect()
}

fn conversation() -> ConversationId {
    Fixture::new().conversation(1).id
}

#[tokio::test]
async fn a_groups_events_come_in_the_order_they_were_sent_however_many() {
    let bench = Bench::new().await;
    bench.queues.enqueue_inbound(&events(25)).await.unwrap();
    let taken = bench.take(bench.inbound(), 25).await;
    assert_eq!(numbers(&taken), (0..25).collect::<Vec<u64>>());
}

#[tokio::test]
async fn an_event_enqueued_again_is_dropped_and_one_under_another_id_is_not() {
    let bench = Bench::new().await;
    let mut sent = events(2);
    bench.queues.enqueue_inbound(&sent[..1]).await.unwrap();
    bench.queues.enqueue_inbound(&sent[..1]).await.unwrap();
    sent[0].deduplication.push_str("-1");
    bench.queues.enqueue_inbound(&sent).await.unwrap();
    assert_eq!(numbers(&bench.take(bench.inbound(), 3).await), [0, 0, 1]);
    assert_eq!(bench.receive(bench.inbound()).await, []);
}

#[tokio::test]
async fn a_body_is_ascii_and_comes_back_with_all_that_people_write() {
    let bench = Bench::new().await;
    let said = json!({"text": "olá 😀\u{0}\u{7f}\u{fffe}\u{ffff}\u{d7ff} \"\\"});
    let job = InboundJob {
        payload: EventPayload::Inline(said),
        ..Fixture::new().job()
    };
    let event = InboundEntry {
        deduplication: job.event.to_string(),
        job: job.clone(),
    };
    bench.queues.enqueue_inbound(&[event]).await.unwrap();
    let taken = bench.take(bench.inbound(), 1).await;
    let body = taken[0].body.as_deref().unwrap();
    assert!(body.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{body}");
    assert_eq!(serde_json::from_str::<InboundJob>(body).unwrap(), job);
}

#[tokio::test]
async fn a_turns_timer_comes_after_the_whole_seconds_of_its_delay_and_says_when_it_is_due() {
    let bench = Bench::new().await;
    let job = TurnsJob::Turn(sample_turn_job());
    let (began, asked_at) = (Instant::now(), Timestamp::now());
    bench
        .queues
        .enqueue_turns_job(&job, Duration::from_millis(1_500))
        .await
        .unwrap();
    let taken = bench
        .take(bench.config.turns_queue_url.as_deref().unwrap(), 1)
        .await;
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    let message: TurnsMessage = serde_json::from_value(json_of(&taken[0])).unwrap();
    assert_eq!(message.job, job);
    let due = message.not_before.unwrap().as_millisecond();
    assert!(due >= asked_at.as_millisecond() + 1_500, "{due}");
}

fn sample_turn_job() -> TurnJob {
    let (conversation, tenant) = (conversation(), Fixture::new().bound.tenant.id);
    TurnJob {
        conversation,
        tenant,
        ordinal: Ordinal(1),
        correlation: correlation(),
        parent: None,
        due: None,
    }
}

#[tokio::test]
async fn a_turn_scheduled_twice_for_a_minute_is_one_schedule_and_the_first_stays() {
    let bench = Bench::new().await;
    let at: Timestamp = "2100-01-05T09:00:00Z".parse().unwrap();
    let turn = TurnJob {
        due: Some(at),
        ..sample_turn_job()
    };
    let first = TurnsJob::Turn(turn.clone());
    let again = TurnsJob::Turn(TurnJob {
        ordinal: Ordinal(2),
        ..turn
    });
    bench.queues.schedule_turns_job(&first, at).await.unwrap();
    bench.queues.schedule_turns_job(&again, at).await.unwrap();
    let later: Timestamp = "2100-01-05T09:01:00Z".parse().unwrap();
    bench.queues.schedule_turns_job(&again, later).await.unwrap();
    let group = bench.config.schedule_group.clone().unwrap();
    let listed = bench
        .clients
        .scheduler()
        .list_schedules()
        .group_name(&group)
        .send()
        .await
        .unwrap();
    assert_eq!(listed.schedules.len(), 2);
    let mut found = HashMap::new();
    for summary in &listed.schedules {
        let name = summary.name.clone().unwrap();
        let request = bench
            .clients
            .scheduler()
            .get_schedule()
            .group_name(&group)
            .name(&name);
        let schedule = request.send().await.unwrap();
        found.insert(schedule.schedule_expression.unwrap(), schedule.target.unwrap());
    }
    let job = |target: &Target| serde_json::from_str::<TurnsJob>(target.input.as_deref().unwrap()).unwrap();
    let at_nine = &found["at(2100-01-05T09:00:00)"];
    assert_eq!(
        (job(at_nine), job(&found["at(2100-01-05T09:01:00)"])),
        (first, again)
    );
    assert_eq!(Some(at_nine.arn.clone()), bench.config.turns_queue_arn);
    assert_eq!(Some(at_nine.role_arn.clone()), bench.config.scheduler_role_arn);
}

#[tokio::test]
async fn a_send_job_with_an_id_of_its_own_is_not_dropped() {
    let bench = Bench::new().await;
    let job = SendJob::new(conversation(), Ordinal(2), correlation());
    for deduplication in ["first", "second", "first"] {
        bench.send_job(&job, deduplication).await;
    }
    let url = bench.config.outbound_queue_url.as_deref().unwrap();
    let taken = bench.take(url, 2).await;
    let jobs: Vec<SendJob> = taken.iter().map(send_job_of).collect();
    assert_eq!(jobs, [job.clone(), job]);
    assert_eq!(bench.receive(url).await, []);
}

#[tokio::test]
async fn a_send_job_that_waits_in_a_replys_group_holds_up_no_other_of_the_contact() {
    let bench = Bench::new().await;
    let contacts = SendJob::new(conversation(), Ordinal(3), correlation());
    let replys = SendJob {
        reply: Some(conversation().message_id(Ordinal(2))),
        ..contacts.clone()
    };
    let url = bench.config.outbound_queue_url.as_deref().unwrap();
    bench.send_job(&replys, "n").await;
    // Received and not deleted: its group is locked for the queue's thirty seconds.
    let request = bench.clients.sqs.receive_message().queue_url(url);
    let held = request.wait_time_seconds(5).send().await.unwrap();
    assert_eq!(held.messages.unwrap_or_default().len(), 1);
    bench.send_job(&replys, "behind").await;
    bench.send_job(&contacts, "n").await;
    let taken = bench.take(url, 1).await;
    let jobs: Vec<SendJob> = taken.iter().map(send_job_of).collect();
    assert_eq!(jobs, [contacts]);
}

#[tokio::test]
async fn a_dead_letters_copy_is_what_its_queue_carries_marked_redrive_with_its_fields_beside() {
    let bench = Bench::new().await;
    let dead_letter = Fixture::new().dead_letter();
    bench.queues.enqueue_dead_copy(&dead_letter).await.unwrap();
    let taken = bench
        .take(bench.config.inbound_dlq_url.as_deref().unwrap(), 1)
        .await;
    let DeadLetterContent::Event(job) = &dead_letter.what else {
        unreachable!("the builder makes an event's letter")
    };
    let copied: InboundJob = serde_json::from_value(json_of(&taken[0])).unwrap();
    assert_eq!(
        copied,
        InboundJob {
            redrive: Some(dead_letter.at),
            ..InboundJob::clone(job)
        }
    );
    let beside = taken[0].message_attributes.clone().unwrap();
    let field = |name: &str| beside[name].string_value.clone().unwrap();
    assert_eq!(
        (field("id"), field("reason")),
        (dead_letter.id.clone(), dead_letter.reason.to_string())
    );
    assert_eq!(
        (field("attempts"), field("correlation_id")),
        ("3".to_owned(), dead_letter.correlation.to_string())
    );
    assert_eq!(Some(field("last_error")), dead_letter.last_error);
}

#[tokio::test]
async fn a_dead_messages_copy_is_the_send_job_that_revives_it() {
    let bench = Bench::new().await;
    let message = conversation().message_id(Ordinal(7));
    let what = DeadLetterContent::Message {
        message: message.clone(),
    };
    let (queue, reason) = (QueueName::Outbound, Reason::WhatsappPermanentError);
    let dead_letter = DeadLetter {
        id: message.to_string(),
        queue,
        reason,
        what,
        ..Fixture::new().dead_letter()
    };
    bench.queues.enqueue_dead_copy(&dead_letter).await.unwrap();
    let taken = bench
        .take(bench.config.outbound_dlq_url.as_deref().unwrap(), 1)
        .await;
    let job = send_job_of(&taken[0]);
    let redrive = Redrive {
        message,
        failed_at: dead_letter.at,
        by: None,
    };
    assert_eq!((job.upto, job.redrive), (Ordinal(7), Some(redrive)));
}

/// The queues of a bench that only puts bodies.
async fn queues() -> AwsQueues<OsSystem> {
    Bench::new().await.queues
}

mod bodies {
    use super::queues;

    recado_testkit::queues_contract!(queues);
}
