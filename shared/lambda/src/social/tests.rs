use super::*;
use crate::batch::run_batch;
use recado_ai::{Model, Simulated};
use recado_domain::config::CredentialRef;
use recado_domain::event::{EventKind, event_id};
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_embedded::{Clock, Embedded, SystemAmbient};
use recado_pipeline::ports::{Inbox, PortResult, Secrets};
use recado_pipeline::{Parts, Settings};
use recado_whatsapp::{ProviderConfig, WhatsApp};
use serde_json::{Value, json};

const QUEUE: &str = "arn:aws:sqs:sa-east-1:123456789012:recado-aws-social";
const TOPIC: &str = "arn:aws:sns:sa-east-1:123456789012:recado-whatsapp";
const AWS: &str = "0123456789abcdef0123456789abcdef";

#[derive(Debug, Clone)]
struct NoSecrets;

impl Secrets for NoSecrets {
    async fn resolve(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(None)
    }

    async fn forget(&self, _: &CredentialRef) {}
}

type TestWorld = Parts<
    Embedded,
    Embedded,
    WhatsApp<NoSecrets, SystemAmbient>,
    Model<NoSecrets, SystemAmbient>,
    SystemAmbient,
>;

fn world() -> TestWorld {
    let store = Embedded::in_memory(Clock::system()).unwrap();
    let http = recado_ai::http_client().unwrap();
    Parts {
        store: store.clone(),
        queues: store,
        providers: WhatsApp::new(http, NoSecrets, SystemAmbient, ProviderConfig::default()),
        llm: Model::Simulated(Simulated::new(SystemAmbient, Duration::ZERO)),
        ambient: SystemAmbient,
        settings: Settings::default(),
    }
}

fn social() -> Social {
    Social::read(|name| match name {
        "RECADO_AWS_SOCIAL_QUEUE_ARN" => Some(QUEUE.to_owned()),
        "RECADO_AWS_SOCIAL_TOPICS" => Some(TOPIC.to_owned()),
        _ => None,
    })
}

fn notification(topic: &str) -> String {
    let entry = json!({"id": "200000000000001", "changes": [{"field": "messages", "value": {
        "metadata": {"phone_number_id": "100000000000001"},
        "messages": [{"from": "5511900000001", "id": "wamid.A", "timestamp": "1772443000", "type": "text",
            "text": {"body": "oi"}}]}}]});
    let event = json!({"context": {"MetaPhoneNumberIds": [{"metaPhoneNumberId": "100000000000001",
        "arn": format!("arn:aws:social-messaging:sa-east-1:123456789012:phone-number-id/{AWS}")}]},
        "whatsAppWebhookEntry": entry.to_string()});
    json!({"Type": "Notification", "TopicArn": topic, "Message": event.to_string()}).to_string()
}

fn batch(queue: &str, bodies: &[&str]) -> SqsEvent {
    let records: Vec<Value> = bodies
        .iter()
        .enumerate()
        .map(|(n, body)| {
            json!({"messageId": format!("m{n}"), "receiptHandle": "r", "body": body, "eventSourceARN": queue,
                "attributes": {"ApproximateReceiveCount": "1"}})
        })
        .collect();
    serde_json::from_value(json!({ "Records": records })).unwrap()
}

async fn is_recorded(world: &TestWorld) -> bool {
    let number = ExternalId::parse(AWS).unwrap();
    let id = event_id(
        Provider::named("aws-social"),
        &number,
        EventKind::Message,
        "wamid.A",
    );
    world.store.event(&id).await.unwrap().is_some()
}

async fn taken(world: &TestWorld, bodies: &[&str]) -> Vec<String> {
    let social = &social();
    let handle = |received: Received| async move { take_social(world, social, &received).await };
    run_batch(batch(QUEUE, bodies), false, social, None, handle)
        .await
        .batch_item_failures
        .into_iter()
        .map(|failure| failure.item_identifier)
        .collect()
}

#[tokio::test]
async fn an_event_is_recorded_and_its_queue_message_acknowledged_each_time_it_comes() {
    let world = world();
    let body = notification(TOPIC);
    for _ in 0..2 {
        assert!(taken(&world, &[&body]).await.is_empty());
        assert!(is_recorded(&world).await);
    }
}

#[tokio::test]
async fn what_cannot_be_read_or_comes_from_elsewhere_comes_back_alone() {
    let world = world();
    let elsewhere = notification("arn:aws:sns:sa-east-1:123456789012:other");
    assert_eq!(taken(&world, &["private", &elsewhere]).await, ["m0", "m1"]);
    assert!(!is_recorded(&world).await);
    let good = notification(TOPIC);
    assert_eq!(taken(&world, &["private", &good, "{}"]).await, ["m0", "m2"]);
    assert!(is_recorded(&world).await);
}

#[test]
fn only_batches_of_its_own_queue_are_taken_for_it() {
    assert!(social().sent(&batch(QUEUE, &["x"])));
    assert!(!social().sent(&batch(
        "arn:aws:sqs:sa-east-1:123456789012:recado-inbound.fifo",
        &["x"]
    )));
    assert!(!social().sent(&batch(QUEUE, &[])));
    let without = Social::read(|_| Some(String::new()));
    assert!(!without.sent(&batch("", &["x"])));
}
