//! What a provider reports about what was sent, and what it is told about what came in.

use crate::bench::{Bench, eventually};
use crate::contact::{Contact, message_id, seconds};
use crate::stack::{PHONE_NUMBER_ID, TYPING};
use recado_testkit::webhooks::{evolution_text, meta_status, meta_text};
use serde_json::{Value, json};

#[tokio::test]
async fn a_failed_delivery_makes_the_messages_dead_letter_and_no_event_dies_for_it() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let body = meta_text(PHONE_NUMBER_ID, &contact.number, &message_id(), "Oi", seconds());
    bench.meta(&body).await;
    let sent = bench.phone(&bench.stack.stand_ins.meta, &contact, 1).await;
    let message = sent[0].callback.clone().expect("our id goes with it");
    // The sender may not have stored yet what the provider has answered it.
    let stored = |way: &Value| way["status"] == "sent";
    eventually("the message to be sent", || async {
        stored(&bench.get(&format!("/v1/messages/{message}")).await).then_some(())
    })
    .await;
    let failed = meta_status(PHONE_NUMBER_ID, &sent[0].id, "failed", Some(&message));
    let answer = bench.meta(&failed).await;
    assert_eq!(
        answer["events"], 1,
        "what failed is an event, which the processor applies: {answer}"
    );
    let dead_letter = bench
        .dead_letter("queue=outbound", |letter| {
            letter["message_id"] == message.as_str()
        })
        .await;
    assert_eq!(dead_letter["reason"], "whatsapp_permanent_error", "{dead_letter}");
    let copy = bench.dead("OutboundDlqUrl", |body| body.contains(&message)).await;
    let job: Value = serde_json::from_str(copy.body.as_deref().unwrap()).unwrap();
    assert_eq!(
        job["redrive"]["message"],
        message.as_str(),
        "it can be redriven: {job}"
    );
    let way = bench.get(&format!("/v1/messages/{message}")).await;
    assert_eq!(way["status"], "failed", "{way}");
    let died = bench
        .get("/v1/dead-letters?queue=inbound&reason=poison&instance=meta-01&limit=200")
        .await;
    let died = died["items"].as_array().unwrap();
    assert!(died.iter().all(|letter| letter["what"] != "event"), "{died:?}");
}

#[tokio::test]
async fn the_contact_sees_that_its_message_was_read_and_that_somebody_types() {
    let (bench, contact, id) = (Bench::new().await, Contact::new(), message_id());
    let evolution = &bench.stack.stand_ins.evolution;
    let body = evolution_text(TYPING, &contact.jid, &id, "Oi", seconds());
    bench.evolution(&body).await;
    bench.phone(evolution, &contact, 1).await;
    let asked = |action: &str| {
        let path = format!("/chat/{action}/{TYPING}");
        let requests = evolution.requests().into_iter();
        let of_contact = |body: &Value| body.to_string().contains(&contact.number);
        let found: Vec<Value> = requests
            .filter(|request| request.path == path && of_contact(&request.body))
            .map(|request| request.body)
            .collect();
        (!found.is_empty()).then_some(found)
    };
    let read = eventually("the read mark", || async { asked("markMessageAsRead") }).await;
    let key = json!({"id": id, "fromMe": false, "remoteJid": contact.jid});
    assert_eq!(read[0], json!({"readMessages": [key]}), "{read:?}");
    let typing = eventually("“typing…”", || async { asked("sendPresence") }).await;
    assert_eq!(typing[0]["presence"], "composing", "{typing:?}");
    assert_eq!(bench.stack.stand_ins.violations(), []);
}
