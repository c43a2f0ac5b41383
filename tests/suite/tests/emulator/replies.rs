//! From the webhook to the reply on the contact's phone.

use crate::bench::{Bench, eventually, said};
use crate::contact::{Contact, message_id, seconds};
use crate::stack::{INSTANCE, PHONE_NUMBER_ID};
use futures::future::join_all;
use recado_testkit::webhooks::{evolution_text, meta_status, meta_text};
use serde_json::json;

#[tokio::test]
async fn a_burst_is_answered_once_with_all_of_it_read() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    // Side by side: one after the other they might take longer than the debounce.
    let texts = ["Oi", "tudo bem?", "quero marcar"];
    join_all(texts.map(|text| bench.says(INSTANCE, &contact, text))).await;
    let phone = bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    let id = bench.conversation(INSTANCE, &contact).await;
    let sent = |messages: &[serde_json::Value]| messages.last().is_some_and(|last| last["status"] == "sent");
    let messages = bench.messages_when("the reply to be sent", &id, sent).await;
    let roles: Vec<&str> = said(&messages).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "user", "user", "assistant"]);
    assert!(
        texts.iter().all(|text| phone[0].text.contains(text)),
        "{}",
        phone[0].text
    );
    let reply = &messages[3];
    assert_eq!(
        (&reply["content"], &reply["provider_message_id"]),
        (&json!(phone[0].text), &json!(phone[0].id))
    );
    assert!(
        reply["input_tokens"].as_u64().unwrap() > 0 && reply["output_tokens"].as_u64().unwrap() > 0,
        "{reply}"
    );
    let way = bench
        .get(&format!("/v1/messages/{}", reply["id"].as_str().unwrap()))
        .await;
    let steps: Vec<&str> = way["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["what"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["queued", "sending", "sent"]);
    assert_eq!(bench.stack.stand_ins.violations(), []);
}

#[tokio::test]
async fn a_webhook_repeated_however_often_is_one_message_and_one_reply() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let body = evolution_text(INSTANCE, &contact.jid, &message_id(), "Oi", seconds());
    join_all((0..20).map(|_| bench.evolution(&body))).await;
    let evolution = &bench.stack.stand_ins.evolution;
    bench.phone(evolution, &contact, 1).await;
    let repeated = bench.evolution(&body).await;
    assert_eq!(
        (&repeated["events"], &repeated["duplicates"]),
        (&json!(0), &json!(1)),
        "{repeated}"
    );
    // A later message comes out last: what the repetitions caused would be there before.
    bench.says(INSTANCE, &contact, "e agora?").await;
    bench.phone(evolution, &contact, 2).await;
    let id = bench.conversation(INSTANCE, &contact).await;
    let messages = bench.messages(&id).await;
    let expected = [
        ("user", "Oi"),
        ("assistant", "echo: Oi"),
        ("user", "e agora?"),
        ("assistant", "echo: e agora?"),
    ];
    assert_eq!(said(&messages), expected);
}

#[tokio::test]
async fn a_webhook_64_times_in_the_same_instant_is_one_message_and_one_reply() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let body = evolution_text(INSTANCE, &contact.jid, &message_id(), "Oi", seconds());
    let answers = join_all((0..64).map(|_| bench.evolution(&body))).await;
    // Each copy is acknowledged as an event or as a repetition; a repetition of what is still pending is enqueued again.
    assert_eq!(answers.len(), 64);
    let evolution = &bench.stack.stand_ins.evolution;
    bench.phone(evolution, &contact, 1).await;
    // A later message comes out last: what the repetitions caused would be there before.
    bench.says(INSTANCE, &contact, "e agora?").await;
    let phone = bench.phone(evolution, &contact, 2).await;
    assert_eq!(
        (phone[0].text.as_str(), phone[1].text.as_str()),
        ("echo: Oi", "echo: e agora?")
    );
    let id = bench.conversation(INSTANCE, &contact).await;
    let messages = bench.messages(&id).await;
    let stored = messages
        .iter()
        .filter(|message| message["content"] == "Oi")
        .count();
    assert_eq!((stored, messages.len()), (1, 4), "{messages:?}");
}

#[tokio::test]
async fn metas_message_is_answered_and_a_status_finds_the_reply() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let body = meta_text(PHONE_NUMBER_ID, &contact.number, &message_id(), "Oi", seconds());
    bench.meta(&body).await;
    let sent = bench.phone(&bench.stack.stand_ins.meta, &contact, 1).await;
    assert_eq!(
        (sent[0].text.as_str(), sent[0].instance.as_str()),
        ("echo: Oi", PHONE_NUMBER_ID)
    );
    let id = bench.conversation("meta-01", &contact).await;
    let reply = bench.messages(&id).await[1].clone();
    let callback = sent[0].callback.as_deref();
    assert_eq!(
        callback,
        reply["id"].as_str(),
        "our id goes with it and comes back in its statuses"
    );
    let acknowledged = bench
        .meta(&meta_status(PHONE_NUMBER_ID, &sent[0].id, "read", callback))
        .await;
    assert_eq!(
        (&acknowledged["statuses"], &acknowledged["events"]),
        (&json!(1), &json!(0)),
        "{acknowledged}"
    );
    bench
        .messages_when("the reply to be read", &id, |messages| {
            messages[1]["status"] == "read"
        })
        .await;
}

#[tokio::test]
async fn a_webhook_too_large_for_a_queue_is_answered_all_the_same() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let text = "palavra ".repeat(300 * 1024 / 8);
    let body = evolution_text(INSTANCE, &contact.jid, &message_id(), text.trim_end(), seconds());
    bench.evolution(&body).await;
    let id = bench.conversation(INSTANCE, &contact).await;
    assert_eq!(said(&bench.messages(&id).await)[0], ("user", text.trim_end()));
    bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    // The body was kept aside, and nothing needs it any more.
    let number = contact.jid.split('@').next().unwrap();
    eventually("the deletion of the body", || async {
        let bodies = bench.payloads().await;
        (!bodies.iter().any(|body| body.contains(number))).then_some(())
    })
    .await;
}
