//! Payloads of every kind and oddity: the repository's own against reviewed snapshots, and a folder of others, if there is
//! one, for errors.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

#[path = "extra/evolution.rs"]
mod extra_evolution;

use jiff::Timestamp;
use recado_domain::delivery::StatusUpdate;
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use recado_whatsapp::{dialog360, interpret_event, split_webhook};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn received_at() -> Timestamp {
    Timestamp::from_second(1_772_443_000).unwrap()
}

fn job(event: &WebhookEvent) -> InboundJob {
    InboundJob {
        event: event.id.clone(),
        provider: event.provider,
        external: event.external.clone(),
        kind: event.kind,
        group: "group".to_owned(),
        correlation: CorrelationId::parse("test").unwrap(),
        parent: None,
        received_at: received_at(),
        payload: EventPayload::Inline(event.payload.clone()),
        lookalike: false,
        has_file: false,
        redrive: None,
    }
}

fn status(update: &StatusUpdate) -> Value {
    let mut seen = json!({"status": update.status, "at": update.at, "key": update.key, "provider_message_id": update.provider_message_id});
    if let Some(detail) = &update.detail {
        seen["detail"] = json!(detail);
    }
    seen
}

fn item(item: &WebhookItem) -> Value {
    match item {
        WebhookItem::Ignored { what } => json!({ "ignored": what }),
        WebhookItem::Status(update) => json!({ "status": status(update) }),
        WebhookItem::ChargedStatus { update, external, .. } => {
            json!({ "status": status(update), "charged_to": external })
        }
        WebhookItem::Notice { notice, .. } => json!({ "notice": notice }),
        WebhookItem::Typing(update) => {
            json!({ "typing": update.state, "external": update.external, "address": update.address })
        }
        WebhookItem::Event(event) => json!({
            "event": event.id.as_str()[..12],
            "external": event.external,
            "kind": event.kind,
            "address": event.address,
            "group": event.derive_group(&IdentityKey::from_bytes([7; 32]))[..12],
            "reads": inbound(&interpret_event(&job(event), &event.payload)),
        }),
    }
}

fn inbound(read: &InboundEvent) -> Value {
    match read {
        InboundEvent::Ignored { what } => json!({ "ignored": what }),
        InboundEvent::ConnectionChanged => json!("connection changed"),
        InboundEvent::Failed(failed) => json!({ "failed": status(&failed.update), "error": failed.error }),
        InboundEvent::Message(message) => said(message),
        InboundEvent::Change(message) => json!({ "change": said(message) }),
    }
}

fn said(message: &InboundMessage) -> Value {
    let mut said = json!({
        "address": message.address,
        "phone": message.phone,
        "name": message.name,
        "id": message.provider_message_id,
        "from_me": message.from_me,
        "sent_at": message.sent_at,
        "content": message.content,
        "as_text": message.content.render_text(),
    });
    if let Some(also) = &message.numberless_identity {
        said["also"] = json!(also);
    }
    if !message.context.is_empty() {
        said["context"] = json!(message.context);
    }
    said
}

/// The folder of further payloads, with a folder for each provider.
fn extra_folder() -> PathBuf {
    PathBuf::from(std::env::var_os("RECADO_EXTRA_FIXTURES").unwrap())
}

/// The JSON files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

/// What a fixture holds: of AWS, an event of a queue with whole records; of 360dialog, also bodies of on-premise numbers,
/// which the URL names.
fn items_of(provider: Provider, file: &[u8]) -> Vec<WebhookItem> {
    match provider {
        Provider::Dialog360 => {
            let number = ExternalId::parse("100000000000001").unwrap();
            dialog360::split_webhook(file, Some(&number), received_at()).unwrap()
        }
        Provider::AwsSocial => {
            let event: Value = serde_json::from_slice(file).unwrap();
            let records = event["Records"].as_array();
            let bodies: Vec<&str> = records
                .into_iter()
                .flatten()
                .map(|record| record["body"].as_str().unwrap())
                .collect();
            let whole = [std::str::from_utf8(file).unwrap()];
            let bodies = if bodies.is_empty() { &whole[..] } else { &bodies };
            let read = |body: &&str| split_webhook(provider, body.as_bytes(), received_at()).unwrap();
            bodies.iter().flat_map(read).collect()
        }
        _ => split_webhook(provider, file, received_at()).unwrap(),
    }
}

/// Compares each fixture of a provider with its snapshot. `least`: so many files there are at least.
fn snapshots_of(provider: Provider, least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(provider.as_str());
    let files = files(&folder);
    assert!(files.len() >= least, "the fixtures are gone");
    let name = |file: &Path| file.file_stem().unwrap().to_string_lossy().into_owned();
    let mut settings = insta::Settings::clone_current();
    let snapshots = Path::new("snapshots").join(provider.as_str());
    settings.set_snapshot_path(&snapshots);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for file in &files {
        let items = items_of(provider, &fs::read(file).unwrap());
        let items = sorted(items.iter().map(item).collect());
        settings.bind(|| insta::assert_json_snapshot!(name(file), items));
    }
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(snapshots);
    let left_over = fs::read_dir(snapshots).unwrap().count() - files.len();
    assert_eq!(left_over, 0, "snapshots without a fixture");
}

/// The value with its keys in alphabetical order, in which the snapshots are easiest to compare.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> = fields
                .into_iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        plain => plain,
    }
}

#[test]
fn evolutions_fixtures_are_read_as_reviewed() {
    snapshots_of(Provider::Evolution, 40);
}

#[test]
fn metas_fixtures_are_read_as_reviewed() {
    snapshots_of(Provider::Meta, 40);
}

#[test]
fn fixtures_of_360dialog_are_read_as_reviewed() {
    snapshots_of(Provider::Dialog360, 30);
}

#[test]
fn fixtures_of_aws_are_read_as_reviewed() {
    snapshots_of(Provider::AwsSocial, 8);
}

/// A file that shows only a part of `data` gets an envelope, one whose envelope was cut an instance. Numbers masked with
/// asterisks and placeholders in angle brackets, which no provider sends, become something that could be a number or a
/// name.
fn whole_body(provider: Provider, file: &Path) -> Vec<u8> {
    let text = fs::read_to_string(file)
        .unwrap()
        .replace('*', "0")
        .replace(['<', '>'], "");
    let mut body: Value = serde_json::from_str(&text).unwrap();
    if file.file_name().unwrap().to_string_lossy().contains("fragment") {
        body["key"] = json!({"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "AB12"});
        body = json!({"event": "messages.upsert", "data": body});
    }
    if provider == Provider::Evolution && body.get("instance").is_none() {
        body["instance"] = json!("suporte-01");
    }
    body.to_string().into_bytes()
}

#[test]
#[ignore = "needs a folder of further payloads: make extra"]
fn every_payload_of_the_extra_folder_is_read_without_an_error() {
    let folder = extra_folder();
    for provider in [Provider::Evolution, Provider::Meta] {
        let files = files(&folder.join(provider.as_str()));
        println!("{provider}: {} payloads", files.len());
        assert!(!files.is_empty(), "no payload of {provider}");
        for file in files {
            let items = split_webhook(provider, &whole_body(provider, &file), received_at());
            let items = items.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            assert!(!items.is_empty(), "{}: no item", file.display());
            for found in &items {
                let read = item(found);
                let what = read
                    .get("ignored")
                    .map_or_else(|| "understood".to_owned(), ToString::to_string);
                println!("{}: {what}", file.display());
            }
        }
    }
}
