//! The client against a Calendar that checks every request.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod access;
mod effects;
mod faults;
mod standing;
mod tokens;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recado_domain::calendar::TimeSpan;
use recado_domain::config::CredentialRef;
use recado_domain::effects::EffectId;
use recado_domain::secret::Secret;
use recado_google_calendar::{
    CalendarError, CalendarEvent, CalendarTarget, Certainty, EventListQuery, EventMove, EventStatus,
    EventTag, GoogleCalendar, GoogleCalendarConfig, NewCalendarEvent,
};
use recado_ports::ports::{PortResult, Secrets, System};
use recado_testkit::servers::{CALENDAR, GoogleStandIn};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Secrets that a test holds, and how often one was forgotten.
#[derive(Debug, Clone, Default)]
struct TestSecrets {
    text: Option<String>,
    forgotten: Arc<AtomicUsize>,
}

impl Secrets for TestSecrets {
    async fn resolve_secret(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(self.text.as_deref().and_then(Secret::new))
    }

    async fn forget_secret(&self, _: &CredentialRef) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Clone)]
struct RealClock;

#[async_trait]
impl System for RealClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn random_u64(&self) -> u64 {
        4711
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

type Client = GoogleCalendar<TestSecrets, RealClock>;

/// A stand-in and a client of it.
struct Room {
    google: GoogleStandIn,
    client: Client,
    secrets: TestSecrets,
    credential: CredentialRef,
}

impl Room {
    fn open() -> Self {
        let google = GoogleStandIn::start();
        let account = google.service_account();
        Self::with_secret(google, Some(account))
    }

    fn with_secret(google: GoogleStandIn, text: Option<String>) -> Self {
        let config = GoogleCalendarConfig {
            api_base_url: google.api_base_url(),
            token_url: google.token_url(),
            timeout: Duration::from_secs(20),
        };
        Self::with_config(google, text, config)
    }

    fn with_config(google: GoogleStandIn, text: Option<String>, config: GoogleCalendarConfig) -> Self {
        let secrets = TestSecrets {
            text,
            ..TestSecrets::default()
        };
        let http = recado_http_client::build_http_client().unwrap();
        Self {
            client: GoogleCalendar::new(http, secrets.clone(), RealClock, config),
            google,
            secrets,
            credential: CredentialRef::Env("RECADO_CREDENTIAL_CLINIC_CALENDAR".to_owned()),
        }
    }

    fn target(&self) -> CalendarTarget<'_> {
        CalendarTarget {
            calendar_id: CALENDAR,
            credential: &self.credential,
        }
    }

    async fn insert(&self, event: &NewCalendarEvent) -> Result<CalendarEvent, CalendarError> {
        self.client.insert_event(&self.target(), event).await
    }

    async fn find(&self, id: &EffectId) -> Option<CalendarEvent> {
        let found = self.client.find_event(&self.target(), id, &TimeZone::UTC).await;
        found.unwrap()
    }

