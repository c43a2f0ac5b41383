//! What Meta tells while another program holds a contact's thread, and messages in fields that are not known.

use super::fields::{body, said};
use super::{NUMBER, event, items, what};
use recado_domain::content::{Content, SystemNote};
use recado_domain::inbound::{InboundMessage, WebhookItem};
use recado_domain::notice::NoticeKind;
use recado_domain::reason::Reason;
use recado_domain::thread_hold::ThreadControl;
use serde_json::{Value, json};

const JOANA: &str = "5511900000031";

fn only(body: &Value) -> InboundMessage {
    let mut found = items(body);
    assert_eq!(found.len(), 1, "{found:?}");
    said(&event(found.remove(0)))
}

fn question() -> Value {
    json!({
        "contacts": [{"wa_id": JOANA, "profile": {"name": "Joana"}}],
        "messages": [{"from": JOANA, "id": "wamid.S1", "timestamp": "1760000000", "type": "text", "text": {"body": "tem vaga hoje?"}}],
    })
}

#[test]
fn a_message_to_another_program_is_the_contacts_and_nobody_here_owes_an_answer() {
    let read = only(&body("standby", &json!({"standby": question()})));
    assert_eq!(read.content, Content::from_text("tem vaga hoje?"));
    assert_eq!((read.name.as_deref(), read.from_me), (Some("Joana"), false));
    assert_eq!(read.thread, Some(ThreadControl::Held(None)));
    assert_eq!(read.not_owed, Some(Reason::HeldElsewhere));
    // The same message as such says that the thread is ours.
    let ours = only(&body("messages", &question()));
    assert_eq!((ours.thread, ours.not_owed), (Some(ThreadControl::Ours), None));
}

#[test]
fn what_the_other_program_sent_is_its_own_and_goes_to_the_contact() {
    for to in [json!({"to": JOANA}), json!({"recipient": "BR.7001234567890123"})] {
        let mut sent =
            json!({"messaging_product": "whatsapp", "type": "text", "text": {"body": "Temos, às 15h."}});
        sent.as_object_mut()
            .unwrap()
            .extend(to.as_object().unwrap().clone());
        let echo = json!({"id": "wamid.S2", "timestamp": "1760000005", "message": sent});
        let read = only(&body("standby", &json!({"standby": {"message_echoes": [echo]}})));
        assert!(read.from_me && read.context.by_other_agent, "{to}");
        assert_eq!(read.provider_message_id.as_deref(), Some("wamid.S2"));
        assert_eq!(read.sent_at.map(jiff::Timestamp::as_second), Some(1_760_000_005));
        assert_eq!(read.content, Content::from_text("Temos, às 15h."));
        assert_eq!(read.thread, Some(ThreadControl::Held(None)));
    }
}

#[test]
fn a_standby_value_without_messages_is_ignored() {
    let statuses =
        json!({"standby": {"statuses": [{"id": "wamid.S2", "status": "read", "timestamp": "1760000009"}]}});
    assert_eq!(
        what(&items(&body("standby", &statuses))[0]),
        "standby without messages"
    );
    let odd = json!({"standby": {"message_echoes": [7, {"message": "text"}]}});
    for item in items(&body("standby", &odd)) {
        assert_eq!(what(&item), "message without a sender");
    }
}

/// A change of the holder; the value names the number as its recipient.
fn handover(kind: &str, detail: &Value, sender: &Value) -> Value {
    let value = json!({
        "recipient": {"phone_number_id": NUMBER}, "sender": sender, "timestamp": "1760000060", "type": kind, kind: detail,
    });
    json!({"entry": [{"id": "1", "changes": [{"field": "messaging_handovers", "value": value}]}]})
}

fn note(read: &InboundMessage) -> &str {
    match &read.content {
        Content::System {
            what: SystemNote::Other,
            text: Some(text),
        } => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_of_the_holder_is_a_note_that_says_who_has_the_thread() {
    let sender = json!({"phone_number": JOANA});
    let summary = json!({"type": "summary", "summary": {"text": "Joana wants a table for four."}});
    let detail = json!({"previous_owner_role": "ai_agent", "metadata": "asked for a person", "conversation_context": summary});
    let passed = only(&handover("control_passed", &detail, &sender));
    assert_eq!(passed.thread, Some(ThreadControl::PassedToUs));
    let expected = "ai_agent passed the thread to us. asked for a person. Joana wants a table for four.";
    assert_eq!(note(&passed), expected);
    assert_eq!(
        passed.sent_at.map(jiff::Timestamp::as_second),
        Some(1_760_000_060)
    );
    let taken = only(&handover(
        "control_taken",
        &json!({"new_owner_role": "ai_agent"}),
        &sender,
    ));
    assert_eq!(
        taken.thread,
        Some(ThreadControl::Held(Some("ai_agent".to_owned())))
    );
    assert_eq!(note(&taken), "ai_agent took the thread");
    let other = only(&handover("control_lent", &json!({}), &sender));
    assert_eq!(
        (other.thread.as_ref(), note(&other)),
        (None, "the thread changed: control_lent")
    );
}

#[test]
fn a_change_of_the_holder_that_names_no_contact_is_a_notice() {
    for sender in [json!(null), json!({}), json!({"phone_number": ""})] {
        let found = items(&handover("control_taken", &json!({}), &sender));
        let is_notice = |item: &WebhookItem| matches!(item, WebhookItem::Notice { notice, .. } if notice.kind == NoticeKind::AccountAlert);
        assert!(found.iter().all(is_notice) && found.len() == 1, "{found:?}");
    }
    let detail = json!({"previous_owner_role": "ai_agent", "new_owner_role": "escalation"});
    let found = items(&handover("control_taken", &detail, &json!({})));
    let Some(WebhookItem::Notice { notice, .. }) = found.first() else {
        panic!("{found:?}");
    };
    assert_eq!(
        notice.summary,
        "a thread changed from ai_agent to escalation; its contact is not named"
    );
}

#[test]
fn an_older_change_of_the_holder_names_its_contact_in_a_list() {
    let value = json!({
        "metadata": {"phone_number_id": NUMBER}, "contacts": [{"wa_id": JOANA}], "timestamp": "1760000060",
        "type": "control_passed", "control_passed": {"previous_owner_app_role": "ai_agent"},
    });
    let passed =
        only(&json!({"entry": [{"id": "1", "changes": [{"field": "messaging_handovers", "value": value}]}]}));
    assert_eq!(passed.thread, Some(ThreadControl::PassedToUs));
    assert_eq!(note(&passed), "ai_agent passed the thread to us");
}

#[test]
fn messages_of_contacts_in_a_field_that_is_not_known_are_stored_and_not_owed() {
    for value in [question(), json!({"inner": question()})] {
        let mut found = items(&body("brand_new", &value));
        assert!(
            matches!(found.pop(), Some(WebhookItem::Notice { notice, .. }) if notice.summary.contains("brand_new"))
        );
        assert_eq!(found.len(), 1);
        let read = said(&event(found.remove(0)));
        assert_eq!(read.content, Content::from_text("tem vaga hoje?"));
        assert_eq!((read.not_owed, read.thread), (Some(Reason::UnknownField), None));
    }
    assert_eq!(
        what(&items(&body("brand_new", &json!({"count": 3})))[0]),
        "brand_new"
    );
}
