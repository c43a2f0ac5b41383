//! What is handed to whoever records webhooks.

use crate::tests::{LIMITS, Site, ask_of, secret_of};
use axum::http::StatusCode;
use recado_domain::provider::Provider;
use recado_embedded::EmbeddedSystem;
use recado_http::{ReceivedWebhook, record_webhooks};
use serde_json::json;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn webhooks_that_are_taken_are_handed_on_as_they_came_and_others_are_not() {
    let site = Site::in_memory().configured().await;
    let kept: Arc<Mutex<Vec<ReceivedWebhook>>> = Arc::default();
    let into = Arc::clone(&kept);
    let plain = site.routes_with(LIMITS);
    let router = record_webhooks(plain, EmbeddedSystem, move |webhook| {
        into.lock().unwrap().push(webhook);
    });
    let body = json!({"event": "contacts.update", "instance": "suporte-01", "data": []}).to_string();
    let secret = secret_of("master", "suporte-01");
    let right = [("apikey", secret.as_str())];
    let post = |path: &'static str, headers: Vec<(&'static str, String)>| {
        let (router, body) = (router.clone(), body.clone());
        async move {
            let headers: Vec<(&str, &str)> = headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            ask_of(router, "POST", path, &headers, body).await.status
        }
    };
    let path = "/webhooks/evolution";
    assert_eq!(
        post(path, vec![("apikey", "wrong".to_owned())]).await,
        StatusCode::UNAUTHORIZED
    );
    assert!(kept.lock().unwrap().is_empty());
    assert_eq!(
        post(path, vec![(right[0].0, secret.clone())]).await,
        StatusCode::OK
    );
    let kept = kept.lock().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        (kept[0].provider, &kept[0].body[..]),
        (Provider::Evolution, body.as_bytes())
    );
}
