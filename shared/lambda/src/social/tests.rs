use super::*;
use crate::batch::run_batch;
use recado_ai::{Model, ModelSettings};
use recado_domain::config::CredentialRef;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_embedded::{Clock, Embedded, EmbeddedSystem};
use recado_features::FEATURES;
use recado_pipeline::ports::{Inbox, PageRequest, PortResult, Secrets};
use recado_pipeline::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use recado_pipeline::{Components, Settings};
use recado_whatsapp::{ProviderConfig, WhatsApp};
use serde_json::{Value, json};

const QUEUE: &str = "arn:aws:sqs:sa-east-1:123456789012:recado-aws-social";
const TOPIC: &str = "arn:aws:sns:sa-east-1:123456789012:recado-whatsapp";
const AWS: &str = "0123456789abcdef0123456789abcdef";

#[derive(Debug, Clone)]
struct NoSecrets;

impl Secrets for NoSecrets {
    async fn resolve_secret(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(None)
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}

type TestWorld = Components<
    Embedded,
    Embedded,
    WhatsApp<NoSecrets, EmbeddedSystem>,
    Model<NoSecrets, EmbeddedSystem>,
    EmbeddedSystem,
>;

fn deps() -> TestWorld {
    let store = Embedded::in_memory(Clock::from_system()).unwrap();
    let http = recado_http_client::build_http_client().unwrap();
    let model = ModelSettings::from_environment(&mut VariableReader::default());
    let llm = Model::new(http.clone(), &model, NoSecrets, EmbeddedSystem).unwrap();
    Components::new(
        store.clone(),
        store,
        WhatsApp::new(http, NoSecrets, EmbeddedSystem, ProviderConfig::default()),
        llm,
        EmbeddedSystem,
        &FEATURES,
        Settings::default(),
    )
}

fn social() -> SocialQueue {
    let set = [
        ("RECADO_AWS_SOCIAL_QUEUE_ARN", QUEUE),
        ("RECADO_AWS_SOCIAL_TOPICS", TOPIC),
    ];
    SocialQueue::from_environment(&mut VariableReader::new(set))
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

async fn is_recorded(deps: &TestWorld) -> bool {
    let number = ExternalId::parse(AWS).unwrap();
    let id = derive_event_id(Provider::AwsSocial, &number, EventKind::Message, "wamid.A");
    deps.store.find_event(&id).await.unwrap().is_some()
}

/// Each comes back at its own time.
struct AtItsTime;

impl MessageVisibility for AtItsTime {
    type Error = std::convert::Infallible;

    async fn change_visibility(&self, _: &str, _: u32) -> Result<(), Self::Error> {
        Ok(())
    }
}

async fn taken(deps: &TestWorld, bodies: &[&str]) -> Vec<String> {
    let social = &social();
    let handle = |received: BatchMessage| async move { ingest_social_message(deps, social, &received).await };
    run_batch(batch(QUEUE, bodies), false, &AtItsTime, None, handle)
        .await
        .batch_item_failures
        .into_iter()
        .map(|failure| failure.item_identifier)
        .collect()
}

#[tokio::test]
async fn an_event_is_recorded_and_its_queue_message_acknowledged_each_time_it_comes() {
    let deps = deps();
    let body = notification(TOPIC);
    for _ in 0..2 {
        assert!(taken(&deps, &[&body]).await.is_empty());
        assert!(is_recorded(&deps).await);
    }
}

async fn dead_letters(deps: &TestWorld) -> Vec<DeadLetter> {
    let page = PageRequest::first(10);
    let found = list_dead_letters(&deps.store, &DeadLetterFilter::default(), &page).await;
    found.unwrap().items
}

#[tokio::test]
async fn what_comes_from_elsewhere_comes_back_alone() {
    let deps = deps();
    let elsewhere = notification("arn:aws:sns:sa-east-1:123456789012:other");
    let good = notification(TOPIC);
    assert_eq!(taken(&deps, &[&elsewhere]).await, ["m0"]);
    assert!(!is_recorded(&deps).await);
    assert_eq!(taken(&deps, &[&elsewhere, &good, &elsewhere]).await, ["m0", "m2"]);
    assert!(is_recorded(&deps).await);
    assert!(dead_letters(&deps).await.is_empty());
}

#[tokio::test]
async fn what_cannot_be_read_is_a_dead_letter_at_once() {
    let deps = deps();
    let good = notification(TOPIC);
    let empty = json!({"Type": "Notification", "TopicArn": TOPIC, "Message": "{}"}).to_string();
    for _ in 0..2 {
        assert!(taken(&deps, &["private", &good, &empty]).await.is_empty());
        let dead_letters = dead_letters(&deps).await;
        assert_eq!(dead_letters.len(), 2, "each once");
        for dead_letter in dead_letters {
            assert!(matches!(dead_letter.what, DeadLetterContent::Unreadable { .. }));
            assert!(!dead_letter.last_error.unwrap().contains("private"));
        }
    }
    assert!(is_recorded(&deps).await);
}

#[tokio::test]
async fn what_was_not_taken_is_tried_for_a_week_before_its_queue_gives_it_up() {
    let template = include_str!("../../../../template.yaml");
    let (_, queue) = template.split_once("\n  SocialQueue:\n").unwrap();
    let (_, receives) = queue.split_once("maxReceiveCount: ").unwrap();
    let receives: u32 = receives.lines().next().unwrap().parse().unwrap();
    let wait = |receives| match retry_verdict(receives) {
        Verdict::Retry { after } => after,
        Verdict::Done => SignedDuration::ZERO,
    };
    assert_eq!(
        [1, 2, 3, 6, 1_000].map(|n| wait(n).as_secs()),
        [30, 60, 120, 900, 900]
    );
    let in_all: SignedDuration = (1..receives).map(wait).sum();
    assert!(in_all > SignedDuration::from_hours(7 * 24), "{in_all:?}");
}

#[test]
fn only_batches_of_its_own_queue_are_taken_for_it() {
    assert!(social().is_source_of(&batch(QUEUE, &["x"])));
    assert!(!social().is_source_of(&batch(
        "arn:aws:sqs:sa-east-1:123456789012:recado-inbound.fifo",
        &["x"]
    )));
    assert!(!social().is_source_of(&batch(QUEUE, &[])));
    let without =
        SocialQueue::from_environment(&mut VariableReader::new([("RECADO_AWS_SOCIAL_QUEUE_ARN", "")]));
    assert!(!without.is_source_of(&batch("", &["x"])));
}
