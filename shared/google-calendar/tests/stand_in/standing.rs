//! An event that stands in the calendar: what meets it, and the mark of one that the customer confirmed.

use super::*;

async fn meets_other(room: &Room) -> bool {
    let (target, own) = (room.target(), appointment(1, 10));
    let asks = room.client.has_other_event(&target, &own.id, own.time);
    asks.await.unwrap()
}

async fn mark(room: &Room, is_confirmed: bool) {
    let (target, own) = (room.target(), id(1));
    let marks = room.client.mark_event_confirmed(&target, &own, is_confirmed);
    marks.await.unwrap();
}

#[tokio::test]
async fn what_people_enter_at_the_time_of_an_event_is_seen_beside_it() {
    let room = Room::open();
    room.insert(&appointment(1, 10)).await.unwrap();
    let book = room.google.book();
    assert!(!meets_other(&room).await);
    book.add_event(CALENDAR, "2026-11-24T09:30:00Z", "2026-11-24T10:00:00Z");
    let free = book.add_event(CALENDAR, "2026-11-24T10:00:00Z", "2026-11-24T10:30:00Z");
    book.change_event(CALENDAR, &free, &json!({"transparency": "transparent"}));
    assert!(
        !meets_other(&room).await,
        "one is over before, and one takes no time"
    );
    let other = book.add_event(CALENDAR, "2026-11-24T10:15:00Z", "2026-11-24T11:00:00Z");
    assert!(meets_other(&room).await);
    book.delete_event(CALENDAR, &other);
    assert!(!meets_other(&room).await);
    room.check_requests();
}

#[tokio::test]
async fn an_event_that_the_customer_confirmed_says_so_until_that_is_taken_back() {
    let room = Room::open();
    room.insert(&appointment(1, 10)).await.unwrap();
    let shown = || {
        let event = room.google.book().appointments(CALENDAR).remove(0);
        let property = event["extendedProperties"]["private"]["recadoConfirmed"].clone();
        (event["summary"].as_str().unwrap().to_owned(), property)
    };
    for _ in 0..2 {
        mark(&room, true).await;
        assert_eq!(shown(), ("\u{2713} Consulta".to_owned(), json!("1")));
    }
    let found = room.find(&id(1)).await.unwrap();
    assert_eq!(found.tag.as_deref(), Some("thread-1"));
    mark(&room, false).await;
    assert_eq!(shown(), ("Consulta".to_owned(), Value::Null));
    room.google.book().delete_event(CALENDAR, id(1).as_str());
    mark(&room, true).await;
    assert_eq!(room.google.book().appointments(CALENDAR), [] as [Value; 0]);
    room.check_requests();
}
