//! An event whose body is kept aside may be redriven when its body has expired.

use crate::bench::{Bench, answer, eventually};
use crate::contact::{Contact, message_id, seconds};
use recado_testkit::builders::fresh;
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use serde_json::json;

#[tokio::test]
async fn a_large_event_redriven_past_its_bodys_life_is_a_dead_letter_at_once_and_holds_nobody_up() {
    let (bench, contact, instance) = (Bench::new().await, Contact::new(), fresh("tarde"));
    let text = "palavra ".repeat(300 * 1024 / 8);
    let body = evolution_text(&instance, &contact.jid, &message_id(), text.trim_end(), seconds());
    bench.evolution(&body).await;
    let copy = bench.dead("InboundDlqUrl", |body| body.contains(&instance)).await;
    let job: serde_json::Value = serde_json::from_str(copy.body.as_deref().unwrap()).unwrap();
    let (event, key) = (job["event"].as_str().unwrap(), job["payload"]["stored"].as_str());
    let key = format!("payloads/{}", key.expect("the body is kept aside"));
    let bucket = bench.stack.output("BucketName");
    let kept = bench
        .aws
        .s3()
        .head_object()
        .bucket(bucket)
        .key(&key)
        .send()
        .await
        .unwrap();
    assert!(
        kept.content_length().is_some_and(|size| size > 300 * 1024),
        "{kept:?}"
    );
    // What the bucket's lifecycle does after 14 days.
    let expire = bench.aws.s3().delete_object().bucket(bucket).key(&key);
    expire.send().await.unwrap();
    let document = json!({"instances": [
        {"id": instance, "tenant": "clinic", "agent": "ana", "provider": "evolution"},
    ]});
    let (status, applied) = bench.api(Method::PUT, "/v1/config", Some(document)).await;
    assert_eq!(status, StatusCode::OK, "{applied}");
    // The functions remember for some seconds that there is no such instance: then it dies of that again.
    let letter = format!("/v1/dead-letters/{event}");
    let dead = eventually("the death of the body that is gone", || async {
        let (status, letter) = bench.api(Method::GET, &letter, None).await;
        if status == StatusCode::OK && letter["reason"] == "unknown_instance" {
            bench
                .api(Method::POST, &format!("/v1/dead-letters/{event}/redrive"), None)
                .await;
        }
        (status == StatusCode::OK && letter["reason"] != "unknown_instance").then_some(letter)
    })
    .await;
    assert_eq!(
        (&dead["reason"], &dead["what"]),
        (&json!("poison"), &json!("event")),
        "{dead}"
    );
    assert_eq!(
        dead["attempts"], 1,
        "nothing is tried again that cannot succeed: {dead}"
    );
    // The same contact's next message is not held up.
    let secret = applied["instances"][0]["secret"].as_str().unwrap();
    eventually("the functions' knowledge of the instance", || async {
        let text = evolution_text(&instance, &contact.jid, &message_id(), "Oi", seconds());
        let request = bench.http.post(bench.stack.url("/webhooks/evolution"));
        let (status, _) = answer(request.header("apikey", secret).json(&text)).await;
        (status == StatusCode::OK).then_some(())
    })
    .await;
    bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
}
