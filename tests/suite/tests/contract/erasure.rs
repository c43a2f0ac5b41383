//! Erasures on the services of AWS: the table, the queues and the bucket are searched for what belonged to the contact.

use crate::dynamodb::make_table;
use crate::queues::Bench;
use recado_aws::{AwsQueues, DynamoStore};
use recado_pipeline::Verdict;
use recado_testkit::builders::fresh;
use recado_testkit::erasure_story::{CANARIES, ErasureClock, ErasureSite, OTHERS, list_found};
use std::time::Duration;

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
            records.extend(page.items().iter().map(|item| format!("{item:?}")));
            start = page.last_evaluated_key;
            if start.is_none() {
                return records;
            }
        }
    }

    /// The keys and contents of the bucket's objects.
    async fn objects(&self) -> Vec<String> {
        let (s3, bucket) = (
            &self.bench.clients.s3,
            self.bench.config.bucket.as_deref().unwrap(),
        );
        let listed = s3.list_objects_v2().bucket(bucket).send().await.unwrap();
        let mut objects = Vec::new();
        for key in listed.contents().iter().filter_map(|object| object.key()) {
            let object = s3.get_object().bucket(bucket).key(key).send().await.unwrap();
            let metadata = format!("{:?}", object.metadata());
            let bytes = object.body.collect().await.unwrap().into_bytes();
            objects.push(format!("{key} {metadata} {}", String::from_utf8_lossy(&bytes)));
        }
        objects
    }

    /// What waits in the queues other than `inbound`, removed.
    async fn messages(&self) -> Vec<String> {
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
                let verdict = self.site.process(message.body.as_deref().unwrap()).await;
                assert_eq!(verdict, Verdict::Done);
                processed += 1;
            }
        }
    }

    /// Everything that is stored, as lines.
    async fn stored(&self) -> Vec<String> {
        [self.records().await, self.objects().await, self.messages().await].concat()
    }
}

#[tokio::test]
async fn an_erased_contact_stands_in_no_record_no_object_and_no_queue() {
    let place = Place::live().await;
    let before = [place.records().await, place.objects().await].concat().concat();
    let found = list_found(&CANARIES, &before);
    let missing: Vec<_> = CANARIES.iter().filter(|canary| !found.contains(canary)).collect();
    assert_eq!(missing, [&"551187650001"], "is sent to as its number with the 9");
    let done = Box::pin(place.site.erase()).await;
    assert!(done.waits_until.is_none() && done.messages >= 4, "{done:?}");
    assert!(
        done.events >= 2 && done.dead_letters >= 2 && done.scheduled == 1,
        "{done:?}"
    );
    assert_eq!(place.process_inbound().await, 2);
    let stored = place.stored().await;
    for line in &stored {
        assert_eq!(list_found(&CANARIES, line), Vec::<&str>::new(), "{line}");
    }
    assert_eq!(list_found(&OTHERS, &stored.concat()), OTHERS);
    Box::pin(place.site.assert_only_tombstones()).await;
}

#[tokio::test]
async fn a_removed_tenant_stands_in_no_record_no_object_and_no_queue() {
    let place = Place::live().await;
    Box::pin(place.site.remove_tenant()).await;
    assert_eq!(place.process_inbound().await, 2);
    let all = [&CANARIES[..], &OTHERS[..], &[place.site.tenant()]].concat();
    for line in place.stored().await {
        let is_audit = line.contains("L#");
        assert!(is_audit || list_found(&all, &line).is_empty(), "{line}");
    }
}
