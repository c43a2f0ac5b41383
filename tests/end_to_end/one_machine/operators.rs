use crate::commands::run;
use crate::machine::{INSTANCE, Machine, TOKEN, eventually, json_of, seconds};
use recado_testkit::servers::{Behaviour, anthropic_message};
use recado_testkit::webhooks::{evolution_from_me, evolution_text};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const MARIA: &str = "5511900000001@s.whatsapp.net";

async fn answer(machine: &Machine, id: &str, key: &str, text: &str) -> (StatusCode, Value) {
    let request = machine
        .http
        .post(machine.url(&format!("/v1/conversations/{id}/messages")))
        .bearer_auth(TOKEN);
    let request = request
        .header("Idempotency-Key", key)
        .json(&json!({"text": text}));
    json_of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_takeover_while_the_model_thinks_stops_its_reply_and_a_give_back_owes_it_again() {
    let machine = Machine::thinking(MARIA).await;
    let id = machine.conversation().await;
    let path = format!("/v1/conversations/{id}");
    let (status, body) = machine
        .api(Method::PATCH, &path, Some(json!({"mode": "manual"})))
        .await;
    assert_eq!(
        (status, &body["mode"]),
        (StatusCode::OK, &json!("manual")),
        "{body}"
    );
    machine.stand_ins.anthropic.let_go();
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
    let (status, _) = machine
        .api(Method::PATCH, &path, Some(json!({"mode": "ai"})))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(machine.phone(1).await[0].text, "echo: Oi");
}

#[tokio::test]
async fn a_person_answers_while_the_model_thinks_and_the_agent_sends_nothing() {
    let machine = Machine::thinking(MARIA).await;
    let id = machine.conversation().await;
    let (status, made) = answer(&machine, &id, "key-1", "Aqui é a Bia").await;
    assert_eq!(status, StatusCode::ACCEPTED, "{made}");
    assert_eq!(machine.phone(1).await[0].text, "Aqui é a Bia");
    machine.stand_ins.anthropic.let_go();
    eventually("the draft to be dropped", || async {
        machine.log().contains("draft discarded").then_some(())
    })
    .await;
    machine.quiet().await;
    assert_eq!(machine.phone(1).await.len(), 1);
    let messages = machine.messages(&id).await;
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "operator"]);
}

#[tokio::test]
async fn an_operators_answer_is_sent_once_however_often_the_client_repeats_it() {
    let machine = Machine::serving(&[
        ("RECADO_DEBOUNCE_SECONDS", "300"),
        ("RECADO_DEBOUNCE_MAX_SECONDS", "890"),
    ]);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "O2", "Oi", seconds()))
        .await;
    let id = machine.conversation().await;
    let (first, made) = answer(&machine, &id, "key-1", "Olá, aqui é a Bia").await;
    let (again, same) = answer(&machine, &id, "key-1", "Olá, aqui é a Bia").await;
    assert_eq!(
        (first, again),
        (StatusCode::ACCEPTED, StatusCode::ACCEPTED),
        "{made} {same}"
    );
    assert_eq!(made["id"], same["id"]);
    assert_eq!(
        answer(&machine, &id, "key-1", "another text").await.0,
        StatusCode::CONFLICT
    );
    assert_eq!(machine.phone(1).await[0].text, "Olá, aqui é a Bia");
    let conversation = machine.get(&format!("/v1/conversations/{id}")).await;
    assert_eq!(conversation["mode"], "manual", "answering takes over");
}

