//! What `recado connect-calendar` asks.

use super::*;
use recado_domain::calendar::BookingRules;
use recado_google_calendar::{CalendarAccess, NextSlots};

fn rules() -> BookingRules {
    let written = json!({"hours": {"tue": ["10:00-12:00"]}, "grid_minutes": 30, "notice_minutes": 0, "horizon_days": 100});
    serde_json::from_value(written).unwrap()
}

async fn next_slots(room: &Room, now: &str) -> Result<Vec<String>, CalendarError> {
    let zone = TimeZone::get("America/Sao_Paulo").unwrap();
    let appointment = NextSlots {
        now: at(now),
        duration: SignedDuration::from_mins(60),
        zone: &zone,
        limit: 2,
    };
    let found = room
        .client
        .find_next_slots(&room.target(), &rules(), &appointment)
        .await?;
    Ok(found.slots.iter().map(|slot| slot.format_start(&zone)).collect())
}

#[tokio::test]
async fn the_next_free_slots_are_found_also_behind_weeks_that_are_full() {
    let room = Room::open();
    room.google
        .book()
        .add_event(CALENDAR, "2026-11-24T13:30:00Z", "2026-11-24T14:00:00Z");
    let found = next_slots(&room, "2026-11-23T12:00:00Z").await.unwrap();
    assert_eq!(found, ["2026-11-24T11:00:00-03:00", "2026-12-01T10:00:00-03:00"]);
    room.google
        .book()
        .add_event(CALENDAR, "2026-11-20T00:00:00Z", "2027-01-20T00:00:00Z");
    let found = next_slots(&room, "2026-11-23T12:00:00Z").await.unwrap();
    assert_eq!(found, ["2027-01-26T10:00:00-03:00", "2027-01-26T10:30:00-03:00"]);
    room.check_requests();
}

#[tokio::test]
async fn an_account_that_may_only_read_is_told_from_one_that_may_write() {
    let room = Room::open();
    assert_eq!(
        room.client.query_access(&room.target()).await,
        Ok(CalendarAccess::Writes)
    );
    room.google.book().set_role("freeBusyReader");
    let told = room.client.query_access(&room.target()).await;
    assert_eq!(told, Ok(CalendarAccess::ReadsOnly("freeBusyReader".to_owned())));
    let other = CalendarTarget {
        calendar_id: "nobody@clinic.example",
        credential: &room.credential,
    };
    assert_eq!(
        room.client.query_access(&other).await,
        Err(CalendarError::NotFound)
    );
    room.check_requests();
}
