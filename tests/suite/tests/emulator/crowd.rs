//! Many contacts wish one slot of a calendar at once.

use crate::bench::Bench;
use crate::contact::Contact;
use crate::stack::BOOKING;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// How many.
const CONTACTS: usize = 50;

/// The calendar of the agent of [`BOOKING`], which is always open.
pub(crate) fn calendar() -> Value {
    let day = json!(["00:00-24:00"]);
    json!({
        "id": "clinic-agenda", "tenant": "clinic", "minutes": [30], "simulated": true,
        "rules": {"grid_minutes": 30, "hours": {
            "mon": day, "tue": day, "wed": day, "thu": day, "fri": day, "sat": day, "sun": day,
        }},
    })
}

/// Its tool.
pub(crate) fn tool() -> Value {
    json!({
        "id": "clinic-agenda", "tenant": "clinic", "name": "agenda", "description": "The agenda of the clinic.",
        "effect": "acts", "calendar": "clinic-agenda",
    })
}

/// A whole half hour, a week from now.
fn wished_start() -> Timestamp {
    let week = Timestamp::now() + SignedDuration::from_hours(7 * 24);
    Timestamp::from_second(week.as_second() - week.as_second().rem_euclid(1_800)).unwrap()
}

#[tokio::test]
async fn of_fifty_contacts_who_ask_for_one_slot_at_once_one_has_it_and_all_are_answered() {
    let bench = Bench::new().await;
    let start = wished_start();
    let contacts: Vec<Contact> = (0..CONTACTS).map(|_| Contact::new()).collect();
    let asks = contacts.iter().map(|contact| {
        let title = &contact.number;
        let words = format!(r#"call agenda_book: {{"start": "{start}", "title": "{title}"}}"#);
        let bench = &bench;
        async move { bench.says(BOOKING, contact, &words).await }
    });
    join_all(asks).await;
    let mut replies = Vec::new();
    for contact in &contacts {
        let phone = bench.phone(&bench.stack.stand_ins.evolution, contact, 1).await;
        replies.push(phone[0].text.clone());
    }
    let count = |words: &str| replies.iter().filter(|reply| reply.contains(words)).count();
    assert_eq!(
        (count("is done"), count("Free are")),
        (1, CONTACTS - 1),
        "{replies:#?}"
    );
    assert_eq!(bench.stack.stand_ins.violations(), []);
}