    async fn list(&self, limit: u16) -> Result<recado_google_calendar::EventPage, CalendarError> {
        let query = EventListQuery {
            tag: EventTag::parse_tag("thread-1"),
            time: span("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
            limit,
        };
        self.client
            .list_events(&self.target(), &query, &TimeZone::UTC)
            .await
    }

    /// Fails if a request was wrong.
    fn check_requests(&self) {
        assert_eq!(self.google.violations(), []);
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn span(from: &str, to: &str) -> TimeSpan {
    TimeSpan {
        from: at(from),
        to: at(to),
    }
}

fn id(number: u64) -> EffectId {
    EffectId::from_random_bits(7, number)
}

/// An appointment of half an hour at this hour of the 24th.
fn appointment(number: u64, hour: u8) -> NewCalendarEvent {
    let from = at(&format!("2026-11-24T{hour:02}:00:00Z"));
    NewCalendarEvent {
        id: id(number),
        time: TimeSpan {
            from,
            to: from + SignedDuration::from_mins(30),
        },
        time_zone: "America/Sao_Paulo".to_owned(),
        summary: "Consulta".to_owned(),
        description: Some("por WhatsApp".to_owned()),
        tag: EventTag::parse_tag("thread-1").unwrap(),
    }
}

#[tokio::test]
async fn busy_times_are_told_and_long_times_asked_in_parts() {
    let room = Room::open();
    let book = room.google.book();
    book.add_event(CALENDAR, "2026-11-24T10:00:00-03:00", "2026-11-24T11:00:00-03:00");
    book.add_event(CALENDAR, "2026-11-24T13:30:00Z", "2026-11-24T15:00:00Z");
    let free = book.add_event(CALENDAR, "2026-11-24T18:00:00Z", "2026-11-24T19:00:00Z");
    book.change_event(CALENDAR, &free, &json!({"transparency": "transparent"}));
    let deleted = book.add_event(CALENDAR, "2026-11-24T20:00:00Z", "2026-11-24T21:00:00Z");
    book.delete_event(CALENDAR, &deleted);
    book.add_event(CALENDAR, "2027-10-01T10:00:00Z", "2027-10-01T11:00:00Z");
    let year = span("2026-11-24T00:00:00Z", "2027-11-20T00:00:00Z");
    let busy = room.client.query_busy_times(&room.target(), year).await.unwrap();
    assert_eq!(
        busy,
        [
            span("2026-11-24T13:00:00Z", "2026-11-24T15:00:00Z"),
            span("2027-10-01T10:00:00Z", "2027-10-01T11:00:00Z")
        ]
    );
    let calls = room.google.requests();
    let questions = calls.iter().filter(|call| call.path.ends_with("freeBusy"));
    assert_eq!(questions.count(), 7, "361 days in parts of 60");
    room.check_requests();
}

#[tokio::test]
async fn a_calendar_that_is_not_shared_is_told_from_one_that_is_free() {
    let room = Room::open();
    let other = CalendarTarget {
        calendar_id: "somebody@clinic.example",
        credential: &room.credential,
    };
    let day = span("2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z");
    let told = room.client.query_busy_times(&other, day).await;
    assert_eq!(told, Err(CalendarError::NotFound));
    let busy = room.client.query_busy_times(&room.target(), day).await;
    assert_eq!(busy, Ok(Vec::new()));
}

#[tokio::test]
async fn an_event_is_made_under_our_id_found_moved_and_deleted() {
    let room = Room::open();
    let target = room.target();
    assert_eq!(room.find(&id(1)).await, None);
    let made = room.insert(&appointment(1, 10)).await.unwrap();
    assert_eq!(
        (made.id.as_str(), made.entry.as_deref()),
        (id(1).as_str(), Some(id(1).as_str()))
    );
    assert_eq!(room.find(&id(1)).await, Some(made.clone()));
    assert_eq!(made.time, Some(appointment(1, 10).time));
    let new = EventMove {
        time: span("2026-11-24T15:00:00Z", "2026-11-24T15:30:00Z"),
        time_zone: "America/Sao_Paulo".to_owned(),
        entry: id(2),
    };
    let moved = room
        .client
        .move_event(&target, &id(1), &made.etag, &new)
        .await
        .unwrap();
    assert_eq!(moved.time, Some(new.time));
    assert_eq!(moved.entry.as_deref(), Some(id(2).as_str()));
    assert_eq!(
        (moved.tag.as_deref(), moved.summary.as_deref()),
        (Some("thread-1"), Some("Consulta")),
        "a move leaves the rest"
    );
    let again = room.client.move_event(&target, &id(1), &made.etag, &new).await;
    assert_eq!(again, Err(CalendarError::VersionChanged));
    let old = room.client.delete_event(&target, &id(1), &made.etag).await;
    assert_eq!(old, Err(CalendarError::VersionChanged));
    room.client
        .delete_event(&target, &id(1), &moved.etag)
        .await
        .unwrap();
    let left = room.find(&id(1)).await.unwrap();
    assert_eq!((left.status, left.time), (EventStatus::Deleted, None));
    let twice = room.client.delete_event(&target, &id(1), &moved.etag).await;
    assert_eq!(twice, Err(CalendarError::Deleted));
    let back = room.client.move_event(&target, &id(1), &moved.etag, &new).await;
    assert_eq!(
        back,
        Err(CalendarError::VersionChanged),
        "nothing comes back to life"
    );
    room.check_requests();
}

#[tokio::test]
async fn an_id_is_taken_once_also_after_a_deletion() {
    let room = Room::open();
    let made = room.insert(&appointment(1, 10)).await.unwrap();
    assert_eq!(
        room.insert(&appointment(1, 14)).await,
        Err(CalendarError::AlreadyExists)
    );
    room.client
        .delete_event(&room.target(), &id(1), &made.etag)
        .await
        .unwrap();
    assert_eq!(
        room.insert(&appointment(1, 14)).await,
        Err(CalendarError::AlreadyExists)
    );
    assert_eq!(room.google.book().appointments(CALENDAR), Vec::<Value>::new());
    room.check_requests();
}

#[tokio::test]
async fn behind_a_fence_nothing_is_made_and_nobody_sees_it() {
    let room = Room::open();
    let fence = room.client.insert_fence(&room.target(), &id(1)).await.unwrap();
    assert!(fence.is_fence);
    assert_eq!(
        room.insert(&appointment(1, 10)).await,
        Err(CalendarError::AlreadyExists)
    );
    let lies_there = room.find(&id(1)).await.unwrap();
    assert!(lies_there.is_fence && lies_there.entry.is_none());
    let ever = span("1999-12-31T00:00:00Z", "2000-01-02T00:00:00Z");
    let busy = room.client.query_busy_times(&room.target(), ever).await.unwrap();
    assert_eq!(busy, []);
    room.client
        .delete_event(&room.target(), &id(1), &fence.etag)
        .await
        .unwrap();
    room.check_requests();
}

#[tokio::test]
async fn a_touched_event_is_refused_to_whoever_names_the_old_version() {
    let room = Room::open();
    let made = room.insert(&appointment(1, 10)).await.unwrap();
    let touched = room
        .client
        .touch_event(&room.target(), &id(1), &made.etag, "n1")
        .await
        .unwrap();
    assert_ne!(touched.etag, made.etag);
    assert_eq!(
        (touched.time, touched.entry.as_deref()),
        (made.time, Some(id(1).as_str())),
        "nothing else changes"
    );
    let late = room.client.delete_event(&room.target(), &id(1), &made.etag).await;
    assert_eq!(late, Err(CalendarError::VersionChanged));
    let again = room
        .client
        .touch_event(&room.target(), &id(1), &made.etag, "n2")
        .await;
    assert_eq!(again, Err(CalendarError::VersionChanged));
    room.check_requests();
}

#[tokio::test]
async fn a_version_that_is_not_known_is_never_sent() {
    let room = Room::open();
    room.insert(&appointment(1, 10)).await.unwrap();
    let before = room.google.requests().len();
    for version in ["", "*", "\"1\"\r\nX: y"] {
        let told = room
            .client
            .delete_event(&room.target(), &id(1), version)
            .await
            .unwrap_err();
        assert_eq!(told.certainty(), Certainty::Permanent, "{version:?}");
    }
    assert_eq!(room.google.requests().len(), before);
}

#[tokio::test]
async fn the_appointments_of_one_customer_are_listed_over_all_pages() {
    let room = Room::open();
    for (number, hour) in [(1, 16), (2, 9), (3, 12), (4, 10), (5, 11)] {
        room.insert(&appointment(number, hour)).await.unwrap();
    }
    let mut others = appointment(6, 8);
    others.tag = EventTag::parse_tag("thread-2").unwrap();
    room.insert(&others).await.unwrap();
    room.google
        .book()
        .add_event(CALENDAR, "2026-11-24T07:00:00Z", "2026-11-24T07:30:00Z");
    let gone = room.find(&id(4)).await.unwrap();
    room.client
        .delete_event(&room.target(), &id(4), &gone.etag)
        .await
        .unwrap();
    room.google.book().set_page_size(1);
    let hours = |page: &recado_google_calendar::EventPage| -> Vec<String> {
        let begins = page
            .events
            .iter()
            .map(|event| event.time.unwrap().from.to_string());
        begins.map(|text| text[11..13].to_owned()).collect()
    };
    let all = room.list(10).await.unwrap();
    assert_eq!(
        (hours(&all), all.has_more),
        (["09", "11", "12", "16"].map(str::to_owned).to_vec(), false)
    );
    let first = room.list(2).await.unwrap();
    assert_eq!(
        (hours(&first), first.has_more),
        (["09", "11"].map(str::to_owned).to_vec(), true)
    );
    room.check_requests();
}

#[test]
fn a_tag_is_a_plain_word() {
    for bad in ["", "a b", "a=b", "+55 11", "ç", &"a".repeat(201)] {
        assert_eq!(EventTag::parse_tag(bad), None, "{bad}");
    }
    assert_eq!(EventTag::parse_tag("t-1_a").unwrap().as_str(), "t-1_a");
}

#[tokio::test]
async fn a_whole_day_counts_in_the_zone_that_is_named() {
    let room = Room::open();
    room.insert(&appointment(1, 10)).await.unwrap();
    let day = json!({"start": {"date": "2026-11-24", "dateTime": null}, "end": {"date": "2026-11-25", "dateTime": null}});
    room.google.book().change_event(CALENDAR, id(1).as_str(), &day);
    let zone = TimeZone::get("America/Sao_Paulo").unwrap();
    let found = room
        .client
        .find_event(&room.target(), &id(1), &zone)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        found.time,
        Some(span("2026-11-24T03:00:00Z", "2026-11-25T03:00:00Z"))
    );
}