#[tokio::test]
async fn a_message_typed_on_the_phone_takes_over_and_our_own_echo_does_not() {
    let machine = Machine::serving(&[]);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "O3", "Oi", seconds()))
        .await;
    let sent = machine.phone(1).await;
    let id = machine.conversation().await;
    let echo = evolution_from_me(INSTANCE, MARIA, &sent[0].id, &sent[0].text, seconds());
    assert_eq!(machine.evolution(&echo).await, 200);
    machine.quiet().await;
    assert_eq!(
        machine.get(&format!("/v1/conversations/{id}")).await["mode"],
        "ai"
    );
    assert_eq!(machine.messages(&id).await.len(), 2);
    let typed = evolution_from_me(INSTANCE, MARIA, "TYPED1", "Deixa comigo", seconds());
    assert_eq!(machine.evolution(&typed).await, 200);
    eventually("the takeover", || async {
        (machine.get(&format!("/v1/conversations/{id}")).await["mode"] == "manual").then_some(())
    })
    .await;
    let messages = machine.messages(&id).await;
    assert_eq!(
        (&messages[2]["role"], &messages[2]["content"]),
        (&json!("operator"), &json!("Deixa comigo"))
    );
}

#[tokio::test]
async fn the_agent_hands_over_with_its_last_words_and_is_silent_until_a_person_takes_it() {
    let mut machine = Machine::prepared(&[]);
    machine.configure(&Machine::sample().replace("# decisions = ", "decisions = "));
    machine.start("serve");
    let mut decides = anthropic_message("claude-sonnet-4-5", "");
    decides["content"] = json!([{"type": "tool_use", "id": "toolu_1", "name": "hand_over",
        "input": {"reason": "wants a refund", "message": "Já chamo uma pessoa."}}]);
    machine.stand_ins.anthropic.next(Behaviour::status(200, decides));
    machine
        .evolution(&evolution_text(
            INSTANCE,
            MARIA,
            "H1",
            "Quero meu dinheiro",
            seconds(),
        ))
        .await;
    assert_eq!(machine.phone(1).await[0].text, "Já chamo uma pessoa.");
    let waiting = machine.get("/v1/conversations?waiting=true").await;
    let item = &waiting["items"][0];
    assert_eq!(item["needs_person"], "handed_over", "{waiting}");
    assert_eq!(item["hand_over_note"]["text"], "wants a refund");
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "H2", "Alguém?", seconds()))
        .await;
    machine.quiet().await;
    assert_eq!(machine.phone(1).await.len(), 1, "the agent is silent");
    let id = item["id"].as_str().unwrap();
    let shown = run(&machine, &["conversations", "--waiting"]).out;
    assert!(
        shown.contains("handed_over") && shown.contains("nobody") && shown.contains(id),
        "{shown}"
    );
    answer(&machine, id, "key-9", "Aqui é a Bia").await;
    machine.phone(2).await;
    let taken = machine.get(&format!("/v1/conversations/{id}")).await;
    assert_eq!(
        (&taken["mode"], &taken["waiting_since"], &taken["taken_by"]),
        (&json!("manual"), &json!(null), &json!("installation"))
    );
    let shown = run(&machine, &["conversations", "--waiting"]).out;
    assert_eq!(shown, "Nobody waits for a person.\n");
}

#[tokio::test]
async fn after_a_resolve_the_next_message_begins_another_conversation() {
    let machine = Machine::serving(&[]);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "O4", "Oi", seconds()))
        .await;
    machine.phone(1).await;
    let id = machine.conversation().await;
    let path = format!("/v1/conversations/{id}");
    let (status, _) = machine
        .api(Method::PATCH, &path, Some(json!({"status": "resolved"})))
        .await;
    assert_eq!(status, StatusCode::OK);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "O5", "Oi de novo", seconds()))
        .await;
    machine.phone(2).await;
    let list = machine.get("/v1/conversations?status=active").await;
    assert_ne!(list["items"][0]["id"], id.as_str());
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_messages_way_can_be_read() {
    let machine = Machine::serving(&[]);
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "O6", "Oi", seconds()))
        .await;
    machine.phone(1).await;
    let id = machine.conversation().await;
    let reply = eventually("the sent reply", || async {
        machine
            .messages(&id)
            .await
            .into_iter()
            .find(|message| message["status"] == "sent")
    })
    .await;
    let way = machine
        .get(&format!("/v1/messages/{}", reply["id"].as_str().unwrap()))
        .await;
    let text = way.to_string();
    for step in ["queued", "sending", "sent"] {
        assert!(text.contains(step), "{step} in {text}");
    }
}
