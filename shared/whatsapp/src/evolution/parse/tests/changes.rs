use super::*;
use recado_domain::content::Content;

const CONTACT: &str = "5511900000001@s.whatsapp.net";
const OWN: &str = "5511900000099@s.whatsapp.net";

fn body(event: &str, data: Value) -> Value {
    let mut body = json!({"event": event, "instance": "suporte-01", "date_time": "t1", "sender": OWN});
    body["data"] = data;
    body
}

fn key(remote: &str, from_me: bool) -> Value {
    json!({"remoteJid": remote, "fromMe": from_me, "id": "AB12"})
}

fn edit(text: &str) -> Value {
    json!({"key": key(OWN, true), "type": "MESSAGE_EDIT", "editedMessage": {"conversation": text}, "timestampMs": "1760000100000"})
}

fn change(body: &Value) -> InboundMessage {
    match read(&event(body)) {
        InboundEvent::Change(message) => *message,
        other => panic!("no change: {other:?}"),
    }
}

#[test]
fn an_edit_is_a_change_of_the_message_that_it_names() {
    let read = change(&body("messages.edited", edit("às 15h")));
    assert_eq!(
        serde_json::to_value(&read.content).unwrap(),
        json!({"type": "edit", "target": "AB12", "content": {"type": "text", "text": "às 15h"}})
    );
    assert_eq!(read.sent_at, Some(from_unix_millis(1_760_000_100_000)));
    assert_eq!(read.provider_message_id, None);
}

#[test]
fn edits_are_read_in_every_form_that_they_have() {
    for (edited, words) in [
        (json!({"conversation": "x"}), "x"),
        (json!({"extendedTextMessage": {"text": "x"}}), "x"),
        (json!({"imageMessage": {"caption": "x"}}), "[image] x"),
        (json!({"editedMessage": {"message": {"conversation": "x"}}}), "x"),
        (
            json!({"ephemeralMessage": {"message": {"conversation": "x"}}}),
            "x",
        ),
    ] {
        for kind in [json!("MESSAGE_EDIT"), json!(14), json!(null)] {
            let mut notice = edit("");
            notice["editedMessage"] = edited.clone();
            notice["type"] = kind;
            let Content::Edit { content, .. } = change(&body("messages.edited", notice)).content else {
                panic!("no edit: {edited}")
            };
            assert_eq!(content.render_text(), words, "{edited}");
        }
    }
}

#[test]
fn an_edit_is_another_event_than_its_message_and_than_the_next_edit() {
    let id = |notice: Value| event(&body("messages.edited", notice)).id;
    let external = ExternalId::parse("suporte-01").unwrap();
    let original = derive_event_id(Provider::Evolution, &external, EventKind::Message, "AB12");
    let mut later = edit("a");
    later["timestampMs"] = json!(1_760_000_200_000_i64);
    assert_eq!(id(edit("a")), id(edit("a")));
    let ids = [original, id(edit("a")), id(edit("b")), id(later)];
    let different: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(different.len(), ids.len());
}

#[test]
fn edits_wait_in_an_order_of_their_own() {
    let mut notice = edit("a");
    notice["key"] = key(CONTACT, false);
    let edited = event(&body("messages.edited", notice));
    let message = event(&upsert(&json!({"conversation": "oi"})));
    assert!(edited.address.is_some() && edited.address != message.address);
    let deleted = event(&body("messages.delete", key(CONTACT, false)));
    assert_eq!(deleted.address, edited.address);
}

#[test]
fn a_deletion_is_one_event_whoever_tells_it() {
    let flat = body("messages.delete", key(CONTACT, false));
    let mut marked = flat.clone();
    marked["data"]["status"] = json!("DELETED");
    let row = json!({"id": "cm0000000000000000000001", "key": key(CONTACT, true), "status": "DELETED",
        "messageType": "conversation", "message": {"conversation": "segredo"}, "messageTimestamp": 1_760_000_000});
    let row = body("messages.delete", row);
    let revoked = |kind: Value| body("messages.edited", json!({"key": key(OWN, true), "type": kind}));
    let all = [flat, marked, row, revoked(json!("REVOKE")), revoked(json!(0))];
    let first = event(&all[0]).id;
    for body in &all {
        let event = event(body);
        assert_eq!(event.id, first, "{body}");
        assert!(!event.payload.to_string().contains("segredo"));
        let target = Some("AB12".to_owned());
        assert_eq!(change(body).content, Content::Deletion { target }, "{body}");
    }
}

