use crate::machine::{
    APP_SECRET, BURST, Machine, PATIENCE, PHONE_NUMBER_ID, VERIFY_TOKEN, eventually, seconds,
};
use recado_testkit::webhooks::{MetaText, meta_signature, meta_status, meta_text, meta_texts};
use reqwest::StatusCode;
use serde_json::Value;

async fn post(machine: &Machine, body: &Value, app_secret: &str) -> StatusCode {
    let bytes = body.to_string().into_bytes();
    let signature = meta_signature(app_secret, &bytes);
    let request = machine
        .http
        .post(machine.url("/webhooks/meta"))
        .header("X-Hub-Signature-256", signature);
    request.body(bytes).send().await.unwrap().status()
}

#[tokio::test]
async fn the_handshake_echoes_the_challenge_for_the_right_token_only() {
    let machine = Machine::serving(&[]);
    let ask = |token: &str| {
        let query = format!("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={token}");
        let request = machine
            .http
            .get(machine.url(&format!("/webhooks/whatsapp?{query}")));
        async {
            let response = request.send().await.unwrap();
            (response.status(), response.text().await.unwrap())
        }
    };
    assert_eq!(ask(VERIFY_TOKEN).await, (StatusCode::OK, "1158201444".to_owned()));
    assert!(ask("wrong").await.0.is_client_error());
}

#[tokio::test]
async fn a_signed_message_is_answered_and_its_statuses_find_the_reply() {
    let machine = Machine::serving(&[("META_APP_SECRET", &format!("another,{APP_SECRET}"))]);
    let body = meta_text(PHONE_NUMBER_ID, "5511900000003", "wamid.IN1", "Oi", seconds());
    assert_eq!(post(&machine, &body, "wrong").await, 401);
    assert_eq!(post(&machine, &body, APP_SECRET).await, 200);
    let sent = machine.stand_ins.meta.wait_for_phone(1, PATIENCE).await;
    assert_eq!(sent[0].text, "echo: Oi");
    assert_eq!(machine.stand_ins.violations(), []);
    let id = machine.conversation().await;
    // They come in the wrong order, and none moves the reply back.
    for word in ["read", "delivered", "sent"] {
        let status = meta_status(PHONE_NUMBER_ID, &sent[0].id, word, sent[0].callback.as_deref());
        assert_eq!(post(&machine, &status, APP_SECRET).await, 200);
    }
    eventually("the reply to be read", || async {
        (machine.messages(&id).await[1]["status"] == "read").then_some(())
    })
    .await;
}

#[tokio::test]
async fn many_messages_in_one_payload_keep_their_order() {
    let machine = Machine::serving(&BURST);
    let text = |number: i64| MetaText {
        from: "5511900000003".to_owned(),
        wamid: format!("wamid.MANY{number}"),
        text: format!("parte {number}"),
        ts_seconds: seconds(),
    };
    let body = meta_texts(PHONE_NUMBER_ID, (0..25).map(text).collect());
    assert_eq!(post(&machine, &body, APP_SECRET).await, 200);
    let id = machine.conversation().await;
    let messages = eventually("25 messages", || async {
        let list = machine
            .get(&format!("/v1/conversations/{id}/messages?limit=100"))
            .await;
        let items = list["items"].as_array().unwrap().clone();
        (items.iter().filter(|item| item["role"] == "user").count() == 25).then_some(items)
    })
    .await;
    let mut said: Vec<&str> = messages
        .iter()
        .filter(|item| item["role"] == "user")
        .map(|item| item["content"].as_str().unwrap())
        .collect();
    said.reverse();
    let expected: Vec<String> = (0..25).map(|number| format!("parte {number}")).collect();
    assert_eq!(said, expected);
    // One reply reads twenty of them, the next one the rest.
    let answered = machine.stand_ins.meta.wait_for_phone(2, PATIENCE).await;
    let (first, second) = (&answered[0].text, &answered[1].text);
    assert!(
        first.contains("parte 19") && !first.contains("parte 20"),
        "{answered:?}"
    );
    assert!(
        second.contains("parte 20") && second.contains("parte 24"),
        "{answered:?}"
    );
}
