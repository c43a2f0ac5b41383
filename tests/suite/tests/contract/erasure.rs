//! Erasures on the services of AWS: the table, the queues and the bucket are searched for what belonged to the contact.

use crate::dynamodb::make_table;
use crate::queues::Bench;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_sqs::types::QueueAttributeName;
use recado_aws::{AwsQueues, DynamoStore};
use recado_testkit::builders::fresh;
use recado_testkit::erasure_story::{
    CANARIES, ErasureClock, ErasureSite, NEIGHBOURS_LETTER, OTHERS, list_found,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

/// Writes a map in the order of its names.
fn write_map(map: &HashMap<String, AttributeValue>) -> String {
    let sorted: BTreeMap<_, _> = map.iter().collect();
    let fields = sorted.into_iter().map(|(name, value)| match value {
        AttributeValue::M(inner) => format!("{name} {{{}}}", write_map(inner)),
        AttributeValue::L(list) => {
            let inner = |(number, value): (usize, &AttributeValue)| {
                write_map(&HashMap::from([(number.to_string(), value.clone())]))
            };
            let list: Vec<_> = list.iter().enumerate().map(inner).collect();
            format!("{name} {list:?}")
        }
        other => format!("{name} {other:?}"),
    });
    fields.collect::<Vec<_>>().join(", ")
}

struct Place {
    bench: Bench,
    table: String,
    site: ErasureSite<DynamoStore<ErasureClock>, AwsQueues<ErasureClock>>,
}

impl Place {
    async fn live() -> Self {
        let (bench, table, clock) = (Bench::new().await, fresh("erasure"), ErasureClock::default());
        make_table(&bench.clients.dynamodb, &table).await;
        let dynamodb = bench.clients.dynamodb.clone();
        let store = DynamoStore::new(dynamodb, &table, clock.clone(), Duration::ZERO);
        let queues = AwsQueues::new(bench.clients.clone(), bench.config.clone(), clock.clone());
        let site = Box::pin(ErasureSite::live(store, queues, clock)).await;
        Self { bench, table, site }
    }

    /// The records of the table, each as a line.
    async fn records(&self) -> Vec<String> {
        let mut records = Vec::new();
        let mut start = None;
        loop {
            let request = self.bench.clients.dynamodb.scan().table_name(&self.table);
            let page = request.set_exclusive_start_key(start).send().await.unwrap();
            records.extend(page.items().iter().map(write_map));
            start = page.last_evaluated_key;
            if start.is_none() {
                return records;
            }
        }
    }

    /// The keys and contents of the bucket's objects.
    async fn objects(&self) -> Vec<String> {
        let (s3, bucket) = (
            self.bench.clients.s3(),
            self.bench.config.bucket.as_deref().unwrap(),
        );
        let listed = s3.list_objects_v2().bucket(bucket).send().await.unwrap();
        let mut objects = Vec::new();
        for key in listed.contents().iter().filter_map(|object| object.key()) {
            let object = s3.get_object().bucket(bucket).key(key).send().await.unwrap();
            let metadata: BTreeMap<_, _> = object.metadata().into_iter().flatten().collect();
            let metadata = format!("{metadata:?}");
            let bytes = object.body.collect().await.unwrap().into_bytes();
            objects.push(format!("{key} {metadata} {}", String::from_utf8_lossy(&bytes)));
        }
        objects
    }

    /// What waits in the queues other than `inbound`, removed.
    async fn messages(&self) -> Vec<String> {
        self.wait_until_all_are_visible().await;
        let config = &self.bench.config;
        let queues = [
            &config.turns_queue_url,
            &config.outbound_queue_url,
            &config.inbound_dlq_url,
            &config.turns_dlq_url,
            &config.outbound_dlq_url,
        ];
        let mut bodies = Vec::new();
        for queue in queues {
            let received = self.bench.receive(queue.as_deref().unwrap()).await;
            bodies.extend(received.iter().map(|message| format!("{message:?}")));
        }
        bodies
    }

    /// The processor takes what waits in `inbound`. SQS deletes only what was received.
    async fn process_inbound(&self) -> usize {
        let queue = self.bench.config.inbound_queue_url.as_deref().unwrap();
        let mut processed = 0;
        loop {
            let received = self.bench.receive(queue).await;
            if received.is_empty() {
                return processed;
            }
            for message in received {
                self.site.process(message.body.as_deref().unwrap()).await;
                processed += 1;
            }
        }
    }

    /// What the table and the bucket hold: of the other tenant, and the rest.
    async fn parted(&self) -> (BTreeSet<String>, Vec<String>) {
        let stored = [self.records().await, self.objects().await].concat();
        self.site.part_lines(stored)
    }

    /// Waits until no dead-letter queue hides a message that somebody received and did not delete.
    async fn wait_until_all_are_visible(&self) {
        let config = &self.bench.config;
        let queues = [
            &config.inbound_dlq_url,
            &config.turns_dlq_url,
            &config.outbound_dlq_url,
        ];
        for queue in queues {
            let name = QueueAttributeName::ApproximateNumberOfMessagesNotVisible;
            loop {
                let request = self.bench.clients.sqs.get_queue_attributes();
                let request = request.queue_url(queue.as_deref().unwrap());
                let found = request.attribute_names(name.clone()).send().await.unwrap();
                let hidden = found.attributes.and_then(|found| found.get(&name).cloned());
                if hidden.is_none_or(|hidden| hidden == "0") {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// Polls `work` so often, then drops it. Returns `true` if it ended by itself.
async fn kill_after_polls<T>(work: impl Future<Output = T>, polls: usize) -> bool {
    let (mut work, mut left) = (Box::pin(work), polls);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(true),
        Poll::Pending if left == 0 => Poll::Ready(false),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

#[tokio::test]
async fn an_erased_contact_stands_in_no_record_no_object_and_no_queue() {
    let place = Place::live().await;
    let (theirs, own) = place.parted().await;
    let own = own.concat();
    let missing: Vec<_> = CANARIES.iter().filter(|canary| !own.contains(**canary)).collect();
    assert!(missing.is_empty(), "{missing:?} must be there before");
    assert!(
        !Box::pin(kill_after_polls(place.site.erase(), 40)).await,
        "it takes longer"
    );
    place.wait_until_all_are_visible().await;
    let done = Box::pin(place.site.erase()).await;
    assert!(done.waits_until.is_none(), "{done:?}");
    assert_eq!(place.process_inbound().await, 2);
    let (theirs_after, mut rest) = place.parted().await;
    assert_eq!(theirs, theirs_after);
    let (queued, messages) = place.site.part_lines(place.messages().await);
    let is_copy = |line: &&String| line.contains(NEIGHBOURS_LETTER);
    assert_eq!(
        queued.iter().filter(is_copy).count(),
        1,
        "the copy of the other's dead letter"
    );
    rest.extend(messages);
    for line in &rest {
        assert_eq!(list_found(&CANARIES, line), Vec::<&str>::new(), "{line}");
    }
    assert_eq!(list_found(&OTHERS, &rest.concat()), OTHERS);
    Box::pin(place.site.assert_only_tombstones()).await;
}

#[tokio::test]
async fn a_removed_tenant_stands_in_no_record_no_object_and_no_queue() {
    let place = Place::live().await;
    let (theirs, _) = place.parted().await;
    Box::pin(place.site.remove_tenant()).await;
    assert_eq!(place.process_inbound().await, 2);
    let (theirs_after, mut rest) = place.parted().await;
    assert_eq!(theirs, theirs_after);
    let (queued, messages) = place.site.part_lines(place.messages().await);
    let is_copy = |line: &&String| line.contains(NEIGHBOURS_LETTER);
    assert_eq!(
        queued.iter().filter(is_copy).count(),
        1,
        "the copy of the other's dead letter"
    );
    rest.extend(messages);
    let all = [&CANARIES[..], &OTHERS[..]].concat();
    for line in &rest {
        assert_eq!(list_found(&all, line), Vec::<&str>::new(), "{line}");
    }
}