#[test]
fn notices_between_programs_are_neither_edits_nor_kept() {
    for notice in [
        json!({"type": "HISTORY_SYNC_NOTIFICATION", "historySyncNotification": {"mediaKey": "AAAA"}}),
        json!({"type": 6, "appStateSyncKeyShare": {"keys": []}}),
        json!({"key": key(CONTACT, false)}),
        json!({"key": key(CONTACT, false), "editedMessage": {}}),
        json!("x"),
        json!({"type": "REVOKE"}),
    ] {
        assert_eq!(
            ignored(&body("messages.edited", notice.clone())),
            "notice between programs",
            "{notice}"
        );
    }
    assert_eq!(
        ignored(&body(
            "messages.edited",
            json!({"type": "REVOKE", "key": {"id": "A"}})
        )),
        "change without a chat"
    );
    let without_id = json!({"key": {"remoteJid": CONTACT}, "editedMessage": {"conversation": "x"}});
    assert_eq!(
        ignored(&body("messages.edited", without_id)),
        "change without a target"
    );
    assert_eq!(
        ignored(&body("messages.delete", json!({"remoteJid": CONTACT}))),
        "change without a target"
    );
    assert_eq!(
        ignored(&body("messages.delete", json!({}))),
        "change without a chat"
    );
}

#[test]
fn changes_in_groups_are_left_alone() {
    let group = "120363000000000001@g.us";
    let mut notice = edit("x");
    notice["key"]["remoteJid"] = json!(group);
    assert_eq!(ignored(&body("messages.edited", notice)), "group message");
    assert_eq!(
        ignored(&body("messages.delete", key(group, false))),
        "group message"
    );
}

#[test]
fn edits_that_we_asked_for_ourselves_are_left_alone() {
    assert_eq!(
        ignored(&body("send.message.update", edit("x"))),
        "send.message.update"
    );
}

#[test]
fn disappearing_messages_are_a_note_where_the_chat_is_certain() {
    let setting = |remote: &str, from_me: bool, seconds: Value| {
        body(
            "messages.edited",
            json!({"key": {"remoteJid": remote, "fromMe": from_me}, "type": 3, "ephemeralExpiration": seconds,
                "ephemeralSettingTimestamp": "1760000000"}),
        )
    };
    let said_by = |body: &Value| said(body).content.render_text();
    assert_eq!(
        said_by(&setting(CONTACT, false, json!(604_800))),
        "[disappearing messages changed] after 7 days"
    );
    assert_eq!(
        said_by(&setting(CONTACT, true, json!("0"))),
        "[disappearing messages changed] off"
    );
    for unknown in [
        setting(OWN, true, json!(0)),
        setting("100000000000001@lid", true, json!(0)),
    ] {
        assert_eq!(ignored(&unknown), "setting of an unknown chat");
    }
}

#[test]
fn version_one_wraps_an_edit_in_a_message_of_its_own() {
    let wrapped = json!({"editedMessage": {"message": {"protocolMessage": {"key": {"id": "OLD", "fromMe": true, "remoteJid": OWN},
        "type": "MESSAGE_EDIT", "editedMessage": {"conversation": "às 15h"}, "timestampMs": "1760000100000"}}}});
    let read = said(&upsert(&wrapped));
    assert_eq!(read.address.as_str(), CONTACT);
    assert_eq!(read.provider_message_id.as_deref(), Some("AB12"));
    assert_eq!(read.content.render_text(), "[edited] às 15h");
    assert!(matches!(&read.content, Content::Edit { target: Some(target), .. } if target == "OLD"));
    let bare = said(&upsert(
        &json!({"editedMessage": {"message": {"conversation": "às 15h"}}}),
    ));
    assert!(matches!(&bare.content, Content::Edit { target: None, .. }));
}
