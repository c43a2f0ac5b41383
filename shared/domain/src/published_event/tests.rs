use super::*;
use crate::alert::Alert;
use crate::config::InstanceConfig;
use crate::contact::ContactAddress;
use crate::conversation::Conversation;
use crate::delivery::{Delivery, DeliveryStatus};
use crate::effects::{EffectState, Journal};
use crate::identity::IdentityKey;
use crate::ids::{Nonce, Ordinal};
use crate::instance::{ConnectionStatus, ConnectionUpdate, InstanceState};
use crate::invitations::Invitation;
use crate::message::{Message, Role};
use crate::millis::from_unix_millis;
use crate::outbox::{Outbox, OutboxState};
use crate::reason::Reason;
use proptest::prelude::*;
use serde_json::{Value, json};

fn at(millis: i64) -> Timestamp {
    from_unix_millis(millis)
}

fn conversation() -> Conversation {
    let bound: InstanceConfig = serde_json::from_value(json!({
        "instance": {"id": "i", "tenant": "t", "agent": "a", "provider": "evolution"},
        "tenant": {"id": "t"},
        "agent": {"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"},
    }))
    .unwrap();
    let address = ContactAddress::parse("5511999998888@s.whatsapp.net").unwrap();
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&bound.instance.id, address.as_str());
    let id = ConversationId::new(thread, 1);
    Conversation::start_new(id, &bound, address, Some("5511999998888".to_owned()), at(0))
}

/// Changes the conversation, and returns the kinds of what is published of that.
fn told(conversation: &mut Conversation, change: impl FnOnce(&mut Conversation)) -> Vec<PublishedEvent> {
    let old = ConversationFacts::from(&*conversation);
    change(conversation);
    conversation.rev += 1;
    derive_conversation_events(Some(&old), &ConversationFacts::from(&*conversation), at(9))
}

fn kinds(events: &[PublishedEvent]) -> Vec<PublishedKind> {
    events.iter().map(|event| event.kind).collect()
}

fn nonce(text: &str) -> Nonce {
    Nonce::parse(text).unwrap()
}

#[test]
fn a_new_conversation_is_told_and_a_further_message_changes_nothing_that_people_see_of_it() {
    let mut c = conversation();
    let events = derive_conversation_events(None, &ConversationFacts::from(&c), at(9));
    assert_eq!(kinds(&events), [PublishedKind::ConversationUpdated]);
    assert_eq!(events[0].conversation.as_ref(), Some(&c.id));
    let events = told(&mut c, |c| {
        let _ = c.receive_message(true, at(1));
    });
    assert_eq!(kinds(&events), []);
}

#[test]
fn a_turn_is_told_from_its_lease_to_its_end() {
    use PublishedKind::{TurnFinished, TurnStarted};
    let mut c = conversation();
    c.receive_message(true, at(1)).unwrap();
    let mut draft = None;
    let mut lease = |c: &mut Conversation, name| {
        draft = Some(c.acquire_lease(nonce(name), Ordinal(9), at(2), at(99)));
    };
    assert_eq!(kinds(&told(&mut c, |c| lease(c, "one"))), [TurnStarted]);
    let events = told(&mut c, |c| lease(c, "two"));
    assert_eq!(
        kinds(&events),
        [TurnFinished, TurnStarted],
        "another worker took it over"
    );
    assert_eq!(events[0].data.result, Some(TurnResult::Left));
    let draft = draft.unwrap();
    let mut silent = c.clone();
    let events = told(&mut c, |c| {
        let _ = c.commit_reply(&draft, at(3));
    });
    assert_eq!(
        (kinds(&events), events[0].data.result),
        (vec![TurnFinished], Some(TurnResult::Answered))
    );
    let events = told(&mut silent, |c| {
        let _ = c.commit_silence(&draft, Reason::AgentSilent);
    });
    assert_eq!(events[0].data.result, Some(TurnResult::Silent));
}

