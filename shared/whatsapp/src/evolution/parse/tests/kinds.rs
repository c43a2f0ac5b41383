//! Every kind of message has a class, and is read as its class says.

use super::*;
use crate::evolution::parse::content::kinds::{KINDS, KindClass};
use recado_domain::content::Content;
use std::collections::BTreeSet;

/// A body of each kind that says something, with what is read of it: `words` that a person said, or a `line` that asks for no answer.
const SAMPLES: &str = include_str!("kinds.json");

fn samples() -> Vec<Value> {
    let read: Value = serde_json::from_str(SAMPLES).unwrap();
    let mut samples = read.as_array().unwrap().clone();
    let inner = json!({"message": {"conversation": "dentro"}});
    for (kind, class) in KINDS {
        samples.push(match class {
            // An edit is told as one; the other wrappers say nothing themselves.
            KindClass::Wrapper if kind == "editedMessage" => {
                json!({"kind": kind, "body": inner, "words": "[edited] dentro"})
            }
            KindClass::Wrapper => json!({"kind": kind, "body": inner, "words": "dentro"}),
            KindClass::Mark => {
                json!({"kind": kind, "body": {"name": "x"}, "ignored": format!("mark {kind}")})
            }
            KindClass::Companion => {
                json!({"kind": kind, "body": {"type": 5, "name": "x"}, "ignored": "message without content"})
            }
            KindClass::Content | KindClass::Notice | KindClass::EncryptedChange => continue,
        });
    }
    samples
}

#[test]
fn each_kind_is_read_as_its_class_says() {
    for sample in samples() {
        let kind = sample["kind"].as_str().unwrap();
        let body = upsert(&json!({"messageContextInfo": {}, kind: sample["body"]}));
        if let Some(what) = sample["ignored"].as_str() {
            assert_eq!(ignored(&body), what, "{kind}");
            continue;
        }
        let content = match read(&event(&body)) {
            InboundEvent::Message(message) | InboundEvent::Change(message) => message.content,
            other => panic!("{kind}: {other:?}"),
        };
        if let Some(target) = sample["encrypted_edit"].as_str() {
            assert!(content.is_unreadable() && !content.expects_answer(), "{kind}");
            assert_eq!(content.target_id(), Some(target), "{kind}");
            continue;
        }
        let text = sample["words"].as_str().or(sample["line"].as_str());
        assert_eq!(Some(content.render_text().as_str()), text, "{kind}");
        assert_eq!(content.expects_answer(), sample["words"].is_string(), "{kind}");
    }
}

#[test]
fn each_kind_has_one_class_and_a_sample() {
    let known: BTreeSet<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(known.len(), KINDS.len(), "a kind stands in the table twice");
    let samples = samples();
    let tried: BTreeSet<&str> = samples
        .iter()
        .map(|sample| sample["kind"].as_str().unwrap())
        .collect();
    let untried: Vec<_> = known.symmetric_difference(&tried).collect();
    assert!(untried.is_empty(), "{untried:?}");
}

#[test]
fn a_mark_beside_a_picture_does_not_hide_it() {
    let body =
        upsert(&json!({"albumMessage": {"expectedImageCount": 2}, "imageMessage": {"caption": "sala"}}));
    assert_eq!(said(&body).content.render_text(), "[image] sala");
}

