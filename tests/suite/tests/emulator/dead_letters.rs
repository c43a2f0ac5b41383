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

impl Bench {
    /// A conversation of `contact` with a reply that the provider refused for good. Returns the ids of both.
    async fn refused_reply(&self, contact: &Contact) -> (String, String) {
        let absent = json!({"status": 400, "error": "Bad Request", "response": {"message": [
            {"jid": contact.jid, "exists": false, "number": contact.number},
        ]}});
        let refuses = Behaviour::status(400, absent);
        self.stack.refusing.next_for(&contact.number, refuses);
        self.says(REFUSING, contact, "Oi").await;
        let id = self.conversation(REFUSING, contact).await;
        let failed = |messages: &[Value]| messages.get(1).is_some_and(|reply| reply["status"] == "failed");
        let messages = self.messages_when("the reply to be given up", &id, failed).await;
        let reply = messages[1]["id"].as_str().unwrap().to_owned();
        (id, reply)
    }
}

#[tokio::test]
async fn a_reply_that_the_provider_refuses_for_good_is_given_up_at_once() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let (id, reply) = bench.refused_reply(&contact).await;
    let message = reply.as_str();
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

/// A person redrives by SQS's own means, with the source queue as the destination.
#[tokio::test]
async fn a_copy_that_is_moved_to_its_source_queue_is_sent_once_and_its_dead_letter_goes() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let (id, reply) = bench.refused_reply(&contact).await;
    let is_of_reply = |dead_letter: &Value| dead_letter["message_id"] == reply.as_str();
    bench.dead_letter("queue=outbound", is_of_reply).await;
    let queues = ("OutboundDlqUrl", "OutboundQueueUrl");
    let copy = bench.move_dead(queues, |body| body.contains(&reply)).await;
    bench.phone(&bench.stack.refusing, &contact, 1).await;
    let letters = bench.get("/v1/dead-letters?queue=outbound&limit=200").await;
    assert!(
        !letters["items"].as_array().unwrap().iter().any(is_of_reply),
        "{letters}"
    );
    // SQS may hold a second copy of the same failure. It comes before the reply to what is written now.
    bench.send_copy(queues.1, &copy, &fresh("copy")).await;
    bench.says(REFUSING, &contact, "Alô?").await;
    let phone = bench.phone(&bench.stack.refusing, &contact, 2).await;
    assert_eq!(phone[0].text, "echo: Oi");
    assert!(phone[1].text.contains("Alô?"), "{phone:?}");
    let sent = |messages: &[Value]| messages.iter().all(|message| message["status"] != "failed");
    bench.messages_when("both replies to be sent", &id, sent).await;
}