#[test]
fn a_conversation_that_waits_for_a_person_is_told_once() {
    use PublishedKind::{ConversationUpdated, ConversationWaiting};
    let mut c = conversation();
    let events = told(&mut c, |c| {
        let _ = c.take_over();
    });
    assert_eq!(kinds(&events), [ConversationUpdated], "nothing is owed yet");
    let events = told(&mut c, |c| {
        let _ = c.receive_message(true, at(5));
    });
    assert_eq!(kinds(&events), [ConversationUpdated, ConversationWaiting]);
    assert_eq!(events[1].data.since, Some(at(5)));
    let events = told(&mut c, |c| {
        let _ = c.receive_message(true, at(6));
    });
    assert_eq!(kinds(&events), [], "it waits already");
    let events = told(&mut c, |c| {
        let _ = c.record_operator_answer(Ordinal(2), true, at(7));
    });
    assert_eq!(kinds(&events), [ConversationUpdated]);
}

fn message(role: Role, out: Option<Outbox>) -> Message {
    let mut fields = json!({
        "conversation": conversation().id, "ordinal": 3, "tenant": "t", "instance": "i", "role": role,
        "content": {"type": "text", "text": "Maria, 5511999998888"}, "written_at": 1, "stored_at": 1, "correlation": "k",
    });
    if let Some(out) = out {
        fields["out"] = serde_json::to_value(out).unwrap();
    }
    serde_json::from_value(fields).unwrap()
}

fn queued() -> Outbox {
    let to = ContactAddress::parse("5511999998888@s.whatsapp.net").unwrap();
    Outbox::new_queued(to, crate::outbox::Author::Ai, 0, Ordinal(1), at(1))
}

fn with_state(state: OutboxState) -> Message {
    let out = Outbox { state, ..queued() };
    message(Role::Assistant, Some(out))
}

#[test]
fn a_message_is_told_with_each_status_that_people_see() {
    let new = MessageFacts::from(&message(Role::User, None));
    let events = derive_message_events(None, &new, at(9));
    assert_eq!(kinds(&events), [PublishedKind::MessageCreated]);
    assert_eq!(
        serde_json::to_value(&events[0].data).unwrap(),
        json!({"role": "user", "content": "text"})
    );
    let queued = MessageFacts::from(&with_state(OutboxState::Queued));
    let events = derive_message_events(None, &queued, at(9));
    assert_eq!(events[0].data.status.as_deref(), Some("pending"));
    let sending = MessageFacts::from(&with_state(OutboxState::Sending {
        nonce: nonce("n"),
        claimed_at: at(2),
        lease_until: at(9),
    }));
    assert_eq!(derive_message_events(Some(&queued), &sending, at(9)), []);
    let sent = MessageFacts::from(&with_state(OutboxState::Sent { at: at(3) }));
    let events = derive_message_events(Some(&sending), &sent, at(9));
    assert_eq!(
        (kinds(&events), events[0].data.status.as_deref()),
        (vec![PublishedKind::MessageStatus], Some("sent"))
    );
    let reason = Reason::WindowClosed;
    let dead = MessageFacts::from(&with_state(OutboxState::Dead { at: at(3), reason }));
    let events = derive_message_events(Some(&sending), &dead, at(9));
    assert_eq!(
        (events[0].data.status.as_deref(), events[0].data.reason),
        (Some("failed"), Some(reason))
    );
}

#[test]
fn a_change_of_a_message_is_told_by_what_changed() {
    let before = message(Role::User, None);
    let mut reacted = before.clone();
    let mut reaction = message(Role::Operator, None);
    reaction.content =
        serde_json::from_value(json!({"type": "reaction", "target": "x", "emoji": "👍"})).unwrap();
    assert!(reacted.record_change(&reaction));
    let mut removed = before.clone();
    removed.remove_content();
    let change = |new: &Message| {
        let events = derive_message_events(
            Some(&MessageFacts::from(&before)),
            &MessageFacts::from(new),
            at(9),
        );
        assert_eq!(kinds(&events), [PublishedKind::MessageUpdated]);
        events[0].data.change.clone().unwrap()
    };
    assert_eq!([change(&reacted), change(&removed)], ["reaction", "content"]);
}

