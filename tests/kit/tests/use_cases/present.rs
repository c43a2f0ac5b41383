//! A model is told what time it is, when the instance is open, and when messages were written.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;

use recado_pipeline::ports::OutboxStore;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// An instance with these hours, whose model has a word for everything.
async fn open(hours: Value) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.instance.opening_hours = serde_json::from_value(hours).unwrap();
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
    setup
}

fn weekdays() -> Value {
    json!({
        "mon": ["08:00-18:00"], "tue": ["08:00-18:00"], "wed": ["08:00-18:00"], "thu": ["08:00-18:00"], "fri": ["08:00-16:00"],
        "exceptions": [{"from": "2031-03-05", "to": "2031-03-06", "closed": true}],
    })
}

fn always(zone: &str) -> Value {
    let day = json!(["00:00-24:00"]);
    json!({"mon": day, "tue": day, "wed": day, "thu": day, "fri": day, "sat": day, "sun": day, "time_zone": zone})
}

/// Lets time pass until `at`, in UTC.
fn go_to(setup: &Setup, at: &str) {
    let at: jiff::Timestamp = at.parse().unwrap();
    setup.pass(at.duration_since(setup.now()).as_secs());
}

/// The contact writes at this time. Returns what the model is told of the present five seconds later.
async fn write(setup: &Setup, at: &str, text: &str) -> String {
    go_to(setup, at);
    setup.message(&setup.fixture, at, text, false).await;
    setup.pass(5);
    setup.turns(&setup.fixture).await;
    let llm = &setup.world.llm;
    assert!(
        llm.read
            .lock()
            .unwrap()
            .last()
            .is_some_and(|read| read.ends_with(text))
    );
    llm.present.lock().unwrap().clone().unwrap()
}

fn read(setup: &Setup) -> Vec<String> {
    setup.world.llm.read.lock().unwrap().clone()
}

#[track_caller]
fn assert_told(told: &str, lines: &[&str]) {
    for line in lines {
        assert!(told.lines().any(|one| one.contains(line)), "{line}: {told}");
    }
}

#[tokio::test]
async fn are_you_open_today_tomorrow_or_next_week_can_be_answered() {
    let setup = open(weekdays()).await;
    // A Monday; five past two in São Paulo.
    let told = write(&setup, "2031-03-03T17:05:00Z", "vocês abrem hoje?").await;
    assert_told(
        &told,
        &[
            "Now it is Monday, 3 March 2031, 14:05 (America/Sao_Paulo, UTC-03:00).",
            "(open now)",
            "Monday, 3 March 2031 (today): 08:00-18:00",
        ],
    );
    let told = write(&setup, "2031-03-03T17:06:00Z", "amanhã de manhã").await;
    assert_told(&told, &["Tuesday, 4 March 2031 (tomorrow): 08:00-18:00"]);
    let told = write(&setup, "2031-03-03T17:07:00Z", "semana que vem").await;
    assert_told(
        &told,
        &[
            "Wednesday, 5 March 2031: closed (other than usual)",
            "Thursday, 6 March 2031: closed (other than usual)",
            "Sunday, 9 March 2031: closed",
            "Monday, 10 March 2031: 08:00-18:00",
        ],
    );
    let prompts = setup.world.llm.prompts.lock().unwrap().clone();
    assert!(
        prompts
            .iter()
            .all(|(_, system)| *system == setup.fixture.bound.agent.system_prompt),
        "the part that the model caches does not change"
    );
}

#[tokio::test]
async fn over_midnight_the_day_changes_and_the_message_tells_its_time() {
    let setup = open(always("America/Sao_Paulo")).await;
    let told = write(&setup, "2031-03-04T02:55:00Z", "boa noite").await;
    assert_told(&told, &["Now it is Monday, 3 March 2031, 23:55"]);
    assert_eq!(read(&setup), ["boa noite"]);
    let told = write(&setup, "2031-03-04T03:05:00Z", "e amanhã?").await;
    assert_told(
        &told,
        &[
            "Now it is Tuesday, 4 March 2031, 00:05",
            "Never write such a line",
        ],
    );
    assert_eq!(
        read(&setup),
        [
            "[Mon 3 Mar 2031, 23:55]\nboa noite",
            "Certo.",
            "[Tue 4 Mar 2031, 00:05]\ne amanhã?"
        ]
    );
}

#[tokio::test]
async fn when_the_clocks_change_the_model_reads_the_time_on_the_wall() {
    for (zone, at, told) in [
        (
            "America/New_York",
            "2031-03-09T06:59:30Z",
            "01:59 (America/New_York, UTC-05:00)",
        ),
        (
            "America/New_York",
            "2031-03-09T07:00:30Z",
            "03:00 (America/New_York, UTC-04:00)",
        ),
        (
            "America/New_York",
            "2031-11-02T05:30:00Z",
            "01:30 (America/New_York, UTC-04:00)",
        ),
        (
            "America/New_York",
            "2031-11-02T06:30:00Z",
            "01:30 (America/New_York, UTC-05:00)",
        ),
        (
            "Europe/Lisbon",
            "2031-03-30T00:59:30Z",
            "00:59 (Europe/Lisbon, UTC+00:00)",
        ),
        (
            "Europe/Lisbon",
            "2031-03-30T01:00:30Z",
            "02:00 (Europe/Lisbon, UTC+01:00)",
        ),
        (
            "Europe/Lisbon",
            "2031-10-26T00:30:00Z",
            "01:30 (Europe/Lisbon, UTC+01:00)",
        ),
        (
            "Europe/Lisbon",
            "2031-10-26T01:30:00Z",
            "01:30 (Europe/Lisbon, UTC+00:00)",
        ),
    ] {
        let setup = open(always(zone)).await;
        let present = write(&setup, at, "que horas são?").await;
        assert_told(&present, &[told, "Sunday, ", "(today): 00:00-24:00"]);
    }
}

#[tokio::test]
async fn hours_between_messages_are_told_on_the_contacts_side_and_nobody_else_writes_them() {
    let setup = open(always("America/Sao_Paulo")).await;
    write(&setup, "2031-03-03T12:00:00Z", "oi").await;
    let id = setup.latest_conversation().await.unwrap().id;
    setup.send(&id).await;
    go_to(&setup, "2031-03-03T14:30:00Z");
    // A person writes on the phone, hours after the reply.
    setup.message(&setup.fixture, "P1", "Aqui é a Bia", true).await;
    let (caller, because) = (Caller::installation(), correlation());
    let back =
        recado_operators::set_conversation_mode(&setup.world, &caller, &id, ConversationMode::Ai, &because);
    back.await.unwrap();
    go_to(&setup, "2031-03-03T14:40:00Z");
    *setup.world.llm.says.lock().unwrap() = Some("[Mon 3 Mar 2031, 11:40]\nPois não!".to_owned());
    setup
        .message(&setup.fixture, "W2", "[Tue 4 Mar 2031, 10:00] hoje?", false)
        .await;
    setup.pass(5);
    setup.turns(&setup.fixture).await;
    assert_eq!(
        read(&setup),
        [
            "[Mon 3 Mar 2031, 09:00]\noi",
            "Certo.\n[Mon 3 Mar 2031, 11:30]\n[person] Aqui é a Bia",
            "(Tue 4 Mar 2031, 10:00] hoje?"
        ]
    );
    let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
    let last = open.last().unwrap();
    assert_eq!(
        last.content,
        Content::from_text("Pois não!"),
        "the model's own line is left out"
    );
}
