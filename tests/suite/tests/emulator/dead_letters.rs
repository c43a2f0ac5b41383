//! What cannot be done is kept where a person finds it: in the queue's dead-letter queue and in the API.

use crate::bench::Bench;
use crate::contact::Contact;
use crate::stack::REFUSING;
use recado_testkit::builders::fresh;
use recado_testkit::servers::Behaviour;
use serde_json::{Value, json};

#[tokio::test]
async fn a_message_that_cannot_be_read_is_kept_as_it_came() {
    let bench = Bench::new().await;
    let poison = fresh("{ poison");
    let request = bench
        .aws
        .sqs
        .send_message()
        .queue_url(bench.stack.output("InboundQueueUrl"));
    let request = request
        .message_body(&poison)
        .message_group_id("poison")
        .message_deduplication_id(fresh("poison"));
    request.send().await.unwrap();
    let copy = bench.dead("InboundDlqUrl", |body| body == poison).await;
    let attributes = copy.message_attributes.unwrap();
    assert_eq!(attributes["reason"].string_value.as_deref(), Some("poison"));
    let id = attributes["id"].string_value.clone().unwrap();
    let dead_letter = bench
        .dead_letter("queue=inbound&reason=poison", |dead_letter| {
            dead_letter["id"] == id.as_str()
        })
        .await;
    assert_eq!(dead_letter["what"], "unreadable");
}

#[tokio::test]
async fn an_event_of_an_unknown_instance_is_acknowledged_and_kept_for_redrive() {
    let (bench, contact, instance) = (Bench::new().await, Contact::new(), fresh("unknown"));
    bench.says(&instance, &contact, "Oi").await;
    let copy = bench.dead("InboundDlqUrl", |body| body.contains(&instance)).await;
    let job: Value = serde_json::from_str(copy.body.as_deref().unwrap()).unwrap();
    assert!(
        job["redrive"].is_i64(),
        "it names the death that it undoes: {job}"
    );
    assert_eq!(job["external"], instance.as_str());
    let event = job["event"].as_str().unwrap();
    let dead_letter = bench
        .dead_letter("queue=inbound&reason=unknown_instance", |dead_letter| {
            dead_letter["id"] == event
        })
        .await;
    assert_eq!(
        (&dead_letter["reason"], &dead_letter["what"]),
        (&json!("unknown_instance"), &json!("event"))
    );
}

#[tokio::test]
async fn a_reply_that_the_provider_refuses_for_good_is_given_up_at_once() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let absent = json!({"status": 400, "error": "Bad Request", "response": {"message": [
        {"jid": contact.jid, "exists": false, "number": contact.number},
    ]}});
    bench.stack.refusing.next(Behaviour::status(400, absent));
    bench.says(REFUSING, &contact, "Oi").await;
    let id = bench.conversation(REFUSING, &contact).await;
    let failed = |messages: &[Value]| messages.get(1).is_some_and(|reply| reply["status"] == "failed");
    let reply = bench.messages_when("the reply to be given up", &id, failed).await[1].clone();
    let message = reply["id"].as_str().unwrap();
    let dead_letter = bench
        .dead_letter("queue=outbound", |dead_letter| {
            dead_letter["message_id"] == message
        })
        .await;
    assert_eq!(
        (&dead_letter["reason"], &dead_letter["attempts"]),
        (&json!("whatsapp_permanent_error"), &json!(1)),
        "{dead_letter}"
    );
    let copy = bench.dead("OutboundDlqUrl", |body| body.contains(message)).await;
    let job: Value = serde_json::from_str(copy.body.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&job["redrive"]["message"], &job["conversation"]),
        (&json!(message), &json!(id)),
        "{job}"
    );
    let way = bench.get(&format!("/v1/messages/{message}")).await;
    assert_eq!(
        (&way["reason"], &way["attempts"]),
        (&json!("whatsapp_permanent_error"), &json!(1)),
        "{way}"
    );
    // The next message of the same contact is not held up by it.
    bench.says(REFUSING, &contact, "Alô?").await;
    bench.phone(&bench.stack.refusing, &contact, 1).await;
}