#[test]
fn a_delivery_is_told_once_it_is_known_whose_it_is() {
    let owner = MessageOwner {
        tenant: TenantId::parse("t").unwrap(),
        instance: InstanceId::parse("i").unwrap(),
    };
    let unlinked = Delivery {
        status: Some(DeliveryStatus::Delivered),
        at: Some(at(4)),
        ..Delivery::default()
    };
    let linked = Delivery {
        message: Some(message(Role::User, None).message_id()),
        ..unlinked.clone()
    };
    assert_eq!(derive_delivery_events(None, &unlinked, &owner, at(9)), []);
    let events = derive_delivery_events(Some(&unlinked), &linked, &owner, at(9));
    assert_eq!(events[0].data.status.as_deref(), Some("delivered"));
    assert_eq!(events[0].conversation, Some(conversation().id));
    assert_eq!(derive_delivery_events(Some(&linked), &linked, &owner, at(9)), []);
    let sent = Delivery {
        status: Some(DeliveryStatus::Sent),
        ..linked
    };
    assert_eq!(
        derive_delivery_events(None, &sent, &owner, at(9)),
        [],
        "the message tells it"
    );
}

#[test]
fn only_another_connection_of_an_instance_is_told() {
    let (id, tenant) = (InstanceId::parse("i").unwrap(), TenantId::parse("t").unwrap());
    let open = InstanceState::default();
    let mut asked = open.clone();
    asked.asked_at = Some(at(1));
    assert_eq!(derive_instance_events((&id, &tenant), &open, &asked, at(9)), []);
    let mut closed = open.clone();
    closed.apply_connection_update(&ConnectionUpdate {
        connection: ConnectionStatus::Closed,
        at: at(3),
        probe_at: None,
        asked_at: None,
        releases_waiting: false,
    });
    let events = derive_instance_events((&id, &tenant), &open, &closed, at(9));
    assert_eq!(
        serde_json::to_value(&events[0].data).unwrap(),
        json!({"connection": "closed", "since": "1970-01-01T00:00:00.003Z"})
    );
}

fn invitation(state: &Value, rev: u64) -> Invitation {
    let mut fields = json!({"tenant": "t", "id": "inv_1", "occasion": "o", "guest": "maria@example.org", "channel": "whatsapp",
        "template": "invite", "request_hash": "h", "created_at": 0, "keep_until": 9, "rev": rev});
    let object = fields.as_object_mut().unwrap();
    object.extend(state.as_object().unwrap().clone());
    serde_json::from_value(fields).unwrap()
}

#[test]
fn an_invitation_is_told_when_it_is_taken_and_when_it_goes_on() {
    let taken = InvitationFacts::from(&invitation(&json!({"state": "taken"}), 1));
    let id = message(Role::User, None).message_id();
    let goes = InvitationFacts::from(&invitation(&json!({"state": "message", "message": id}), 2));
    assert_eq!(
        kinds(&derive_invitation_events(None, &taken, at(9))),
        [PublishedKind::DeliveryCreated]
    );
    assert_eq!(derive_invitation_events(Some(&taken), &taken, at(9)), []);
    let events = derive_invitation_events(Some(&taken), &goes, at(9));
    assert_eq!(
        (kinds(&events), &events[0].message),
        (vec![PublishedKind::DeliveryUpdated], &Some(id))
    );
    let text = serde_json::to_string(&events).unwrap();
    assert!(!text.contains("maria"), "{text}");
}

#[test]
fn an_appointment_is_told_when_it_is_known_to_stand_and_without_its_calendar() {
    let entry = json!({"number": 1, "id": "0".repeat(26), "tool": {"agent": "a", "name": "book"}, "action": "book",
        "span": {"calendar": "ana@example.org", "start": 900_000, "end": 1_800_000}, "arguments": {"name": "Maria"},
        "conversation": conversation().id, "epoch": 0, "base": 0, "state": "doing", "nonce": "n", "until": 5, "limit": 5,
        "begun_at": 1});
    let begun: Journal =
        serde_json::from_value(json!({"thread": "0".repeat(32), "tenant": "t", "instance": "i",
        "begun_at": 1, "last": 1, "entries": [entry], "rev": 1}))
        .unwrap();
    let mut done = begun.clone();
    done.entries[0].state = EffectState::Done;
    assert_eq!(derive_journal_events(None, &begun, at(9)), []);
    let events = derive_journal_events(Some(&begun), &done, at(9));
    assert_eq!(kinds(&events), [PublishedKind::AppointmentBooked]);
    assert_eq!(events[0].data.starts_at, Some(at(900_000)));
    let text = serde_json::to_string(&events).unwrap();
    assert!(!text.contains("ana@") && !text.contains("Maria"), "{text}");
    assert_eq!(derive_journal_events(Some(&done), &done, at(9)), []);
}

