//! Tokens: created, listed, revoked, expired and refused.

use crate::tests::strangers::{keep_log, log};
use crate::tests::{Answered, LIMITS, Site, TOKEN, ask_of};
use axum::Extension;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::access::{Token, TokenRole};
use recado_domain::ids::TokenName;
use recado_domain::millis::add_millis;
use recado_http::ClientAddress;
use recado_pipeline::ports::{Conversations, PageRequest};
use recado_pipeline::records::tokens::{list_tokens, put_token};
use recado_testkit::builders::{identity_key, long_ago};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

async fn create(site: &Site, body: &Value) -> Answered {
    site.operate("POST", "/v1/tokens", body).await
}

async fn list_as(site: &Site, token: &str) -> Answered {
    let bearer = format!("Bearer {token}");
    site.ask("GET", "/v1/conversations", &[("authorization", &bearer)], "")
        .await
}

#[tokio::test]
async fn a_token_is_shown_once_and_only_its_hash_is_stored() {
    let site = Site::in_memory().configured().await;
    let wanted = json!({"name": "front desk", "role": "viewer", "tenant": "clinic"});
    let created = create(&site, &wanted).await;
    assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
    let secret = created.body["secret"].as_str().unwrap();
    assert_eq!(secret.len(), "recado_".len() + 64);
    assert_eq!(created.body["created_by"], "installation");
    let listed = site.operate("GET", "/v1/tokens", &Value::Null).await;
    assert_eq!(listed.body["items"][0]["name"], "front desk");
    assert!(
        !listed.text.contains(secret) && !listed.text.contains("hash"),
        "{}",
        listed.text
    );
    let page = PageRequest::first(10);
    let stored = succeed(list_tokens(&site.store, None, &page))
        .await
        .items
        .remove(0);
    assert!(!serde_json::to_string(&stored).unwrap().contains(&secret[7..]));
    let again = create(&site, &wanted).await;
    assert_eq!(
        (again.status, &again.body["code"]),
        (StatusCode::CONFLICT, &json!("token_name_taken"))
    );
}

