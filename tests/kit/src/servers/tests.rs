//! Over real HTTP, by the client that the product uses.

mod anthropic;
mod contents;
mod dialog360;
mod evolution;
mod meta;
mod refusals;

use super::*;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);

fn client() -> Client {
    recado_http_client::build_http_client().unwrap()
}

/// Status and body.
async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or_default())
}

async fn go(request: RequestBuilder) -> (u16, Value) {
    read(request.send().await.unwrap()).await
}

fn texts(delivered: &[Delivered]) -> Vec<&str> {
    delivered.iter().map(|message| message.text.as_str()).collect()
}

fn evolution_send(server: &StandIn, text: &str) -> RequestBuilder {
    client()
        .post(format!("{}/message/sendText/loja-1", server.url()))
        .header("apikey", "key-1")
        .json(&json!({"number": "5511944440000", "text": text}))
}

#[tokio::test]
async fn each_request_meets_the_next_behaviour_and_then_the_usual_one() {
    let server = StandIn::evolution();
    server.next_all([
        Behaviour::status_with(503, json!({"status": 503}), "retry-after", "7"),
        Behaviour::Normal,
    ]);
    server.usually(Behaviour::status(429, json!({"status": 429})));
    let first = evolution_send(&server, "one").send().await.unwrap();
    assert_eq!(first.headers()["retry-after"], "7");
    assert_eq!(read(first).await, (503, json!({"status": 503})));
    assert_eq!(go(evolution_send(&server, "two")).await.0, 201);
    assert_eq!(go(evolution_send(&server, "three")).await.0, 429);
    assert_eq!(
        texts(&server.phone()),
        ["two"],
        "what is refused reaches no phone"
    );
    assert_eq!(server.requests().len(), 3);
    assert!(server.violations().is_empty());
    server.reset();
    assert!(server.requests().is_empty() && server.phone().is_empty());
    assert_eq!(go(evolution_send(&server, "four")).await.0, 201);
}

#[tokio::test]
async fn a_message_can_be_accepted_and_its_answer_lost() {
    let server = StandIn::evolution();
    server.next(Behaviour::AcceptThenDrop);
    let error = evolution_send(&server, "lost").send().await.unwrap_err();
    assert!(
        !error.is_connect() && !error.is_timeout(),
        "the request left: {error:?}"
    );
    assert_eq!(texts(&server.phone()), ["lost"]);
    assert_eq!(server.requests().len(), 1, "it came once");
    assert_eq!(go(evolution_send(&server, "next")).await.0, 201);
}

#[tokio::test]
async fn a_request_that_hangs_goes_out_late_even_if_its_client_is_gone() {
    let server = StandIn::evolution();
    server.next_all([
        Behaviour::Hang(Duration::from_secs(600)),
        Behaviour::Hang(Duration::from_millis(20)),
    ]);
    let late = tokio::spawn(evolution_send(&server, "late").send());
    server.wait_for_requests(1, SOON).await;
    late.abort();
    assert!(late.await.unwrap_err().is_cancelled());
    while server.given_up() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(go(evolution_send(&server, "patient")).await.0, 201);
    assert_eq!(texts(&server.phone()), ["patient"]);
    server.let_go();
    assert_eq!(texts(&server.wait_for_phone(2, SOON).await), ["patient", "late"]);
}

#[tokio::test]
async fn waiting_ends_at_the_limit_with_what_there_is() {
    let server = StandIn::evolution();
    go(evolution_send(&server, "only")).await;
    let began = Instant::now();
    assert_eq!(server.wait_for_phone(2, Duration::from_millis(60)).await.len(), 1);
    assert!(began.elapsed() >= Duration::from_millis(60));
    assert_eq!(server.wait_for_requests(1, SOON).await.len(), 1);
}

#[tokio::test]
async fn dropping_it_breaks_what_hangs_and_another_can_take_its_place() {
    let server = StandIn::evolution();
    let port: u16 = server.url().rsplit_once(':').unwrap().1.parse().unwrap();
    let journal = server.journal().clone();
    server.next(Behaviour::Hang(Duration::from_secs(600)));
    let hanging = tokio::spawn(evolution_send(&server, "never").send());
    server.wait_for_requests(1, SOON).await;
    let refused = evolution_send(&server, "down");
    drop(server);
    assert!(hanging.await.unwrap().is_err());
    assert!(refused.send().await.unwrap_err().is_connect());
    let again = StandIn::with_journal(Kind::Evolution, port, journal).unwrap();
    assert_eq!(go(evolution_send(&again, "back")).await.0, 201);
    assert_eq!((again.requests().len(), texts(&again.phone())), (2, vec!["back"]));
}
