//! Opt-outs: the list of a tenant, and the link with which anybody who has it ends messages.

use crate::tests::Site;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::email::EmailAddress;
use recado_domain::opt_out::{OptOut, OptOutSource, RecipientAddress, UnsubscribeToken};
use recado_pipeline::ports::{Conversations, PageRequest};
use recado_pipeline::records::opt_outs::{apply_opt_out, list_opt_outs};
use recado_testkit::builders::{Fixture, identity_key};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// An installation with two tenants, and the token of a link for a person of the first.
async fn site_with_link() -> (Site, Fixture, Fixture, String) {
    let site = Site::in_memory();
    let (one, other) = (Fixture::new(), Fixture::new());
    site.configure_fixtures([&one, &other]).await;
    let key = succeed(site.store.keep_identity_key(&identity_key)).await;
    let tenant = one.bound.tenant.id.clone();
    let email = EmailAddress::parse("ana@clinic.example").unwrap();
    let recipient = key.derive_recipient_key(&tenant, RecipientAddress::Email(&email));
    let token = UnsubscribeToken { tenant, recipient }.seal_token(&key);
    (site, one, other, token)
}

async fn list_items(site: &Site, tenant: &str) -> Value {
    let answered = site
        .operate("GET", &format!("/v1/opt-outs?tenant={tenant}"), &Value::Null)
        .await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    answered.body["items"].clone()
}

#[tokio::test]
async fn a_link_shows_a_button_and_its_post_ends_messages_once() {
    let (site, one, other, token) = site_with_link().await;
    let tenant = one.bound.tenant.id.as_str();
    let path = format!("/unsubscribe/{token}");
    let shown = site.ask("GET", &path, &[], "").await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.text);
    assert!(shown.text.contains("<form method=\"post\">"), "{}", shown.text);
    assert_eq!(
        list_items(&site, tenant).await,
        json!([]),
        "a program that follows links ends nothing"
    );
    let one_click = [("content-type", "application/x-www-form-urlencoded")];
    for _ in 0..2 {
        let done = site
            .ask("POST", &path, &one_click, "List-Unsubscribe=One-Click")
            .await;
        assert_eq!(done.status, StatusCode::OK, "{}", done.text);
        for page in [&shown.text, &done.text] {
            assert!(
                !page.contains(tenant) && !page.contains("ana@") && !page.contains(&token),
                "{page}"
            );
        }
    }
    let listed = list_items(&site, tenant).await;
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed[0]["stopped"], &listed[0]["source"], &listed[0]["address"]),
        (&json!(true), &json!("link"), &Value::Null)
    );
    assert_eq!(list_items(&site, other.bound.tenant.id.as_str()).await, json!([]));
}

#[tokio::test]
async fn a_link_of_a_removed_tenant_stores_nothing() {
    let (site, one, _, token) = site_with_link().await;
    let tenant = &one.bound.tenant.id;
    let removal = format!("/v1/tenants/{tenant}?force=true");
    let begun = site.operate("DELETE", &removal, &Value::Null).await;
    assert_eq!(begun.status, StatusCode::OK, "{}", begun.text);
    let key = succeed(site.store.keep_identity_key(&identity_key)).await;
    let gone = Fixture::new().bound.tenant.id;
    let recipient = key.derive_recipient_key(&gone, RecipientAddress::WhatsApp("5511987654321"));
    let of_gone = UnsubscribeToken {
        tenant: gone.clone(),
        recipient,
    };
    for (tenant, token) in [(tenant, token), (&gone, of_gone.seal_token(&key))] {
        let done = site.ask("POST", &format!("/unsubscribe/{token}"), &[], "").await;
        assert_eq!(done.status, StatusCode::OK, "{}", done.text);
        let page = PageRequest::first(10);
        let listed = succeed(list_opt_outs(&site.store, tenant, &page)).await;
        assert_eq!(listed.items, []);
    }
}

#[tokio::test]
async fn a_link_of_nobody_ends_nothing() {
    let (site, one, _, token) = site_with_link().await;
    let mut changed = token.clone();
    changed.replace_range(40..41, if &token[40..41] == "0" { "1" } else { "0" });
    for bad in [changed.as_str(), "abc", "%00", &token[2..]] {
        for method in ["GET", "POST"] {
            let answered = site.ask(method, &format!("/unsubscribe/{bad}"), &[], "").await;
            assert_eq!(
                answered.status,
                StatusCode::NOT_FOUND,
                "{method} {bad}: {}",
                answered.text
            );
        }
    }
    assert_eq!(list_items(&site, one.bound.tenant.id.as_str()).await, json!([]));
}

#[tokio::test]
async fn the_list_shows_each_preference_to_its_tenant_alone() {
    let (site, one, other, _) = site_with_link().await;
    let tenant = one.bound.tenant.id.clone();
    let preference = OptOut {
        recipient: identity_key().derive_recipient_key(&tenant, RecipientAddress::WhatsApp("5511987654321")),
        tenant: tenant.clone(),
        address: Some("5511987654321".to_owned()),
        is_stopped: true,
        at: Timestamp::from_second(1_700_000_000).unwrap(),
        source: OptOutSource::Message,
    };
    succeed(apply_opt_out(&site.store, &preference)).await;
    let expected = json!([{"recipient": preference.recipient, "address": "5511987654321", "stopped": true,
        "at": "2023-11-14T22:13:20Z", "source": "message"}]);
    assert_eq!(list_items(&site, tenant.as_str()).await, expected);
    let body = json!({"name": "looks", "role": "viewer", "tenant": other.bound.tenant.id});
    let created = site.operate("POST", "/v1/tokens", &body).await;
    let bearer = format!("Bearer {}", created.body["secret"].as_str().unwrap());
    let path = format!("/v1/opt-outs?tenant={tenant}");
    let answered = site
        .ask("GET", &path, &[("authorization", bearer.as_str())], "")
        .await;
    assert_eq!(answered.status, StatusCode::NOT_FOUND);
    let wrong = site.operate("GET", "/v1/opt-outs", &Value::Null).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_tenants_senders_and_rules_are_stored_and_shown_as_they_were_written() {
    let site = Site::in_memory();
    let tenant = json!({"id": "clinic",
        "deliveries": {"quiet_hours": {"from": "21:00", "to": "08:00"}, "frequency_cap": {"messages": 3, "hours": 168}},
        "email_senders": [
            {"id": "mail", "kind": "resend", "from": "\"Clinic\" <hello@clinic.example>", "credential": "env:RECADO_CREDENTIAL_CLINIC_MAIL"},
            {"id": "post", "kind": "smtp", "from": "hello@clinic.example", "server": "smtps://mail.clinic.example"}]});
    let applied = site
        .operate("PUT", "/v1/config", &json!({"tenants": [tenant]}))
        .await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let shown = site.operate("GET", "/v1/tenants/clinic", &Value::Null).await;
    for field in ["deliveries", "email_senders"] {
        assert_eq!(shown.body[field], tenant[field], "{}", shown.text);
    }
    let mut wrong = tenant.clone();
    wrong["email_senders"][0]["credential"] = json!("env:RECADO_CREDENTIAL_OTHER_MAIL");
    let refused = site
        .operate("PUT", "/v1/config", &json!({"tenants": [wrong]}))
        .await;
    assert_eq!(
        refused.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        refused.text
    );
}