#[tokio::test]
async fn many_wrong_tokens_of_an_address_are_429_and_nobody_elses_token_is_held_up() {
    let site = Site::in_memory().configured().await;
    let router = site.router_with(LIMITS);
    let ask = async |address: &str, token: &str| {
        let address = ClientAddress(address.parse().unwrap());
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let router = router.clone().layer(Extension(address));
        ask_of(router, "GET", "/v1/conversations", &headers, "").await
    };
    for _ in 0..10 {
        assert_eq!(ask("203.0.113.7", "wrong").await.status, StatusCode::UNAUTHORIZED);
    }
    let refused = ask("203.0.113.7", "wrong").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.text);
    assert_eq!(refused.header("retry-after"), Some("3"));
    assert_eq!(ask("203.0.113.7", TOKEN).await.status, StatusCode::OK);
    assert_eq!(ask("203.0.113.8", "wrong").await.status, StatusCode::UNAUTHORIZED);
    // Without an address, as behind a gateway with a limit of its own, nothing is counted; nor is what shows no token.
    for _ in 0..12 {
        let answered = ask_of(router.clone(), "GET", "/v1/conversations", &[], "").await;
        assert_eq!(answered.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn what_cannot_be_a_token_is_refused() {
    let site = Site::in_memory().configured().await;
    let past = add_millis(Timestamp::now(), -1_000);
    for (wrong, status) in [
        (json!({"name": "installation", "role": "viewer"}), 400),
        (json!({"name": "a".repeat(65), "role": "viewer"}), 400),
        (json!({"name": "Zoé", "role": "viewer"}), 400),
        (json!({"name": " a", "role": "viewer"}), 400),
        (json!({"name": "a", "role": "root"}), 400),
        (json!({"name": "a", "role": "viewer", "expires_at": past}), 400),
        (json!({"name": "a", "role": "viewer", "by": "Maria"}), 400),
        (json!({"name": "a", "role": "viewer", "tenant": "nobody"}), 404),
    ] {
        assert_eq!(create(&site, &wrong).await.status.as_u16(), status, "{wrong}");
    }
}

#[tokio::test]
async fn a_token_opens_until_it_expires_or_is_revoked() {
    let site = Site::in_memory().configured().await;
    let tomorrow = add_millis(Timestamp::now(), 86_400_000);
    let created = create(
        &site,
        &json!({"name": "a", "role": "viewer", "expires_at": tomorrow}),
    )
    .await;
    let secret = created.body["secret"].as_str().unwrap();
    assert_eq!(list_as(&site, secret).await.status, StatusCode::OK);
    let revoke = async || site.operate("DELETE", "/v1/tokens/a", &Value::Null).await.status;
    assert_eq!(revoke().await, StatusCode::NO_CONTENT);
    assert_eq!(list_as(&site, secret).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(revoke().await, StatusCode::NOT_FOUND);

    let text = format!("recado_{}", "7".repeat(64));
    let key = succeed(site.store.keep_identity_key(&identity_key)).await;
    let expired = Token {
        name: TokenName::parse("b").unwrap(),
        tenant: None,
        role: TokenRole::Admin,
        hash: key.hash_token(&text),
        created_at: long_ago(),
        created_by: TokenName::installation(),
        expires_at: Some(long_ago()),
    };
    assert!(succeed(put_token(&site.store, &expired)).await);
    assert_eq!(list_as(&site, &text).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn what_is_no_token_opens_nothing_and_is_logged_rarely() {
    keep_log();
    let site = Site::in_memory().configured().await;
    let created = create(&site, &json!({"name": "a", "role": "admin"})).await;
    let secret = created.body["secret"].as_str().unwrap().to_owned();
    let router = site.router_with(crate::tests::LIMITS);
    let guessed = format!("recado_{}", "0".repeat(64));
    let wrong = [
        &secret[..70],
        &secret.to_uppercase(),
        &guessed,
        "recado_",
        &TOKEN[1..],
        "x",
    ];
    for shown in wrong {
        let bearer = format!("Bearer {shown}");
        let headers = [("authorization", bearer.as_str())];
        let answered = crate::tests::ask_of(router.clone(), "GET", "/v1/conversations", &headers, "").await;
        assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{shown}");
        assert_eq!(
            answered.header("www-authenticate"),
            Some(r#"Bearer realm="recado", error="invalid_token""#)
        );
    }
    let log = log();
    assert_eq!(log.matches("a wrong token").count(), 1, "{log}");
    assert!(!log.contains(&secret) && !log.contains(&guessed));
}

#[tokio::test]
async fn an_admin_of_a_tenant_creates_and_revokes_that_tenants_tokens_alone() {
    let site = Site::in_memory().configured().await;
    let admin = create(
        &site,
        &json!({"name": "owner", "role": "admin", "tenant": "clinic"}),
    )
    .await;
    create(&site, &json!({"name": "owner", "role": "viewer"})).await;
    let bearer = format!("Bearer {}", admin.body["secret"].as_str().unwrap());
    let ask = async |method: &str, path: &str, body: &Value| {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        site.ask(method, path, &[("authorization", &bearer)], body).await
    };
    let made = ask("POST", "/v1/tokens", &json!({"name": "desk", "role": "admin"})).await;
    assert_eq!(
        (made.status.as_u16(), &made.body["tenant"]),
        (201, &json!("clinic"))
    );
    assert_eq!(made.body["created_by"], "owner");
    let listed = ask("GET", "/v1/tokens", &Value::Null).await;
    assert_eq!(
        listed.body["items"].as_array().unwrap().len(),
        2,
        "{}",
        listed.text
    );
    // Of the installation's token with the same name, nothing changes.
    assert_eq!(ask("DELETE", "/v1/tokens/owner", &Value::Null).await.status, 204);
    let left = site.operate("GET", "/v1/tokens", &Value::Null).await;
    assert_eq!(left.body["items"].as_array().unwrap().len(), 2, "{}", left.text);
}
