//! Every Evolution payload of a folder named in the environment is understood, or left alone for a reason given here.

use super::{extra_folder, files, item, received_at, whole_body};
use recado_domain::provider::Provider;
use recado_whatsapp::split_webhook;
use serde_json::Value;
use std::collections::BTreeSet;

/// The word for what is left alone, by a part of the file's name, and why that is right.
const LEFT_ALONE: &[(&str, &str, &str)] = &[
    ("chats.upsert", "chats.upsert", "the list of chats on the phone"),
    ("contacts.update", "contacts.update", "names come with messages"),
    ("contacts.upsert", "contacts.upsert", "names come with messages"),
    (
        "group-participants.update",
        "group.participants.update",
        "groups are no conversations",
    ),
    ("groups.upsert", "groups.upsert", "groups are no conversations"),
    ("upsert-group-", "group message", "groups are no conversations"),
    (
        "upsert-reaction-group",
        "group message",
        "groups are no conversations",
    ),
    (
        "instance.create",
        "instance.create",
        "administration of Evolution",
    ),
    (
        "remove.instance",
        "remove.instance",
        "administration of Evolution",
    ),
    (
        "qrcode.updated",
        "qrcode.updated",
        "pairing is done where it is asked for",
    ),
    ("typebot.start", "typebot.start", "another bot's sessions"),
    (
        "update-deleted-on-edit",
        "status of an incoming message",
        "an edit, which comes as messages.edited",
    ),
    (
        "update-no-status",
        "update without a status",
        "an edit, which comes as messages.edited",
    ),
    (
        "bytes-as-objects",
        "message without a chat",
        "the JIDs were masked away at the source",
    ),
];

/// The word for what was left alone, at the webhook or by the processor.
fn left_alone(read: &Value) -> Option<&str> {
    let later = read.get("reads").and_then(|reads| reads.get("ignored"));
    read.get("ignored").or(later)?.as_str()
}

/// What is wrong with how a part of a file was read, if anything.
fn complaint(name: &str, read: &Value, used: &mut BTreeSet<usize>) -> Option<String> {
    let whole = read.to_string();
    if whole.contains(r#""type":"unsupported""#) {
        return Some(format!("{name}: unsupported: {whole}"));
    }
    let words = [
        read.get("ignored"),
        read.get("reads").and_then(|reads| reads.get("ignored")),
    ];
    let word = words.into_iter().flatten().next()?.as_str().unwrap_or_default();
    let known = LEFT_ALONE
        .iter()
        .position(|(part, left, _)| name.contains(part) && *left == word);
    match known {
        Some(at) => {
            used.insert(at);
            None
        }
        None => Some(format!("{name}: ignored without a reason: {word}")),
    }
}

#[test]
#[ignore = "needs a folder of further payloads: make extra"]
fn every_payload_of_evolution_in_the_extra_folder_is_understood_or_left_alone_for_a_reason() {
    let folder = extra_folder();
    let (mut complaints, mut used, mut understood) = (Vec::new(), BTreeSet::new(), 0_usize);
    for file in files(&folder.join("evolution")) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let items = split_webhook(
            Provider::Evolution,
            &whole_body(Provider::Evolution, &file),
            received_at(),
        );
        let items = items.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!items.is_empty(), "{name}: no item");
        for found in &items {
            let read = item(found);
            understood += usize::from(left_alone(&read).is_none());
            complaints.extend(complaint(&name, &read, &mut used));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(understood >= 10, "only {understood} parts were understood");
    let unused: Vec<&str> = LEFT_ALONE
        .iter()
        .enumerate()
        .filter(|(at, _)| !used.contains(at))
        .map(|(_, (part, _, _))| *part)
        .collect();
    assert!(unused.is_empty(), "reasons that nothing needs: {unused:?}");
}
