//! Bookings, moves and cancellations as effects, asked for and fenced as the steps of the pipeline do.

use super::*;
use recado_domain::effects::{CellSpan, EffectAction, EffectEntry, EffectState, ToolName};
use recado_domain::ids::{AgentId, ConversationId, Nonce, Ordinal};
use recado_google_calendar::CalendarEffects;
use recado_ports::ports::{AskAnswer, CallAnswer, EffectTool, FenceAnswer, SettlingAbility};
use recado_testkit::servers::{Behaviour, google_error};

type Tool = CalendarEffects<TestSecrets, RealClock>;

/// A tool whose appointments have ten minutes before them and five after them.
fn tool(room: &Room) -> Tool {
    let rules =
        json!({"hours": {"tue": ["09:00-18:00"]}, "buffer_before_minutes": 10, "buffer_after_minutes": 5});
    CalendarEffects {
        client: room.client.clone(),
        calendar_id: CALENDAR.to_owned(),
        credential: room.credential.clone(),
        rules: serde_json::from_value(rules).unwrap(),
        time_zone: "America/Sao_Paulo".to_owned(),
        title: "Consulta".to_owned(),
    }
}

/// The time that an appointment from this hour to half past holds.
fn held(hour: u8) -> CellSpan {
    CellSpan {
        calendar: CALENDAR.to_owned(),
        start: at(&format!("2026-11-24T{:02}:50:00Z", hour - 1)),
        end: at(&format!("2026-11-24T{hour:02}:35:00Z")),
    }
}

fn entry(number: u64, action: EffectAction) -> EffectEntry {
    EffectEntry {
        number,
        id: id(number),
        tool: ToolName {
            agent: AgentId::parse("ana").unwrap(),
            name: "calendar".to_owned(),
        },
        action,
        arguments: json!({"title": " Limpeza ", "note": "Carla"}),
        conversation: ConversationId::parse(&format!("c_{}-1", "0a".repeat(16))).unwrap(),
        epoch: 1,
        base: Ordinal::default(),
        takes: Vec::new(),
        state: EffectState::Doing,
        nonce: Nonce::parse(&"7".repeat(32)).unwrap(),
        until: Timestamp::MAX,
        limit: SignedDuration::from_secs(10),
        tries: 0,
        next_at: None,
        fence: false,
        begun_at: at("2026-11-23T10:00:00Z"),
        ended_at: None,
        result: None,
    }
}

fn booking(number: u64) -> EffectEntry {
    entry(number, EffectAction::Book { span: held(10) })
}

fn moving(number: u64, version: &str) -> EffectEntry {
    let action = EffectAction::Move {
        event: id(1),
        version: version.to_owned(),
        span: held(15),
    };
    entry(number, action)
}

fn cancelling(number: u64, version: &str) -> EffectEntry {
    let action = EffectAction::Cancel {
        event: id(1),
        version: version.to_owned(),
    };
    entry(number, action)
}

/// A room with the appointment number 1 of ten o'clock; its version.
async fn booked_room() -> (Room, String) {
    let room = Room::open();
    assert_eq!(tool(&room).call_effect(&booking(1)).await, CallAnswer::Done(None));
    let version = room.find(&id(1)).await.unwrap().etag;
    (room, version)
}

#[tokio::test]
async fn a_booking_is_an_event_without_its_buffers_and_found_by_its_thread() {
    let (room, _) = booked_room().await;
    let event = room.find(&id(1)).await.unwrap();
    assert_eq!(
        event.time,
        Some(span("2026-11-24T10:00:00Z", "2026-11-24T10:30:00Z"))
    );
    assert_eq!(event.tag, Some("0a".repeat(16)));
    let kept = room.google.book().appointments(CALENDAR).remove(0);
    assert_eq!(
        (&kept["summary"], &kept["description"]),
        (&json!("Limpeza"), &json!("Carla"))
    );
    assert_eq!(tool(&room).settling_ability(), SettlingAbility::Fenced);
    assert_eq!(
        tool(&room).ask_for_effect(&booking(1)).await,
        AskAnswer::Happened(None)
    );
    room.check_requests();
}

#[tokio::test]
async fn a_booking_that_did_not_happen_is_fenced_and_the_fence_is_removed_in_the_end() {
    let room = Room::open();
    let (tool, entry) = (tool(&room), booking(1));
    assert_eq!(tool.ask_for_effect(&entry).await, AskAnswer::NotYet);
    assert_eq!(tool.put_event_fence(&entry).await, FenceAnswer::Done);
    assert_eq!(
        tool.put_event_fence(&entry).await,
        FenceAnswer::Changed,
        "it stands there already"
    );
    assert_eq!(
        tool.call_effect(&entry).await,
        CallAnswer::Unclear,
        "a late request finds the fence"
    );
    assert_eq!(tool.ask_for_effect(&entry).await, AskAnswer::CannotHappen);
    for _ in 0..2 {
        assert_eq!(tool.remove_fence(&entry).await, FenceAnswer::Done);
    }
    assert_eq!(room.google.book().appointments(CALENDAR), Vec::<Value>::new());
    room.check_requests();
}

#[tokio::test]
async fn a_booking_that_people_deleted_happened_and_is_not_taken_for_a_fence() {
    let (room, _) = booked_room().await;
    assert_eq!(tool(&room).remove_fence(&booking(1)).await, FenceAnswer::Done);
    assert_eq!(
        room.google.book().appointments(CALENDAR).len(),
        1,
        "it is no fence"
    );
    room.google.book().delete_event(CALENDAR, id(1).as_str());
    assert_eq!(
        tool(&room).ask_for_effect(&booking(1)).await,
        AskAnswer::Happened(None)
    );
}

