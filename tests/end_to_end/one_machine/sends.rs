use crate::machine::{INSTANCE, Machine, eventually, seconds};
use jiff::Timestamp;
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const MARIA: &str = "5511900000001@s.whatsapp.net";

async fn send(machine: &Machine, body: Value) -> (StatusCode, Value) {
    let path = format!("/v1/instances/{INSTANCE}/messages");
    machine.api(Method::POST, &path, Some(body)).await
}

/// The steps of a message's way, once the last of them is `last`.
async fn way(machine: &Machine, id: &str, last: &str) -> Vec<Value> {
    let path = format!("/v1/messages/{id}");
    eventually(last, || async {
        let shown = machine.get(&path).await;
        let way = shown["way"].as_array().unwrap().clone();
        way.last().is_some_and(|step| step["step"] == last).then_some(way)
    })
    .await
}

fn steps(way: &[Value]) -> Vec<&str> {
    way.iter().map(|step| step["step"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_sent_by_the_api_arrives_once_however_often_the_client_repeats_it() {
    let machine = Machine::serving(&[]);
    let body = json!({"to": "+55 11 90000-0001", "text": "Seu pedido saiu.", "message_id": "order-7"});
    let (status, first) = send(&machine, body.clone()).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{first}");
    let delivered = machine.phone(1).await;
    assert_eq!(delivered[0].text, "Seu pedido saiu.");
    let (status, again) = send(&machine, body).await;
    assert_eq!((status, &again["id"]), (StatusCode::OK, &first["id"]));
    let other = json!({"to": MARIA, "text": "Outro texto", "message_id": "order-7"});
    assert_eq!(send(&machine, other).await.0, StatusCode::CONFLICT);
    let walked = way(&machine, first["id"].as_str().unwrap(), "sent").await;
    assert_eq!(steps(&walked), ["committed", "claimed", "sent"]);
    machine.quiet().await;
    machine.phone(1).await;
}

#[tokio::test]
async fn a_scheduled_message_arrives_when_it_is_due_and_not_before() {
    let machine = Machine::serving(&[]);
    // Time to ask for both and to take one back, also on a busy machine.
    let send_at = Timestamp::from_second(seconds() + 8).unwrap();
    let body = json!({"to": MARIA, "text": "Até já", "send_at": send_at.to_string()});
    let (status, taken) = send(&machine, body).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{taken}");
    let back = json!({"to": MARIA, "text": "Taken back", "send_at": send_at.to_string()});
    let (_, back) = send(&machine, back).await;
    let path = format!("/v1/messages/{}", back["id"].as_str().unwrap());
    let (status, cancelled) = machine.api(Method::DELETE, &path, None).await;
    assert_eq!(status, StatusCode::OK, "{cancelled}");
    assert_eq!(machine.phone(1).await[0].text, "Até já");
    assert!(Timestamp::now() >= send_at);
    let walked = way(&machine, taken["id"].as_str().unwrap(), "sent").await;
    assert_eq!(steps(&walked), ["scheduled", "committed", "claimed", "sent"]);
    for step in &walked[1..] {
        let at: Timestamp = step["at"].as_str().unwrap().parse().unwrap();
        assert!(at >= send_at, "{step}");
    }
}

#[tokio::test]
async fn an_answered_messages_way_leads_in_and_out_and_its_trace_holds_event_message_and_reply() {
    let machine = Machine::serving(&[]);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "T1", "Oi", seconds()))
        .await;
    machine.phone(1).await;
    let conversation = machine.conversation().await;
    let messages = machine.messages(&conversation).await;
    let [asked, reply] = &messages[..] else {
        panic!("{messages:?}")
    };
    let whole = [
        "received",
        "deduplicated",
        "processing",
        "stored",
        "turn",
        "committed",
        "claimed",
        "sent",
    ];
    for message in [asked, reply] {
        let walked = way(&machine, message["id"].as_str().unwrap(), "sent").await;
        assert_eq!(steps(&walked), whole);
        let turn = &walked[4]["detail"];
        assert_eq!(
            (&turn["waited_for"], &turn["attempts"]),
            (&json!("debounce"), &json!(1)),
            "{turn}"
        );
        assert!(
            turn["model"].is_string() && turn["output_tokens"].is_number(),
            "{turn}"
        );
        assert!(
            walked[1..]
                .iter()
                .all(|step| step["wait_ms"].as_i64().unwrap() >= 0),
            "{walked:?}"
        );
    }
    let id = asked["id"].as_str().unwrap();
    let by_message = machine.get(&format!("/v1/trace?message={id}")).await;
    let event = &by_message["events"][0];
    assert_eq!(
        (&event["state"], &event["enqueued_turn"]),
        (&json!("applied"), &json!(1)),
        "{event}"
    );
    assert!(
        event["started_at"].is_string() && event["finished_at"].is_string(),
        "{event}"
    );
    let event_id = event["id"].as_str().unwrap();
    let correlation = event["correlation_id"].as_str().unwrap();
    for query in [format!("event={event_id}"), format!("correlation={correlation}")] {
        let found = machine.get(&format!("/v1/trace?{query}")).await;
        assert_eq!(found["events"], by_message["events"], "{query}");
        let ids = |found: &Value| -> Vec<Value> {
            let messages = found["messages"].as_array().unwrap();
            messages.iter().map(|message| message["id"].clone()).collect()
        };
        assert_eq!(ids(&found), [asked["id"].clone(), reply["id"].clone()], "{query}");
    }
}

#[tokio::test]
async fn a_provider_that_always_answers_500_is_tried_five_times_and_the_next_message_leaves() {
    let machine = Machine::serving(&[("RECADO_UNKNOWN_WAIT_SECONDS", "1")]);
    let failed =
        json!({"status": 500, "error": "Internal Server Error", "response": {"message": "TypeError"}});
    machine
        .stand_ins
        .evolution
        .next_all([(); 5].map(|()| Behaviour::status(500, failed.clone())));
    let (_, first) = send(&machine, json!({"to": MARIA, "text": "Um"})).await;
    let (_, second) = send(&machine, json!({"to": MARIA, "text": "Dois"})).await;
    let walked = way(&machine, second["id"].as_str().unwrap(), "sent").await;
    assert_eq!(walked.last().unwrap()["step"], "sent");
    assert_eq!(machine.phone(1).await[0].text, "Dois");
    let dead_letters = machine.get("/v1/dead-letters").await["items"].clone();
    assert_eq!(dead_letters.as_array().unwrap().len(), 1, "{dead_letters}");
    assert_eq!(dead_letters[0]["reason"], "unknown_outcome");
    let shown = machine
        .get(&format!("/v1/messages/{}", first["id"].as_str().unwrap()))
        .await;
    assert_eq!(shown["maybe_sent"], true, "{shown}");
    let requests = machine.stand_ins.evolution.requests();
    let sends = requests
        .iter()
        .filter(|request| request.path.contains("sendText"));
    assert_eq!(sends.count(), 6);
}

#[tokio::test]
async fn a_reply_leaves_before_what_a_client_sent_in_bulk() {
    const BULK: usize = 60;
    let machine = Machine::serving(&[
        ("RECADO_RATE_PER_SECOND", "5"),
        ("RECADO_RATE_BURST", "5"),
        ("RECADO_DEBOUNCE_SECONDS", "0"),
    ]);
    for number in 0..BULK {
        let body = json!({"to": format!("+55 11 91000-{number:04}"), "text": "Promo", "message_id": format!("promo-{number}")});
        assert_eq!(send(&machine, body).await.0, StatusCode::ACCEPTED);
    }
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "B1", "Oi", seconds()))
        .await;
    let delivered = machine.phone(BULK + 1).await;
    let reply = delivered
        .iter()
        .position(|message| message.text != "Promo")
        .unwrap();
    // The bulk takes 12 s. Without the order the reply would be the last.
    assert!(reply < BULK - 20, "the reply was number {reply}");
}
