//! What a client's key is remembered with: a repeat after an update must be known by it.

use crate::tests::{Site, TOKEN};
use axum::http::StatusCode;
use recado_domain::ids::{IdempotencyKey, TenantId};
use recado_pipeline::ports::Conversations;
use recado_pipeline::records::client_keys::find_client_key;
use recado_testkit::builders::identity_key;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

async fn post(site: &Site, path: &str, body: &Value) {
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k-1")];
    let answered = site.ask("POST", path, &headers, body.to_string()).await;
    assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.text);
}

async fn kept(site: &Site, scope: &str) -> String {
    let secret = succeed(site.store.keep_identity_key(&identity_key)).await;
    let key = secret.hash_client_key(&IdempotencyKey::parse("k-1").unwrap());
    let tenant = TenantId::parse("clinic").unwrap();
    let held = succeed(find_client_key(&site.store, &tenant, scope, &key)).await;
    held.unwrap().request_hash
}

#[tokio::test]
async fn the_hash_of_a_request_is_known() {
    let site = Site::in_memory().configured().await;
    let send = json!({"to": "+55 (11) 90000-0001", "text": "Seu pedido saiu.", "metadata": {"order": 7}});
    post(&site, "/v1/instances/suporte-01/messages", &send).await;
    assert_eq!(
        kept(&site, "suporte-01").await,
        "3c09d09ef49c804654977a4877017bd281a0246db6e64f7e5d35846f037bf0c7"
    );

    let id = site.conversation("5511900000002@s.whatsapp.net").await;
    let answer = json!({"text": "Até logo"});
    post(&site, &format!("/v1/conversations/{id}/messages"), &answer).await;
    assert_eq!(
        kept(&site, &id.to_string()).await,
        "fc4827578ac358e345488b2b9ae582ae4dbe6edfebe90c87b75329a077803a50"
    );
}
