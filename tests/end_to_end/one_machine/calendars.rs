//! An agent with a calendar: the real program with the simulated model, and a stand-in of Google Calendar that checks every request.

use crate::machine::{INSTANCE, Machine, eventually, seconds};
use futures::future::join_all;
use recado_testkit::servers::{CALENDAR, GoogleStandIn};
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const MARIA: &str = "5511900000001@s.whatsapp.net";

/// Part of the key of the service account that stands nowhere but in its secret.
const SECRET_NAME: &str = "RECADO_CREDENTIAL_DEMO_CALENDAR";

/// The configuration: a clinic that is always open, with a calendar of this kind.
pub(crate) fn document(kind: &str) -> String {
    format!(
        r#"
[[tenants]]
id = "demo"

[[calendars]]
id = "agenda"
tenant = "demo"
minutes = [30]
{kind}

[calendars.rules]
grid_minutes = 30
hours = {{ mon = ["00:00-24:00"], tue = ["00:00-24:00"], wed = ["00:00-24:00"], thu = ["00:00-24:00"], fri = ["00:00-24:00"], sat = ["00:00-24:00"], sun = ["00:00-24:00"] }}

[[tools]]
id = "agenda"
tenant = "demo"
description = "The agenda of the clinic."
effect = "acts"
calendar = "agenda"

[[agents]]
id = "ana"
tenant = "demo"
model = "claude-sonnet-4-5"
system_prompt = "You answer for a clinic."
tools = ["agenda"]

[[instances]]
id = "{INSTANCE}"
tenant = "demo"
agent = "ana"
provider = "evolution"
"#
    )
}