#[tokio::test]
async fn a_move_is_known_by_the_id_that_it_wrote() {
    let (room, version) = booked_room().await;
    let (tool, entry) = (tool(&room), moving(2, &version));
    assert_eq!(tool.ask_for_effect(&entry).await, AskAnswer::NotYet);
    assert_eq!(tool.call_effect(&entry).await, CallAnswer::Done(None));
    let event = room.find(&id(1)).await.unwrap();
    assert_eq!(
        event.time,
        Some(span("2026-11-24T15:00:00Z", "2026-11-24T15:30:00Z"))
    );
    assert_eq!(tool.ask_for_effect(&entry).await, AskAnswer::Happened(None));
    let other = moving(3, &version);
    assert_eq!(tool.call_effect(&other).await, CallAnswer::Unclear);
    assert_eq!(
        tool.ask_for_effect(&other).await,
        AskAnswer::CannotHappen,
        "another version than was read"
    );
    room.google.book().delete_event(CALENDAR, id(1).as_str());
    assert_eq!(tool.ask_for_effect(&other).await, AskAnswer::Gone);
    room.check_requests();
}

#[tokio::test]
async fn a_late_move_or_cancellation_does_nothing_once_the_event_was_touched() {
    let (room, version) = booked_room().await;
    for entry in [moving(2, &version), cancelling(3, &version)] {
        let tool = tool(&room);
        let (room, version) = booked_room().await;
        let entry = match entry.action {
            EffectAction::Move { .. } => moving(2, &version),
            _ => cancelling(3, &version),
        };
        let tool = CalendarEffects {
            client: room.client.clone(),
            ..tool
        };
        assert_eq!(tool.put_event_fence(&entry).await, FenceAnswer::Done);
        assert_eq!(tool.call_effect(&entry).await, CallAnswer::Unclear);
        assert_eq!(tool.ask_for_effect(&entry).await, AskAnswer::CannotHappen);
        assert_eq!(tool.put_event_fence(&entry).await, FenceAnswer::Changed);
        assert_eq!(tool.remove_fence(&entry).await, FenceAnswer::Done);
        assert_eq!(room.google.book().appointments(CALENDAR).len(), 1);
    }
}

#[tokio::test]
async fn a_cancellation_is_known_by_the_deleted_event() {
    let (room, version) = booked_room().await;
    let (tool, entry) = (tool(&room), cancelling(2, &version));
    assert_eq!(tool.ask_for_effect(&entry).await, AskAnswer::NotYet);
    assert_eq!(tool.call_effect(&entry).await, CallAnswer::Done(None));
    assert_eq!(tool.ask_for_effect(&entry).await, AskAnswer::Happened(None));
    assert_eq!(
        tool.call_effect(&entry).await,
        CallAnswer::Unclear,
        "it is gone already"
    );
    room.check_requests();
}

#[tokio::test]
async fn a_clear_no_is_told_and_a_lost_answer_is_settled() {
    for (status, reason, clear) in [
        (400, "invalid", true),
        (401, "authError", true),
        (403, "forbidden", true),
        (403, "rateLimitExceeded", true),
        (404, "notFound", true),
        (429, "rateLimitExceeded", true),
        (409, "duplicate", false),
        (500, "backendError", false),
        (503, "backendError", false),
    ] {
        let room = Room::open();
        room.google
            .usually(Behaviour::status(status, google_error(status, reason)));
        let answer = tool(&room).call_effect(&booking(1)).await;
        assert_eq!(
            matches!(answer, CallAnswer::Refused(Some(_))),
            clear,
            "{status} {reason}: {answer:?}"
        );
        assert_eq!(answer == CallAnswer::Unclear, !clear, "{status} {reason}");
    }
    let room = Room::open();
    room.google.next_all([Behaviour::AcceptThenDrop, Behaviour::Drop]);
    assert_eq!(tool(&room).call_effect(&booking(1)).await, CallAnswer::Unclear);
    assert_eq!(
        tool(&room).ask_for_effect(&booking(1)).await,
        AskAnswer::Unanswered
    );
    assert_eq!(
        tool(&room).ask_for_effect(&booking(1)).await,
        AskAnswer::Happened(None)
    );
    assert_eq!(room.google.book().appointments(CALENDAR).len(), 1);
}

#[tokio::test]
async fn a_calendar_that_is_no_longer_shared_settles_nothing() {
    let room = Room::open();
    room.google
        .usually(Behaviour::status(404, google_error(404, "notFound")));
    assert_eq!(
        tool(&room).put_event_fence(&booking(1)).await,
        FenceAnswer::Unanswered
    );
    assert_eq!(
        tool(&room).put_event_fence(&moving(2, "\"1\"")).await,
        FenceAnswer::Unanswered
    );
    assert_eq!(
        tool(&room).call_effect(&cancelling(3, "\"1\"")).await,
        CallAnswer::Unclear
    );
    for entry in [moving(2, "\"1\""), cancelling(3, "\"1\"")] {
        assert_eq!(tool(&room).ask_for_effect(&entry).await, AskAnswer::Unanswered);
    }
}

#[tokio::test]
async fn a_change_that_is_refused_since_the_event_is_deleted_is_looked_at() {
    let forbidden = || Behaviour::status(403, google_error(403, "forbidden"));
    for make in [moving, cancelling] {
        let (room, version) = booked_room().await;
        let entry = make(2, &version);
        room.google.next(forbidden());
        let refused = tool(&room).call_effect(&entry).await;
        assert!(matches!(refused, CallAnswer::Refused(Some(_))), "{refused:?}");
        room.google.book().delete_event(CALENDAR, id(1).as_str());
        room.google.next(forbidden());
        assert_eq!(tool(&room).call_effect(&entry).await, CallAnswer::Unclear);
    }
}
