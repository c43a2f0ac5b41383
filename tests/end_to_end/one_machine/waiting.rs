use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::servers::ConnectionState;
use recado_testkit::webhooks::{evolution_connection, evolution_text};
use serde_json::json;

const MARIA: &str = "5511900000001@s.whatsapp.net";

#[tokio::test]
async fn without_a_credential_messages_wait_and_leave_once_it_is_there() {
    let mut machine = Machine::prepared(&[("RECADO_SIMULATION", "off")]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("serve");
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "W1", "Oi", seconds()))
        .await;
    eventually("needs_credentials", || async {
        let health = machine.get("/health/whatsapp").await.to_string();
        health.contains("needs_credentials").then_some(())
    })
    .await;
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
    assert_eq!(
        machine.get("/v1/dead-letters").await["items"],
        json!([]),
        "waiting is not failing"
    );
    machine.stop("-TERM");
    machine.set("EVOLUTION_API_KEY", "evolution-key");
    machine.start("serve");
    let state = evolution_connection(INSTANCE, "open", "2026-01-05T12:00:00.000Z");
    machine.evolution(&state).await;
    assert_eq!(machine.phone(1).await[0].text, "echo: Oi");
}

#[tokio::test]
async fn a_disconnected_instances_messages_are_parked_and_released_in_order() {
    let machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    machine.stand_ins.evolution.set_connection(ConnectionState::Close);
    for number in 0..3 {
        let body = evolution_text(
            INSTANCE,
            MARIA,
            &format!("C{number}"),
            &format!("parte {number}"),
            seconds(),
        );
        machine.evolution(&body).await;
        machine
            .stand_ins
            .anthropic
            .wait_for_requests(number + 1, crate::machine::PATIENCE)
            .await;
    }
    eventually("the instance to be closed", || async {
        machine
            .get("/health/whatsapp")
            .await
            .to_string()
            .contains("closed")
            .then_some(())
    })
    .await;
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
    machine.stand_ins.evolution.set_connection(ConnectionState::Open);
    machine
        .evolution(&evolution_connection(
            INSTANCE,
            "open",
            "2026-01-05T12:00:01.000Z",
        ))
        .await;
    let got = machine.phone(3).await;
    let texts: Vec<&str> = got.iter().map(|got| got.text.as_str()).collect();
    assert_eq!(texts, ["echo: parte 0", "echo: parte 1", "echo: parte 2"]);
    assert_eq!(machine.get("/v1/dead-letters").await["items"], json!([]));
}

#[tokio::test]
async fn out_of_hours_the_turn_waits_for_the_opening() {
    let mut machine = Machine::prepared(&[]);
    // Open on one weekday only, three days from now: closed today, whatever the day.
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let weekday = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .weekday()
        .to_monday_zero_offset();
    let opens = days[usize::try_from((weekday + 3) % 7).unwrap()];
    machine.configure(&format!(
        r#"
        [[tenants]]
        id = "t"
        [[agents]]
        id = "a"
        tenant = "t"
        model = "claude-sonnet-4-5"
        system_prompt = "p"
        [[instances]]
        id = "{INSTANCE}"
        tenant = "t"
        agent = "a"
        provider = "evolution"
        [instances.opening_hours]
        {opens} = ["09:00-10:00"]
        "#
    ));
    machine.start("serve");
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "H1", "Oi", seconds()))
        .await;
    eventually("the turn to be put off", || async {
        machine.log().contains("turn waits for opening").then_some(())
    })
    .await;
    assert!(machine.stand_ins.anthropic.requests().is_empty());
    let id = machine.conversation().await;
    assert_eq!(machine.messages(&id).await.len(), 1);
}
