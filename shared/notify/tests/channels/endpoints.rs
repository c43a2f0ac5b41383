//! Posts of published events to endpoints, checked with the library of Standard Webhooks.

use crate::stand_ins::{Does, Receiver};
use jiff::Timestamp;
use recado_domain::config::WebhookEndpoint;
use recado_domain::ids::{Nonce, TenantId, WebhookEndpointId};
use recado_domain::published_event::PublishedEvent;
use recado_domain::secret::Secret;
use recado_domain::webhook_endpoint::PostError;
use recado_endpoints::derive_signing_secret;
use recado_notify::EndpointPoster;
use recado_pipeline::ports::{EndpointPost, EndpointPosts, PostAnswer};
use serde_json::json;
use std::time::Duration;

fn master(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

fn salts() -> [Nonce; 2] {
    ["new", "old"].map(|text| Nonce::parse(text).unwrap())
}

/// Posts one event to a URL, as an installation whose master secret is being rotated does.
async fn post(url: &str, private_hosts: bool) -> Result<PostAnswer, PostError> {
    let tenant = TenantId::parse("clinic").unwrap();
    let endpoint: WebhookEndpoint = serde_json::from_value(json!({"id": "crm", "url": url})).unwrap();
    let (now, salts) = (Timestamp::now(), salts());
    let event = PublishedEvent::for_test(&tenant, "1", now);
    let poster = EndpointPoster::new(vec![master("master"), master("old-master")]);
    let poster = poster.with_timeout(Duration::from_millis(300));
    poster
        .post_event(EndpointPost {
            tenant: &tenant,
            endpoint: &endpoint,
            salts: &[&salts[0], &salts[1]],
            event: &event,
            now,
            private_hosts,
        })
        .await
}

#[tokio::test]
async fn a_post_is_proven_by_each_secret_that_counts_and_by_no_other() {
    let receiver = Receiver::start(vec![Does::Answers(202)]).await;
    assert_eq!(post(&receiver.url, true).await, Ok(PostAnswer { status: 202 }));
    let requests = receiver.requests();
    let request = &requests[0];
    let event: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(event["kind"], "webhook.test");
    assert_eq!(event["id"], request.header("webhook-id"));
    let tenant = TenantId::parse("clinic").unwrap();
    let endpoint = WebhookEndpointId::parse("crm").unwrap();
    for known in ["master", "old-master"] {
        for salt in salts() {
            let secret = derive_signing_secret(&master(known), (&tenant, &endpoint), &salt);
            assert!(request.is_proven_by(secret.expose_secret()), "{known}");
        }
        let retired = Nonce::parse("older").unwrap();
        let secret = derive_signing_secret(&master(known), (&tenant, &endpoint), &retired);
        assert!(!request.is_proven_by(secret.expose_secret()));
    }
}

#[tokio::test]
async fn each_refusal_has_its_words_and_no_redirect_is_followed() {
    let other = Receiver::start(vec![Does::Answers(200)]).await;
    let receiver = Receiver::start(vec![
        Does::Answers(500),
        Does::Redirects(other.url.clone()),
        Does::Answers(410),
        Does::Hangs,
    ])
    .await;
    for words in [
        "it answered 500",
        "redirects are not followed",
        "it is gone",
        "no answer came in time",
    ] {
        let refused = post(&receiver.url, true).await.unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
        assert_eq!(refused == PostError::Gone, words == "it is gone");
        assert!(!refused.to_string().contains("127.0.0.1"), "{refused}");
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn a_host_of_this_machine_is_asked_only_where_such_hosts_are_allowed() {
    let receiver = Receiver::start(vec![Does::Answers(200)]).await;
    let by_tls = receiver.url.replace("http://", "https://");
    let by_name = by_tls.replace("127.0.0.1", "localhost");
    for url in [&receiver.url, &by_tls, &by_name] {
        let refused = post(url, false).await.unwrap_err().to_string();
        assert!(
            refused.contains("not https") || refused.contains("private network"),
            "{url}: {refused}"
        );
    }
    assert!(receiver.requests().is_empty());
}
