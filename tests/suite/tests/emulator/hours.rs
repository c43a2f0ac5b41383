//! Out of hours a turn waits for the opening, on a schedule.

use crate::bench::{Bench, PATIENCE, eventually, eventually_within};
use crate::contact::{Contact, correlation_id, message_id, seconds};
use crate::stack::{CLOSED, NIGHT, OPENING, Stack, instance};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Unit, Zoned};
use recado_testkit::webhooks::evolution_text;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A schedule lies at least a minute ahead and fires in its minute; the emulator looks every ten seconds.
const OPENING_WITHIN: Duration = Duration::from_secs(180);

/// Number of messages that are written to [`OPENING`] before it opens.
const EARLY: usize = 60;

/// Number of messages that a turn reads; the next one reads on.
const READ_BY_TURN: usize = 20;

/// What is written to [`OPENING`] before it opens.
fn early_texts() -> Vec<String> {
    let texts = (1..EARLY).map(|number| format!("recado {number} da noite"));
    texts.chain(["Já abriram?".to_owned()]).collect()
}

fn weekday(day: &Zoned) -> &'static str {
    let number = usize::try_from(day.weekday().to_monday_zero_offset()).unwrap();
    ["mon", "tue", "wed", "thu", "fri", "sat", "sun"][number]
}

