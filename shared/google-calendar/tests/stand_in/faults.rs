//! What goes wrong outside, and what is said of it.

use super::*;
use recado_testkit::servers::{Behaviour, google_error};

const SHORT: Duration = Duration::from_millis(600);

/// A room whose client waits for a short time only, with a token that is there already.
async fn impatient_room() -> Room {
    let google = GoogleStandIn::start();
    let config = GoogleCalendarConfig {
        api_base_url: google.api_base_url(),
        token_url: google.token_url(),
        timeout: SHORT,
    };
    let account = google.service_account();
    let room = Room::with_config(google, Some(account), config);
    assert_eq!(room.find(&id(99)).await, None);
    room
}

fn count_requests(room: &Room, method: &str) -> usize {
    let calls = room.google.requests();
    let of =
        |call: &&recado_testkit::servers::Recorded| call.method == method && !call.path.ends_with("/token");
    calls.iter().filter(of).count()
}

/// Each row: status and reason, and what is said of a request that acts and of one that asks.
#[tokio::test]
async fn each_refusal_has_its_meaning_and_no_request_that_acts_is_repeated() {
    use Certainty::{Permanent, Retryable, Unknown};
    let rows: [(u16, &str, Certainty, Certainty); 14] = [
        (400, "invalid", Permanent, Permanent),
        (401, "authError", Permanent, Permanent),
        (403, "rateLimitExceeded", Retryable, Retryable),
        (403, "userRateLimitExceeded", Retryable, Retryable),
        (403, "quotaExceeded", Retryable, Retryable),
        (403, "forbidden", Permanent, Permanent),
        (403, "insufficientPermissions", Permanent, Permanent),
        (408, "timeout", Unknown, Retryable),
        (409, "duplicate", Unknown, Unknown),
        (410, "deleted", Unknown, Unknown),
        (412, "conditionNotMet", Unknown, Unknown),
        (429, "rateLimitExceeded", Retryable, Retryable),
        (500, "backendError", Unknown, Retryable),
        (503, "backendError", Unknown, Retryable),
    ];
    for (status, reason, of_action, of_question) in rows {
        let room = Room::open();
        room.google
            .usually(Behaviour::status(status, google_error(status, reason)));
        let acted = room.insert(&appointment(1, 10)).await.unwrap_err();
        assert_eq!(acted.certainty(), of_action, "{status} {reason}: {acted}");
        assert_eq!(count_requests(&room, "POST"), 1, "{status} {reason}");
        let asked = room.list(5).await.unwrap_err();
        assert_eq!(asked.certainty(), of_question, "{status} {reason}: {asked}");
        assert!(
            !acted.to_string().contains("stand-in"),
            "no message of Google's is told: {acted}"
        );
        assert_eq!(room.google.book().events(CALENDAR), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn the_refusals_that_the_caller_must_know_are_told_apart() {
    let told = async |status: u16, reason: &str| {
        let room = Room::open();
        room.google
            .usually(Behaviour::status(status, google_error(status, reason)));
        room.insert(&appointment(1, 10)).await.unwrap_err()
    };
    assert!(matches!(
        told(401, "authError").await,
        CalendarError::Credentials(_)
    ));
    assert!(matches!(
        told(403, "forbidden").await,
        CalendarError::Forbidden(_)
    ));
    assert_eq!(told(404, "notFound").await, CalendarError::NotFound);
    assert_eq!(told(409, "duplicate").await, CalendarError::AlreadyExists);
    assert_eq!(told(410, "deleted").await, CalendarError::Deleted);
    assert_eq!(told(412, "conditionNotMet").await, CalendarError::VersionChanged);
    let why = told(500, "backendError").await.to_string();
    assert!(why.contains("status 500, backendError"), "{why}");
}

#[tokio::test]
async fn the_wait_that_google_asks_for_is_told() {
    let room = Room::open();
    let busy = Behaviour::status_with(429, google_error(429, "rateLimitExceeded"), "retry-after", "7");
    room.google.next(busy);
    let told = room.insert(&appointment(1, 10)).await.unwrap_err();
    let CalendarError::Unavailable { after, .. } = told else {
        panic!("{told}");
    };
    assert_eq!(after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn an_answer_that_never_comes_leaves_the_outcome_unknown_with_and_without_effect() {
    for (behaviour, has_effect) in [
        (Behaviour::AcceptThenDrop, true),
        (Behaviour::Drop, false),
        (Behaviour::Swallow(SHORT * 3), false),
    ] {
        let room = impatient_room().await;
        room.google.next(behaviour.clone());
        let told = room.insert(&appointment(1, 10)).await.unwrap_err();
        assert_eq!(told.certainty(), Certainty::Unknown, "{behaviour:?}: {told}");
        assert_eq!(count_requests(&room, "POST"), 1, "it is not repeated");
        assert_eq!(room.find(&id(1)).await.is_some(), has_effect, "{behaviour:?}");
        room.check_requests();
    }
}

#[tokio::test]
async fn a_request_that_comes_late_finds_the_fence() {
    let room = impatient_room().await;
    room.google.next(Behaviour::Hang(Duration::from_secs(60)));
    let told = room.insert(&appointment(1, 10)).await.unwrap_err();
    assert_eq!(told.certainty(), Certainty::Unknown, "{told}");
    assert_eq!(room.find(&id(1)).await, None);
    room.client.insert_fence(&room.target(), &id(1)).await.unwrap();
    room.google.let_go();
    // The late request is carried out beside this one; both find the fence.
    assert_eq!(
        room.insert(&appointment(1, 10)).await,
        Err(CalendarError::AlreadyExists)
    );
    assert_eq!(room.google.book().appointments(CALENDAR), Vec::<Value>::new());
}

#[tokio::test]
async fn a_late_move_finds_another_version_once_the_event_was_touched() {
    let room = impatient_room().await;
    let made = room.insert(&appointment(1, 10)).await.unwrap();
    let new = EventMove {
        time: span("2026-11-24T15:00:00Z", "2026-11-24T15:30:00Z"),
        time_zone: "UTC".to_owned(),
        entry: id(2),
    };
    room.google.next(Behaviour::Hang(Duration::from_secs(60)));
    let told = room
        .client
        .move_event(&room.target(), &id(1), &made.etag, &new)
        .await;
    assert_eq!(told.unwrap_err().certainty(), Certainty::Unknown);
    room.client
        .touch_event(&room.target(), &id(1), &made.etag, "n1")
        .await
        .unwrap();
    room.google.let_go();
    let left = room.find(&id(1)).await.unwrap();
    assert_eq!((left.time, left.entry), (made.time, Some(id(1).to_string())));
}

#[tokio::test]
async fn a_question_that_gets_no_answer_may_be_asked_again() {
    let room = impatient_room().await;
    room.google
        .next_all([Behaviour::Drop, Behaviour::Swallow(SHORT * 3)]);
    for _ in 0..2 {
        assert_eq!(room.list(5).await.unwrap_err().certainty(), Certainty::Retryable);
    }
    assert_eq!(room.list(5).await.unwrap().events, []);
}

#[tokio::test]
async fn a_server_that_is_not_there_did_nothing() {
    let room = impatient_room().await;
    let Room {
        google,
        client,
        credential,
        ..
    } = room;
    drop(google);
    let target = CalendarTarget {
        calendar_id: CALENDAR,
        credential: &credential,
    };
    let told = client
        .insert_event(&target, &appointment(1, 10))
        .await
        .unwrap_err();
    assert!(
        matches!(told.certainty(), Certainty::Retryable | Certainty::Unknown),
        "{told}"
    );
    // The connection that was open is gone by now.
    let told = client
        .insert_event(&target, &appointment(1, 10))
        .await
        .unwrap_err();
    assert_eq!(told.certainty(), Certainty::Retryable, "{told}");
}

#[tokio::test]
async fn answers_that_cannot_be_read_are_neither_free_time_nor_success() {
    let day = span("2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z");
    for body in [
        json!({}),
        json!({"calendars": {}}),
        json!({"calendars": {CALENDAR: {}}}),
        json!({"calendars": {CALENDAR: {"busy": [{"start": "soon", "end": "later"}]}}}),
        json!({"calendars": {CALENDAR: {"busy": [], "errors": [{"reason": "internalError"}]}}}),
        json!("<html>"),
    ] {
        let room = Room::open();
        room.google.usually(Behaviour::status(200, body.clone()));
        let told = room
            .client
            .query_busy_times(&room.target(), day)
            .await
            .unwrap_err();
        assert_eq!(told.certainty(), Certainty::Retryable, "{body}");
        assert!(room.list(5).await.is_err(), "{body}");
        let told = room.insert(&appointment(1, 10)).await.unwrap_err();
        assert_eq!(told.certainty(), Certainty::Unknown, "{body}");
    }
}