#[test]
fn an_alert_is_told_when_it_begins_and_when_it_ends() {
    let mut alert = Alert::for_test(at(3));
    let events = derive_alert_events(None, &alert, at(9));
    assert_eq!(
        (kinds(&events), &events[0].tenant),
        (vec![PublishedKind::AlertFired], &None)
    );
    assert_eq!(derive_alert_events(Some(alert.state()), &alert, at(9)), []);
    let firing = alert.state();
    alert.ended_at = Some(at(5));
    assert_eq!(
        kinds(&derive_alert_events(Some(firing), &alert, at(9))),
        [PublishedKind::AlertEnded]
    );
}

#[test]
fn the_same_change_has_the_same_id_and_another_one_another() {
    let new = MessageFacts::from(&message(Role::User, None));
    let id = |at| derive_message_events(None, &new, at)[0].id.clone();
    assert_eq!(id(at(9)), id(at(9)));
    assert_ne!(id(at(9)), id(at(10)), "numbers come again after a restore");
    let tenant = TenantId::parse("t").unwrap();
    assert_ne!(
        PublishedEvent::for_test(&tenant, "a", at(1)).id,
        PublishedEvent::for_test(&tenant, "b", at(1)).id
    );
}

#[test]
fn an_event_holds_nothing_of_the_person() {
    let mut c = conversation();
    c.contact.name = Some("Maria".to_owned());
    let mut events = derive_conversation_events(None, &ConversationFacts::from(&c), at(9));
    events.extend(derive_message_events(
        None,
        &MessageFacts::from(&with_state(OutboxState::Queued)),
        at(9),
    ));
    let text = serde_json::to_string(&events).unwrap();
    assert!(
        !text.contains("Maria") && !text.contains("5511999998888"),
        "{text}"
    );
    let read: Vec<PublishedEvent> = serde_json::from_str(&text).unwrap();
    assert_eq!(read, events);
}

#[test]
fn a_filter_names_a_kind_or_a_group() {
    let covers = |filter: &str, kind| filter.parse::<KindFilter>().unwrap().covers_kind(kind);
    assert!(covers("message.created", PublishedKind::MessageCreated));
    assert!(!covers("message.created", PublishedKind::MessageUpdated));
    assert!(covers("message.*", PublishedKind::MessageUpdated));
    assert!(!covers("message.*", PublishedKind::TurnStarted));
    for bad in [
        "",
        "*",
        "message",
        "message*",
        "mess*",
        "nothing.*",
        "message.*.*",
        "Message.created",
    ] {
        assert!(bad.parse::<KindFilter>().is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn a_cursor_is_read_as_it_was_written(number in 0..=i64::MAX.unsigned_abs()) {
        prop_assert_eq!(EventCursor(number).to_string().parse(), Ok(EventCursor(number)));
    }

    #[test]
    fn another_text_is_no_cursor(text in "[^0-9]*|[0-9]{20,}|[+-][0-9]+") {
        prop_assert!(text.parse::<EventCursor>().is_err());
    }
}

#[test]
fn a_look_of_a_person_is_told_so_that_the_lists_of_others_show_it() {
    let mut c = conversation();
    c.take_over();
    c.receive_message(true, at(1)).unwrap();
    let events = told(&mut c, |c| assert!(c.record_seen(Ordinal(1))));
    assert_eq!(kinds(&events), [PublishedKind::ConversationUpdated]);
    let events = told(&mut c, |c| assert!(!c.record_seen(Ordinal(1))));
    assert_eq!(kinds(&events), []);
}
