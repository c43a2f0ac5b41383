//! Real payloads of 360dialog and AWS, if there is a folder of them: every one is read, and nothing in them is lost but what
//! is listed here with a reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::event::{EventKind, EventPayload, InboundJob};
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use recado_whatsapp::aws_social::{self, AllowedTopics};
use recado_whatsapp::{WebhookParseError, dialog360, interpret_event};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What is left alone or not supported, by file, and why that is right.
const LISTED: [(&str, &str, &str); 11] = [
    (
        "cloud-errors",
        "error 0",
        "an error of the account, logged by its code",
    ),
    (
        "onprem-chatwoot-status-deleted",
        "status deleted",
        "no delivery status of ours",
    ),
    (
        "onprem-status-deleted",
        "status deleted",
        "no delivery status of ours",
    ),
    (
        "onprem-chatwoot-unsupported",
        "unsupported",
        "WhatsApp itself does not show it",
    ),
    (
        "onprem-unsupported",
        "unsupported",
        "WhatsApp itself does not show it",
    ),
    ("onprem-group-text", "group message", "groups are not answered"),
    (
        "onprem-order-empty",
        "unsupported",
        "says that it is an order, and holds none",
    ),
    (
        "onprem-text-no-sender",
        "message without a sender",
        "nobody to answer",
    ),
    (
        "onprem-two-messages-same-id",
        "repeated in the body",
        "the same message twice",
    ),
    (
        "sample-event-header-entry-not-json",
        "the body is not JSON",
        "its entry is a placeholder",
    ),
    (
        "sample-eventbridge-message-delivered",
        "event of EventBridge",
        "SNS tells the same, with its content",
    ),
];

fn received_at() -> Timestamp {
    Timestamp::from_second(1_772_443_000).unwrap()
}

/// Where a payload's items could be lost.
fn lost(provider: Provider, items: Result<Vec<WebhookItem>, WebhookParseError>) -> Vec<String> {
    let items = match items {
        Ok(items) => items,
        Err(error) => return vec![error.to_string()],
    };
    assert!(!items.is_empty());
    items.iter().filter_map(|item| lost_of(provider, item)).collect()
}

fn lost_of(provider: Provider, item: &WebhookItem) -> Option<String> {
    if let WebhookItem::Ignored { what } = item {
        return Some(what.clone());
    }
    let WebhookItem::Event(event) = item else {
        return None;
    };
    assert_eq!(event.provider, provider);
    let read = interpret_event(&job(event), &event.payload);
    if let InboundEvent::Failed(failed) = &read {
        assert_eq!(event.kind, EventKind::Failed);
        assert_ne!(failed.error, "no code", "a failure says why");
    }
    if let InboundEvent::Ignored { what } = read {
        return Some(what);
    }
    let InboundEvent::Message(message) = read else {
        return None;
    };
    matches!(message.content, Content::Unsupported { .. }).then(|| "unsupported".to_owned())
}

fn job(event: &WebhookEvent) -> InboundJob {
    InboundJob {
        event: event.id.clone(),
        provider: event.provider,
        external: event.external.clone(),
        kind: event.kind,
        group: String::new(),
        correlation: CorrelationId::parse("test").unwrap(),
        parent: None,
        received_at: received_at(),
        payload: EventPayload::Inline(event.payload.clone()),
        lookalike: false,
        has_file: false,
        redrive: None,
    }
}

fn of_360dialog(file: &[u8]) -> Vec<Result<Vec<WebhookItem>, WebhookParseError>> {
    let number = ExternalId::parse("100000000000001").unwrap();
    vec![dialog360::split_webhook(file, Some(&number), received_at())]
}

fn of_aws(file: &[u8]) -> Vec<Result<Vec<WebhookItem>, WebhookParseError>> {
    let read = |body: &[u8]| aws_social::split_queue_message(body, &AllowedTopics::default(), received_at());
    let event: Value = serde_json::from_slice(file).unwrap();
    let records = event.get("Records").and_then(Value::as_array);
    records.map_or_else(
        || vec![read(file)],
        |records| {
            records
                .iter()
                .map(|record| read(record["body"].as_str().unwrap().as_bytes()))
                .collect()
        },
    )
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

/// Reads every file of a provider's folder; returns the listed ones that were met.
fn check(
    folder: &Path,
    provider: Provider,
    read: impl Fn(&[u8]) -> Vec<Result<Vec<WebhookItem>, WebhookParseError>>,
) -> BTreeSet<&'static str> {
    let mut met = BTreeSet::new();
    let files = files(&folder.join(provider.as_str()));
    println!("{provider}: {} payloads", files.len());
    assert!(!files.is_empty(), "no payload of {provider}");
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let body = fs::read(&file).unwrap();
        for what in read(&body).into_iter().flat_map(|items| lost(provider, items)) {
            let listed = LISTED
                .iter()
                .find(|(file, known, _)| *file == name && *known == what);
            let (file, ..) = listed.unwrap_or_else(|| panic!("{name}: {what} is not listed with a reason"));
            met.insert(*file);
        }
    }
    met
}

#[test]
#[ignore = "needs a folder of further payloads: make extra"]
fn nothing_of_the_extra_folder_is_lost_but_what_is_listed_with_a_reason() {
    let folder = PathBuf::from(std::env::var_os("RECADO_EXTRA_FIXTURES").unwrap());
    let mut met = check(&folder, Provider::Dialog360, of_360dialog);
    met.append(&mut check(&folder, Provider::AwsSocial, of_aws));
    for (file, what, _) in LISTED {
        let there = [Provider::Dialog360, Provider::AwsSocial].iter().any(|provider| {
            folder
                .join(provider.as_str())
                .join(format!("{file}.json"))
                .exists()
        });
        assert!(met.contains(file) || !there, "{file} is not {what} any more");
    }
}