/// The next opening of [`closed_today`]: 9 o'clock in three days.
fn opening_in_days() -> Zoned {
    let day = Timestamp::now()
        .to_zoned(TimeZone::UTC)
        .checked_add(3.days())
        .unwrap();
    day.date().at(9, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap()
}

/// Open on one weekday only, three days from now.
pub(crate) fn closed_today() -> Value {
    json!({weekday(&opening_in_days()): ["09:00-10:00"]})
}

/// Open for four hours from the minute that begins in 75 to 135 seconds.
pub(crate) fn opening_soon() -> Value {
    let soon = Timestamp::now()
        .to_zoned(TimeZone::UTC)
        .checked_add(135.seconds())
        .unwrap();
    let from = soon
        .round(
            jiff::ZonedRound::new()
                .smallest(Unit::Minute)
                .mode(jiff::RoundMode::Floor),
        )
        .unwrap();
    let to = from.checked_add(4.hours()).unwrap();
    // A span that ends before its start runs past midnight.
    json!({weekday(&from): [format!("{}-{}", from.strftime("%H:%M"), to.strftime("%H:%M"))]})
}

/// Writes to [`OPENING`], which is still closed.
pub(crate) async fn begin(stack: &Stack) {
    let http = recado_http_client::build_http_client().unwrap();
    for text in early_texts() {
        let body = evolution_text(OPENING, &stack.early.jid, &message_id(), &text, seconds());
        let request = http
            .post(stack.url("/webhooks/evolution"))
            .header("apikey", stack.secret(OPENING))
            .json(&body);
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn the_messages_of_a_night_are_read_and_answered_once_after_the_opening() {
    let bench = Bench::new().await;
    let (evolution, contact) = (&bench.stack.stand_ins.evolution, &bench.stack.early);
    let texts = early_texts();
    let expected: Vec<String> = texts
        .chunks(READ_BY_TURN)
        .map(|some| format!("echo: {}", some.join("\n")))
        .collect();
    let got = || async {
        let phone = evolution.phone().into_iter();
        let replies: Vec<_> = phone
            .filter(|message| message.to.contains(&contact.number))
            .collect();
        (replies.len() >= expected.len()).then_some(replies)
    };
    let replies = eventually_within(OPENING_WITHIN, "the opening", got).await;
    let told: Vec<&String> = replies.iter().map(|reply| &reply.text).collect();
    assert_eq!(
        told,
        expected.iter().collect::<Vec<_>>(),
        "all are read, in order"
    );
    let reply = &replies[0];
    let hours = bench.get("/v1/config").await;
    let instances = hours["document"]["instances"].as_array().unwrap().clone();
    let instance = instances
        .iter()
        .find(|instance| instance["id"] == OPENING)
        .unwrap();
    let at = reply.at.to_zoned(TimeZone::UTC);
    let opened = instance["opening_hours"]
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap()[0]
        .as_str()
        .unwrap();
    let (from, _) = opened.split_once('-').unwrap();
    let from: jiff::civil::Time = format!("{from}:00").parse().unwrap();
    let since = (at.time() - from).total(Unit::Second).unwrap();
    // Past midnight the difference is a day less.
    assert!(
        (0.0..PATIENCE.as_secs_f64() * 2.0).contains(&since.rem_euclid(86_400.0)),
        "{since} s after opening"
    );
    let id = bench.conversation(OPENING, contact).await;
    assert_eq!(bench.messages(&id).await.len(), EARLY + expected.len());
}

#[tokio::test]
async fn out_of_hours_a_turn_is_scheduled_for_the_opening_and_nobody_is_asked() {
    let (bench, contact, correlation) = (Bench::new().await, Contact::new(), correlation_id());
    let body = evolution_text(CLOSED, &contact.jid, &message_id(), "Boa noite", seconds());
    bench.evolution_with(&body, &correlation).await;
    let id = bench.conversation(CLOSED, &contact).await;
    let schedule = eventually("the schedule", || async {
        let request = bench
            .aws
            .scheduler()
            .list_schedules()
            .group_name("recado")
            .max_results(100);
        for summary in request.send().await.unwrap().schedules {
            let name = summary.name.unwrap();
            let found = bench
                .aws
                .scheduler()
                .get_schedule()
                .group_name("recado")
                .name(name)
                .send()
                .await
                .unwrap();
            if found
                .target
                .as_ref()
                .is_some_and(|target| target.input.as_deref().unwrap_or_default().contains(&id))
            {
                return Some(found);
            }
        }
        None
    })
    .await;
    let opening = opening_in_days();
    let minute = opening.timestamp().as_second() / 60;
    let name = schedule.name.unwrap();
    assert!(
        name.starts_with("t-") && name.ends_with(&format!("-{minute}")),
        "{name}"
    );
    let expected = format!("at({})", opening.strftime("%Y-%m-%dT%H:%M:%S"));
    assert_eq!(schedule.schedule_expression, Some(expected));
    assert_eq!(schedule.schedule_expression_timezone.as_deref(), Some("UTC"));
    let target = schedule.target.unwrap();
    assert!(target.arn.ends_with(":recado-turns"), "{}", target.arn);
    let job: Value = serde_json::from_str(target.input.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&job["conversation"], &job["correlation"]),
        (&json!(id), &json!(correlation))
    );
    assert_eq!(job["due"], opening.timestamp().as_millisecond());
    assert_eq!(bench.messages(&id).await.len(), 1);
    let asked = bench.stack.stand_ins.anthropic.requests();
    assert!(
        asked
            .iter()
            .all(|request| !request.body.to_string().contains("Boa noite")),
        "the model was asked"
    );
}

/// A function knows changed hours after 30 seconds at the latest: so long the contact writes now and then.
const WRITES_AGAIN: Duration = Duration::from_secs(5);

#[tokio::test]
async fn hours_that_are_changed_at_night_open_for_the_next_message_and_all_before_it() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    for text in ["um", "dois"] {
        bench.says(NIGHT, &contact, text).await;
    }
    let id = bench.conversation(NIGHT, &contact).await;
    bench
        .messages_when("both messages", &id, |messages| messages.len() == 2)
        .await;
    let document = json!({"instances": [instance(NIGHT, &json!({}))]});
    let (status, body) = bench.api(Method::PUT, "/v1/config", Some(document)).await;
    assert_eq!(status, 200, "{body}");
    let evolution = &bench.stack.stand_ins.evolution;
    let mut written = None::<Instant>;
    let reply = eventually("the first reply", || {
        let writes = written.is_none_or(|at| at.elapsed() > WRITES_AGAIN);
        if writes {
            written = Some(Instant::now());
        }
        let (bench, contact) = (&bench, &contact);
        async move {
            if writes {
                bench.says(NIGHT, contact, "mais um").await;
            }
            let phone = evolution.phone().into_iter();
            phone
                .into_iter()
                .find(|message| message.to.contains(&contact.number))
        }
    })
    .await;
    assert!(
        reply.text.starts_with("echo: um\ndois\nmais um"),
        "{}",
        reply.text
    );
}
