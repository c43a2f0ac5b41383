//! A person outranks the agent.

use crate::bench::{Bench, answer, eventually, said};
use crate::contact::{Contact, correlation_id, message_id, seconds};
use crate::stack::INSTANCE;
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

impl Bench {
    pub(crate) async fn answers(&self, conversation: &str, key: &str, text: &str) -> (StatusCode, Value) {
        let path = format!("/v1/conversations/{conversation}/messages");
        let request = self
            .http
            .post(self.stack.url(&path))
            .bearer_auth(&self.stack.token);
        answer(
            request
                .header("idempotency-key", key)
                .json(&json!({"text": text})),
        )
        .await
    }

    async fn set_mode(&self, conversation: &str, mode: &str) {
        let path = format!("/v1/conversations/{conversation}");
        let (status, body) = self.api(Method::PATCH, &path, Some(json!({"mode": mode}))).await;
        assert_eq!((status, &body["mode"]), (StatusCode::OK, &json!(mode)), "{body}");
    }
}

#[tokio::test]
async fn after_a_takeover_only_the_person_answers_and_once_until_the_give_back() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let evolution = &bench.stack.stand_ins.evolution;
    bench.says(INSTANCE, &contact, "Oi").await;
    bench.phone(evolution, &contact, 1).await;
    let id = bench.conversation(INSTANCE, &contact).await;
    bench.set_mode(&id, "manual").await;
    let (correlation, body) = (
        correlation_id(),
        evolution_text(INSTANCE, &contact.jid, &message_id(), "Tem alguém aí?", seconds()),
    );
    bench.evolution_with(&body, &correlation).await;
    eventually("the turn that leaves it to the person", || async {
        (!bench.log("deferred-reply", &correlation).await.is_empty()).then_some(())
    })
    .await;
    let (first, made) = bench.answers(&id, "key-1", "Aqui é a Bia").await;
    let (again, same) = bench.answers(&id, "key-1", "Aqui é a Bia").await;
    assert_eq!(
        (first, again),
        (StatusCode::ACCEPTED, StatusCode::ACCEPTED),
        "{made} {same}"
    );
    assert_eq!(made["id"], same["id"]);
    assert_eq!(
        bench.answers(&id, "key-1", "outra coisa").await.0,
        StatusCode::CONFLICT
    );
    bench.phone(evolution, &contact, 2).await;
    bench.set_mode(&id, "ai").await;
    bench.says(INSTANCE, &contact, "Obrigada").await;
    let phone = bench.phone(evolution, &contact, 3).await;
    let texts: Vec<&str> = phone.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["echo: Oi", "Aqui é a Bia", "echo: Obrigada"]);
    let roles: Vec<String> = said(&bench.messages(&id).await)
        .iter()
        .map(|(role, _)| (*role).to_owned())
        .collect();
    assert_eq!(
        roles,
        ["user", "assistant", "user", "operator", "user", "assistant"]
    );
}
