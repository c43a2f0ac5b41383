//! What comes in large numbers while nobody answers: the messages of a night, and a phone's whole history.

use crate::answering::apply_lines;
use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::webhooks::evolution_text;
use serde_json::{Value, json};

const MARIA: &str = "5511900000001@s.whatsapp.net";

const CLOSED: &str = "opening_hours = { exceptions = [{ date = \"2199-12-24\", hours = [\"09:00-12:00\"] }], \
                      time_zone = \"America/Manaus\" }";

/// The lines that the model was asked last in each request.
fn asked_lines(machine: &Machine) -> Vec<String> {
    let requests = machine.stand_ins.anthropic.requests();
    let last = |request: &Value| {
        let turn = request["messages"].as_array().unwrap().last().unwrap().clone();
        match &turn["content"] {
            Value::String(text) => text.clone(),
            blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
        }
    };
    let texts: Vec<String> = requests.iter().map(|request| last(&request.body)).collect();
    texts
        .iter()
        .flat_map(|text| text.lines().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn sixty_messages_of_a_night_are_all_read_and_answered_once_the_hours_are_others() {
    let machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    let applied = apply_lines(&machine, "", CLOSED);
    assert!(applied.success, "{}", applied.err);
    let writes = async |number: u32| {
        let (id, text) = (format!("N{number}"), format!("mensagem {number}"));
        let body = evolution_text(INSTANCE, MARIA, &id, &text, seconds());
        assert_eq!(machine.evolution(&body).await, 200);
    };
    for number in 1..=59 {
        writes(number).await;
    }
    eventually("all of the night to be stored", || async {
        let items = machine.get("/v1/conversations").await["items"].clone();
        (items[0]["last_ordinal"] == 59).then_some(())
    })
    .await;
    assert!(
        machine.stand_ins.anthropic.requests().is_empty(),
        "nobody is asked at night"
    );
    let applied = apply_lines(&machine, "", "");
    assert!(applied.success, "{}", applied.err);
    writes(60).await;
    // A turn reads twenty messages; the next one reads on.
    let phone = machine.phone(3).await;
    let expected: Vec<String> = (1..=60).map(|number| format!("mensagem {number}")).collect();
    assert_eq!(
        asked_lines(&machine),
        expected,
        "each is asked for once, in order"
    );
    let answered: Vec<&str> = phone.iter().flat_map(|got| got.text.lines()).collect();
    assert_eq!(answered.len(), 60);
    let items = machine.get("/v1/conversations").await["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 1);
    assert_eq!(machine.stand_ins.violations(), []);
}

/// A part of a phone's history, as Evolution tells it once a phone is paired.
fn history(contact: usize, numbers: std::ops::Range<usize>) -> Value {
    let jid = format!("55119000010{contact:02}@s.whatsapp.net");
    let message = |number: usize| {
        let (id, text) = (format!("H{contact}-{number}"), format!("antiga {number}"));
        let at = seconds() - 86_400 - i64::try_from(1_000 - number).unwrap();
        evolution_text(INSTANCE, &jid, &id, &text, at)["data"].clone()
    };
    let data: Vec<Value> = numbers.map(message).collect();
    json!({"event": "messages.set", "instance": INSTANCE, "isLatest": true, "progress": 100, "data": data})
}

#[tokio::test]
async fn a_history_of_five_thousand_old_messages_is_stored_and_answered_by_nothing() {
    let machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    for contact in 0..20 {
        assert_eq!(machine.evolution(&history(contact, 0..250)).await, 200);
    }
    eventually("the whole history to be stored", || async {
        let list = machine.get("/v1/conversations?limit=100").await;
        let items = list["items"].as_array().unwrap().iter();
        let stored: Vec<u64> = items.map(|item| item["last_ordinal"].as_u64().unwrap()).collect();
        (stored == [250; 20]).then_some(())
    })
    .await;
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
    // What is new is answered, and the old is read with it.
    let jid = "5511900001003@s.whatsapp.net";
    let body = evolution_text(INSTANCE, jid, "NEW", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    let phone = machine.phone(1).await;
    let told = &phone[0].text;
    assert!(
        told.contains("\nantiga 249\n") && told.ends_with("\nOi"),
        "{told}"
    );
    eventually("the reply to be sent", || async {
        let health = machine.get("/health/whatsapp").await;
        (health["queues"]["outbound"] == 0).then_some(())
    })
    .await;
    assert_eq!(
        machine.stand_ins.anthropic.requests().len(),
        1,
        "nobody else is answered"
    );
    assert_eq!(machine.stand_ins.evolution.phone().len(), 1);
    assert_eq!(machine.get("/v1/dead-letters").await["items"], json!([]));
}
