//! Published events: what the stream of the table tells becomes a log, and the endpoint of a tenant is told of it.

use crate::bench::{Bench, eventually};
use crate::contact::Contact;
use crate::stack::INSTANCE;
use recado_testkit::builders::fresh;
use recado_testkit::servers::scripted::{Does, StandIn};
use reqwest::Method;
use serde_json::{Value, json};

/// Reads the events of a conversation behind a place, until one of its messages has this status.
async fn events_until(bench: &Bench, log: &str, after: &str, conversation: &str, status: &str) -> Vec<Value> {
    eventually("the events of an answered message", || async {
        let (mut found, mut place) = (Vec::new(), after.to_owned());
        loop {
            let page = bench
                .get(&format!("/v1/events?after={place}&limit=50{log}"))
                .await;
            page["next"].as_str()?.clone_into(&mut place);
            let items = page["items"].as_array()?;
            found.extend(
                items
                    .iter()
                    .filter(|event| event["conversation_id"] == conversation)
                    .cloned(),
            );
            if items.is_empty() {
                let ended = found.iter().any(|event| event["data"]["status"] == status);
                return ended.then_some(found);
            }
        }
    })
    .await
}

#[tokio::test]
async fn an_answered_message_is_published_in_order_and_an_endpoint_is_told() {
    let bench = Bench::new().await;
    let endpoint = StandIn::start(vec![Does::Answers(500, "later"), Does::Answers(200, "{}")]).await;
    let id = fresh("crm");
    let new = json!({"id": id, "url": endpoint.url, "kinds": ["message.*"]});
    let (status, made) = bench
        .api(Method::POST, "/v1/webhooks?tenant=clinic", Some(new))
        .await;
    assert_eq!(status.as_u16(), 201, "{made}");
    let newest = bench.get("/v1/events?after=now").await;
    let after = newest["next"].as_str().unwrap();
    let contact = Contact::new();
    bench.says(INSTANCE, &contact, "Oi").await;
    bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    let conversation = bench.conversation(INSTANCE, &contact).await;
    let told = events_until(&bench, "", after, &conversation, "sent").await;
    let own = events_until(&bench, "&tenant=clinic", after, &conversation, "sent").await;
    assert_eq!(
        told[..own.len().min(told.len())],
        own[..own.len().min(told.len())]
    );
    let of_messages: Vec<(&str, &str)> = told
        .iter()
        .filter_map(|event| Some((event["kind"].as_str()?, event["data"]["status"].as_str()?)))
        .collect();
    assert_eq!(
        of_messages,
        [("message.created", "pending"), ("message.status", "sent")]
    );
    let kinds: Vec<&str> = told.iter().filter_map(|event| event["kind"].as_str()).collect();
    for kind in ["conversation.updated", "turn.started", "turn.finished"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    // The first post was refused; it comes again, and the rest of the conversation behind it.
    let posted = eventually("the posts to the endpoint", || async {
        let requests = endpoint.requests();
        let own = requests
            .iter()
            .filter(|request| request.body["conversation_id"] == conversation.as_str());
        let sent = requests.iter().any(|request| {
            request.body["conversation_id"] == conversation.as_str()
                && request.body["data"]["status"] == "sent"
        });
        sent.then(|| own.map(|request| request.body["id"].clone()).collect::<Vec<_>>())
    })
    .await;
    let wanted = told.iter().filter(|event| {
        event["kind"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("message."))
    });
    let wanted: Vec<Value> = wanted.map(|event| event["id"].clone()).collect();
    let mut once = posted.clone();
    once.dedup();
    assert_eq!(once, wanted, "in the order of the conversation: {posted:?}");
    let signed = endpoint.requests().iter().all(|request| {
        request
            .headers
            .iter()
            .any(|header| header.starts_with("webhook-signature: v1,"))
    });
    assert!(signed);
    let path = format!("/v1/webhooks/{id}?tenant=clinic");
    let (status, removed) = bench.api(Method::DELETE, &path, None).await;
    assert!(status.is_success(), "{removed}");
}