pub(crate) fn google() -> String {
    format!(r#"google = {{ calendar_id = "{CALENDAR}", credential = "env:{SECRET_NAME}" }}"#)
}

/// Starts the program with the simulated model, and this calendar.
pub(crate) fn start(calendar: &GoogleStandIn, kind: &str) -> Machine {
    let mut machine = Machine::prepared(&[
        ("RECADO_SIMULATION", "auto"),
        ("RECADO_SIMULATED_LATENCY_MS", "0"),
        ("RECADO_DEBOUNCE_SECONDS", "0"),
        ("GOOGLE_CALENDAR_BASE_URL", &calendar.api_base_url()),
        ("GOOGLE_TOKEN_URL", &calendar.token_url()),
        (SECRET_NAME, &calendar.service_account()),
    ]);
    machine.unset("ANTHROPIC_API_KEY");
    machine.unset("EVOLUTION_API_KEY");
    machine.configure(&document(kind));
    machine.start("serve");
    machine
}

/// Asks the simulated model for a call, and returns what it repeats of the answer, and the turn of the reply.
pub(crate) async fn call(machine: &Machine, number: usize, words: &str) -> (String, Value) {
    let body = evolution_text(INSTANCE, MARIA, &format!("C{number}"), words, seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    let reply = eventually("the reply", || async {
        let messages = machine.messages(&machine.conversation().await).await;
        let replies = messages
            .into_iter()
            .filter(|message| message["role"] == "assistant")
            .collect::<Vec<_>>();
        (replies.len() == number)
            .then(|| replies.last().cloned())
            .flatten()
    })
    .await;
    let text = reply["content"].as_str().unwrap().to_owned();
    let timeline = machine
        .get(&format!("/v1/messages/{}", reply["id"].as_str().unwrap()))
        .await;
    let stages = timeline["way"].as_array().unwrap().clone();
    let turn = stages.into_iter().find(|stage| stage["step"] == "turn").unwrap();
    (text, turn["detail"]["tools"].clone())
}

/// Returns the first start that a list of free slots names.
fn first_start(listed: &str) -> String {
    let (_, rest) = listed.split_once("(start ").unwrap();
    rest.split_once(')').unwrap().0.to_owned()
}

#[tokio::test]
async fn an_agent_lists_free_times_books_moves_and_cancels() {
    let calendar = GoogleStandIn::start();
    let machine = start(&calendar, &google());
    let (listed, tools) = call(&machine, 1, "call agenda_free_slots: {}").await;
    assert_eq!(tools[0]["outcome"], "answered", "{listed}");
    let start = first_start(&listed);
    let book = format!(r#"call agenda_book: {{"start": "{start}", "title": "Maria, check-up"}}"#);
    let (told, tools) = call(&machine, 2, &book).await;
    assert_eq!(tools[0]["outcome"], "answered", "{told}");
    assert!(told.contains("is done"), "{told}");
    let booked = calendar.book().appointments(CALENDAR);
    assert_eq!(
        (booked.len(), &booked[0]["summary"]),
        (1, &json!("Maria, check-up"))
    );
    let (mine, _) = call(&machine, 3, "call agenda_appointments: {}").await;
    assert!(mine.contains(&start), "{mine}");
    let (listed, _) = call(&machine, 4, "call agenda_free_slots: {}").await;
    let other = first_start(&listed);
    assert_ne!(other, start, "the first is taken");
    let (told, tools) = call(
        &machine,
        5,
        &format!(r#"call agenda_move: {{"start": "{other}"}}"#),
    )
    .await;
    assert_eq!(tools[0]["outcome"], "answered", "{told}");
    let (mine, _) = call(&machine, 6, "call agenda_appointments: {}").await;
    assert!(mine.contains(&other) && !mine.contains(&start), "{mine}");
    // Another contact's hand, or a person's event, is in the way: other times are offered.
    let taken = format!(r#"call agenda_book: {{"start": "{other}"}}"#);
    let (told, tools) = call(&machine, 7, &taken).await;
    assert_eq!(tools[0]["outcome"], "refused", "{told}");
    assert!(told.contains("taken") && told.contains("Free are"), "{told}");
    let (told, tools) = call(&machine, 8, "call agenda_cancel: {}").await;
    assert_eq!(tools[0]["outcome"], "answered", "{told}");
    assert_eq!(calendar.book().appointments(CALENDAR), Vec::<Value>::new());
    let (told, _) = call(&machine, 9, "call agenda_cancel: {}").await;
    assert!(told.contains("no such appointment"), "{told}");
    assert!(calendar.violations().is_empty(), "{:?}", calendar.violations());
    assert_no_secret(&machine, &calendar).await;
}

/// Asserts that the key of the calendar is in no answer of the API and in no line of the log.
async fn assert_no_secret(machine: &Machine, calendar: &GoogleStandIn) {
    let account: Value = serde_json::from_str(&calendar.service_account()).unwrap();
    let key = account["private_key"].as_str().unwrap();
    let part = &key[100..140];
    let conversation = machine.conversation().await;
    let mut seen = machine.log() + &machine.output();
    for path in ["/v1/config", "/v1/calendars", "/v1/tools", "/v1/audit"] {
        seen += &machine.get(path).await.to_string();
    }
    seen += &machine
        .get(&format!("/v1/conversations/{conversation}"))
        .await
        .to_string();
    for message in machine.messages(&conversation).await {
        let id = message["id"].as_str().unwrap().to_owned();
        seen += &machine.get(&format!("/v1/messages/{id}")).await.to_string();
    }
    assert!(
        !seen.contains(part) && !seen.contains("ya29."),
        "a secret is shown"
    );
}

#[tokio::test]
async fn what_people_move_and_delete_in_the_calendar_is_followed() {
    let calendar = GoogleStandIn::start();
    let machine = start(&calendar, &google());
    let (listed, _) = call(&machine, 1, "call agenda_free_slots: {}").await;
    let start = first_start(&listed);
    call(
        &machine,
        2,
        &format!(r#"call agenda_book: {{"start": "{start}"}}"#),
    )
    .await;
    let event = calendar.book().appointments(CALENDAR)[0].clone();
    let id = event["id"].as_str().unwrap();
    let later = |name: &str| {
        let at: jiff::Timestamp = event[name]["dateTime"].as_str().unwrap().parse().unwrap();
        json!({"dateTime": (at + jiff::SignedDuration::from_hours(3)).to_string(), "timeZone": "UTC"})
    };
    let moved = json!({"start": later("start"), "end": later("end")});
    calendar.book().change_event(CALENDAR, id, &moved);
    let (mine, _) = call(&machine, 3, "call agenda_appointments: {}").await;
    assert!(!mine.contains(&start), "{mine}");
    let (listed, _) = call(&machine, 4, "call agenda_free_slots: {}").await;
    assert_eq!(first_start(&listed), start, "its time is free again");
    calendar.book().delete_event(CALENDAR, id);
    let (mine, _) = call(&machine, 5, "call agenda_appointments: {}").await;
    assert!(mine.contains("no appointment"), "{mine}");
}

#[tokio::test]
async fn a_simulated_calendar_asks_nobody() {
    let calendar = GoogleStandIn::start();
    let machine = start(&calendar, "simulated = true");
    let (listed, _) = call(&machine, 1, "call agenda_free_slots: {}").await;
    let start = first_start(&listed);
    let (told, _) = call(
        &machine,
        2,
        &format!(r#"call agenda_book: {{"start": "{start}"}}"#),
    )
    .await;
    assert!(told.contains("is done"), "{told}");
    let (mine, _) = call(&machine, 3, "call agenda_appointments: {}").await;
    assert!(mine.contains(&start), "{mine}");
    let (told, _) = call(
        &machine,
        4,
        &format!(r#"call agenda_book: {{"start": "{start}"}}"#),
    )
    .await;
    assert!(told.contains("taken") && told.contains("Free are"), "{told}");
    let (told, _) = call(&machine, 5, "call agenda_cancel: {}").await;
    assert!(told.contains("is done"), "{told}");
    assert_eq!(
        (calendar.book().tokens_given(), calendar.requests().len()),
        (0, 0)
    );
    let (status, _) = machine.api(Method::DELETE, "/v1/calendars/agenda", None).await;
    assert_eq!(status, StatusCode::CONFLICT, "a tool names it");
}

#[tokio::test]
async fn of_fifty_customers_who_ask_for_one_slot_at_once_one_has_it_and_all_are_answered() {
    let calendar = GoogleStandIn::start();
    let machine = start(&calendar, &google());
    let (listed, _) = call(&machine, 1, "call agenda_free_slots: {}").await;
    let start = first_start(&listed);
    let asks = (0..50).map(|customer| {
        let (machine, start) = (&machine, &start);
        async move {
            let contact = format!("55119100000{customer:02}@s.whatsapp.net");
            let words =
                format!(r#"call agenda_book: {{"start": "{start}", "title": "customer {customer}"}}"#);
            let body = evolution_text(INSTANCE, &contact, &format!("F{customer}"), &words, seconds());
            assert_eq!(machine.evolution(&body).await, 200);
        }
    });
    join_all(asks).await;
    let replies = eventually("fifty replies", || async {
        let listed = machine.get("/v1/conversations?limit=200").await;
        let ids = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].as_str().unwrap());
        let mut replies = Vec::new();
        for id in ids {
            let messages = machine.messages(id).await;
            let of_agent = messages
                .into_iter()
                .filter(|message| message["role"] == "assistant");
            replies.extend(of_agent.map(|message| message["content"].as_str().unwrap().to_owned()));
        }
        (replies.len() == 51).then_some(replies)
    })
    .await;
    let count = |words: &str| replies.iter().filter(|reply| reply.contains(words)).count();
    assert_eq!((count("is done"), count("Free are")), (1, 49), "{replies:#?}");
    assert_eq!(calendar.book().appointments(CALENDAR).len(), 1);
}
