//! Meta's payloads of the folder that `RECADO_EXTRA_FIXTURES` names: all are read, and what is left alone or kept as
//! unsupported is listed here with its reason.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use recado_whatsapp::{interpret_event, split_webhook};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const GROUP: &str = "groups are not served";
const CALLS: &str = "calls are not served";
const CUT: &str = "whoever wrote it down left out which number it is about";
const ERROR: &str = "an error of the number itself, logged by its code";
const MASKED: &str = "two messages whose ids were masked alike";
const NOT_TOLD: &str = "Meta itself does not say what it was";
const WORD: &str = "not a word that says how far a message has come";

/// What a file's name begins with, what becomes of something in it, and why that is right.
const EXPECTED: [(&str, &str, &str); 37] = [
    (
        "automatic_events",
        "automatic_events",
        "what advertisements led to, for who advertises",
    ),
    ("calls-", "calls", CALLS),
    ("sample-calls-", "calls", CALLS),
    ("group_lifecycle_update", "group_lifecycle_update", GROUP),
    ("sample-group_lifecycle_update", "group_lifecycle_update", GROUP),
    ("group_participants_update", "group_participants_update", GROUP),
    (
        "sample-group_participants_update",
        "group_participants_update",
        GROUP,
    ),
    ("group_settings_update", "group_settings_update", GROUP),
    ("sample-group_settings_update", "group_settings_update", GROUP),
    ("group_status_update", "group_status_update", GROUP),
    ("sample-group_status_update", "group_status_update", GROUP),
    (
        "messages-document-accented-filename",
        "messages without a phone_number_id",
        CUT,
    ),
    (
        "messages-image-with-errors-no-id",
        "messages without a phone_number_id",
        CUT,
    ),
    (
        "messages-text-bsuid-username-parent-chatwoot",
        "messages without a phone_number_id",
        CUT,
    ),
    (
        "messages-text-referral-welcome_message-bsuid",
        "messages without a phone_number_id",
        CUT,
    ),
    (
        "smb_message_echoes-text-bsuid-chatwoot",
        "smb_message_echoes without a phone_number_id",
        CUT,
    ),
    (
        "messages-entry-is-object-not-array",
        "body without changes",
        "it holds nothing",
    ),
    ("messages-errors-value-level", "error 0", ERROR),
    ("sample-messages-errors-no-messages", "error 130429", ERROR),
    ("messages-status-deleted", "status deleted", WORD),
    ("messages-status-unknown-value", "status in_orbit", WORD),
    (
        "sample-messages-status-bsuid-syntax",
        "status unknown",
        "a placeholder stands for the status",
    ),
    (
        "messages-text-duplicate-in-one-body",
        "repeated in the body",
        "it is the same message",
    ),
    (
        "messages-text-two-changes-in-one-body",
        "repeated in the body",
        MASKED,
    ),
    (
        "messages-text-no-from",
        "message without a sender",
        "nobody is named, nobody can be answered",
    ),
    ("messages-text-group", "group message", GROUP),
    ("sample-messages-text-bsuid-syntax", "group message", GROUP),
    ("sample-messages-text-group", "group message", GROUP),
    ("sample-messages-unsupported-group", "group message", GROUP),
    ("sample-messages-status-group", "group status", GROUP),
    ("messages-unknown-131051", "unsupported: unknown", NOT_TOLD),
    (
        "messages-unsupported-131051",
        "unsupported: unsupported",
        NOT_TOLD,
    ),
    (
        "messages-unsupported-user-deleted",
        "unsupported: unsupported",
        NOT_TOLD,
    ),
    (
        "sample-messages-unsupported-with-type",
        "unsupported: unsupported edit",
        NOT_TOLD,
    ),
    (
        "sample-history-declined",
        "history declined 2593109",
        "the business does not share its history",
    ),
    (
        "sample-smb_app_state_sync",
        "smb_app_state_sync",
        "the address book of the phone is not kept",
    ),
    (
        "unknown-field-body",
        "unknown_field_xyz",
        "a field that does not exist",
    ),
];

fn received_at() -> Timestamp {
    Timestamp::from_second(1_772_443_000).unwrap()
}

fn read(event: &WebhookEvent) -> InboundEvent {
    let job = InboundJob {
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
    };
    interpret_event(&job, &event.payload)
}

/// What of an item is not understood, in words.
fn not_understood(item: &WebhookItem) -> Option<String> {
    let unsupported = |content: &Content| match content {
        Content::Unsupported { kind, .. } => Some(format!("unsupported: {kind}")),
        _ => None,
    };
    match item {
        WebhookItem::Ignored { what } => Some(what.clone()),
        WebhookItem::Status(_)
        | WebhookItem::ChargedStatus { .. }
        | WebhookItem::Notice { .. }
        | WebhookItem::Typing(_) => None,
        WebhookItem::Event(event) => match read(event) {
            InboundEvent::Ignored { what } => Some(format!("event: {what}")),
            InboundEvent::Message(message) | InboundEvent::Change(message) => match &message.content {
                Content::Edit { content, .. } => unsupported(content),
                content => unsupported(content),
            },
            InboundEvent::Failed(_) | InboundEvent::ConnectionChanged => None,
        },
    }
}

/// The body. Placeholders in angle brackets and numbers masked with asterisks, which Meta does not send, become something
/// that could be a name or a number; a page that shows only a value gets its envelope.
fn body_of(file: &Path) -> Vec<u8> {
    let text = fs::read_to_string(file)
        .unwrap()
        .replace('*', "0")
        .replace(['<', '>'], "");
    let mut body: Value = serde_json::from_str(&text).unwrap();
    if body.get("history").is_some() {
        body = json!({"entry": [{"id": "1", "changes": [{"field": "history", "value": body}]}]});
    }
    body.to_string().into_bytes()
}

#[test]
#[ignore = "needs a folder of further payloads: make extra"]
fn every_payload_of_meta_in_the_extra_folder_is_read_or_listed_with_a_reason() {
    let folder = PathBuf::from(std::env::var_os("RECADO_EXTRA_FIXTURES").unwrap());
    let files: BTreeSet<PathBuf> = fs::read_dir(folder.join("meta"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    let (mut unexpected, mut met) = (Vec::new(), BTreeSet::new());
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let items = split_webhook(Provider::Meta, &body_of(file), received_at());
        let items = items.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!items.is_empty(), "{name}: no item");
        for what in items.iter().filter_map(not_understood) {
            let listed = EXPECTED
                .iter()
                .position(|(file, expected, _)| name.starts_with(file) && *expected == what);
            match listed {
                Some(at) => _ = met.insert(at),
                None => unexpected.push(format!("{name}: {what}")),
            }
        }
    }
    println!("meta: {} payloads", files.len());
    assert!(!files.is_empty(), "no payload of meta");
    assert!(
        unexpected.is_empty(),
        "not read, and not listed:\n{}",
        unexpected.join("\n")
    );
    for (at, (file, what, why)) in EXPECTED.iter().enumerate() {
        assert!(
            files.is_empty() || met.contains(&at),
            "{file} is no longer left alone as {what}: {why}"
        );
    }
}