#[test]
fn encrypted_changes_of_all_types_are_never_new_messages() {
    let target = json!({"id": "T1", "fromMe": true, "remoteJid": "5511900000099@s.whatsapp.net"});
    let change = |kind: &str, encrypted: Value| {
        let mut body = json!({"targetMessageKey": target, "encPayload": "AAAA", "encIv": "BBBB"});
        if !encrypted.is_null() {
            body["secretEncType"] = encrypted;
        }
        upsert(&json!({kind: body}))
    };
    for (kind, of) in [
        ("secretEncryptedMessage", json!(null)),
        ("secretEncryptedMessage", json!(1)),
        ("secretEncryptedMessage", json!("MESSAGE_EDIT")),
        ("secretEncryptedMessage", json!("POLL_EDIT")),
        ("nextYearsEncryptedMessage", json!(null)),
    ] {
        let body = change(kind, of);
        let event = event(&body);
        let InboundEvent::Change(read) = read(&event) else {
            panic!("{body}")
        };
        assert!(
            matches!(&read.content, Content::Edit { target: Some(id), .. } if id == "T1"),
            "{body}"
        );
        assert_eq!(read.address.as_str(), "5511900000001@s.whatsapp.net");
        // It waits for its message in a group of its own.
        assert_ne!(
            event.address,
            super::event(&upsert(&json!({"conversation": "oi"}))).address
        );
    }
    let added = said(&change("secretEncryptedMessage", json!("POLL_ADD_OPTION")));
    assert_eq!(
        added.content.render_text(),
        "[system] an option was added to a poll"
    );
    assert_eq!(
        ignored(&change("secretEncryptedMessage", json!(3))),
        "mark secretEncryptedMessage"
    );
}

/// A message without content, with this beside it.
fn empty(message: &Value, beside: &Value) -> Value {
    let mut body = upsert(message);
    for (name, value) in beside.as_object().unwrap() {
        body["data"][name] = value.clone();
    }
    body
}

#[test]
fn a_click_on_an_advertisement_without_words_opens_the_chat() {
    let ad = json!({"contextInfo": {"entryPointConversionSource": "ctwa_ad",
        "externalAdReply": {"title": "Clareamento", "sourceType": "ad", "sourceId": "120000000000009"}}});
    for message in [
        json!({"messageContextInfo": {}}),
        json!({}),
        json!(null),
        json!({"call": {"conversionSource": "ctwa_ad"}}),
    ] {
        let body = empty(&message, &ad);
        let read = said(&body);
        assert_eq!(read.content, Content::Welcome, "{message}");
        assert_eq!(read.context.render_text(), "[came from the ad Clareamento]");
        // What the contact writes may still come under the same id.
        assert_ne!(event(&body).id, event(&upsert(&json!({"conversation": "oi"}))).id);
    }
    let mut own = empty(&json!({}), &ad);
    own["data"]["key"]["fromMe"] = json!(true);
    assert_eq!(ignored(&own), "message without content");
    let album = json!({"albumMessage": {"expectedImageCount": 2}});
    assert_eq!(ignored(&empty(&album, &ad)), "mark albumMessage");
    let preview = json!({"contextInfo": {"externalAdReply": {"title": "Site"}}});
    assert_eq!(ignored(&empty(&json!({}), &preview)), "message without content");
}

#[test]
fn what_could_not_be_decrypted_is_a_line_until_the_message_itself_comes() {
    for kind in [json!(2), json!("2"), json!("CIPHERTEXT")] {
        let body = empty(
            &json!(null),
            &json!({"messageStubType": kind, "messageStubParameters": ["Bad MAC"]}),
        );
        let read = said(&body);
        assert!(read.content.is_unreadable() && !read.content.expects_answer());
        assert_eq!(
            read.content.render_text(),
            "[could not be read here; the phone shows it]"
        );
        let message = event(&upsert(&json!({"conversation": "oi"})));
        assert_ne!(event(&body).id, message.id);
        assert_eq!(event(&body).address, message.address, "both keep their order");
        assert_eq!(event(&body).id, event(&body).id);
    }
    let ad = json!({"messageStubType": 2, "contextInfo": {
        "externalAdReply": {"title": "Clareamento", "sourceType": "ad", "sourceId": "120000000000009"}}});
    let lead = said(&empty(&json!(null), &ad));
    assert!(lead.content.is_unreadable() && lead.content.expects_answer());
    assert_eq!(lead.context.render_text(), "[came from the ad Clareamento]");
    let other = empty(&json!(null), &json!({"messageStubType": 27}));
    assert_eq!(ignored(&other), "message without content");
    let read = said(&empty(
        &json!({"conversation": "oi"}),
        &json!({"messageStubType": 2}),
    ));
    assert_eq!(read.content, Content::from_text("oi"));
}
