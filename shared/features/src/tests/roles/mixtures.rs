//! Requests about a tenant's own records that name another tenant's beside them: they are answered as if nobody had those.

use crate::tests::roles::ask_as;
use crate::tests::roles::requests::{Ids, Wanted};
use crate::tests::roles::tenants::TwoTenants;
use axum::http::StatusCode;
use recado_domain::access::TokenRole;
use serde_json::{Value, json};

/// Requests to records of `own` that name records of `named`.
fn list_mixtures(own: &Ids, named: &Ids) -> Vec<Wanted> {
    let post = |route: &'static str, id: &str, body: &Value| {
        Wanted::new("POST", route, &route.replace("{id}", id), body)
    };
    let sends = "/v1/instances/{id}/messages";
    let answers = "/v1/conversations/{id}/messages";
    let to = "+55 11 90000-0001";
    let file = json!({"type": "media", "media": "document", "source": named.upload});
    let mut mixtures = vec![
        post(sends, &own.instance, &json!({"to": to, "content": file})),
        post(answers, &own.conversation, &json!({"content": file})),
        post(
            "/v1/contacts/find",
            "",
            &json!({"tenant": own.tenant, "contact": own.contact, "instance": named.instance}),
        ),
        post(
            "/v1/contacts/export",
            "",
            &json!({"tenant": own.tenant, "contact": named.contact}),
        ),
        post(
            "/v1/tokens",
            "",
            &json!({"name": named.token, "role": "viewer", "tenant": own.tenant}),
        ),
    ];
    for quoted in [&named.message, &named.provider_message] {
        let body = json!({"to": to, "text": "oi", "reply_to": quoted});
        mixtures.push(post(sends, &own.instance, &body));
        let body = json!({"text": "oi", "reply_to": quoted});
        mixtures.push(post(answers, &own.conversation, &body));
    }
    mixtures
}

#[tokio::test]
async fn another_tenants_record_beside_ones_own_is_answered_as_one_that_nobody_has() {
    let world = TwoTenants::new().await;
    let token = world.token_of_one(TokenRole::Admin);
    let unknown = Ids::unknown();
    let pairs = list_mixtures(&world.one, &world.other);
    for (foreign, nobodys) in pairs.iter().zip(&list_mixtures(&world.one, &unknown)) {
        let answered = ask_as(&world.site, token, foreign).await;
        let expected = ask_as(&world.site, token, nobodys).await;
        let place = format!("{} {}: {}", foreign.path, foreign.body, answered.text);
        assert_eq!(answered.status, expected.status, "{place}: {}", expected.text);
        let leak = [
            &world.other.said,
            &world.other.conversation,
            &world.other.instance,
        ];
        // What the request itself named may be repeated.
        let shown = leak
            .into_iter()
            .find(|id| !foreign.body.contains(id.as_str()) && answered.text.contains(id.as_str()));
        assert_eq!(shown, None, "{place}");
    }
}

#[tokio::test]
async fn the_same_key_and_the_same_correlation_id_of_two_tenants_have_nothing_in_common() {
    let world = TwoTenants::new().await;
    let mut sent = Vec::new();
    for (token, ids) in [
        (world.token_of_other(), &world.other),
        (world.token_of_one(TokenRole::Admin), &world.one),
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("idempotency-key", "order-7"),
            ("x-correlation-id", "the-same-request"),
        ];
        let path = format!("/v1/instances/{}/messages", ids.instance);
        let body = json!({"to": "+55 11 90000-0001", "text": "oi"}).to_string();
        let answered = world.site.ask("POST", &path, &headers, body).await;
        assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.text);
        sent.push(answered.body["id"].as_str().unwrap().to_owned());
    }
    assert_ne!(sent[0], sent[1]);
    let path = "/v1/trace?correlation=the-same-request";
    let trace = Wanted::new("GET", "/v1/trace", path, &Value::Null);
    let own = ask_as(&world.site, world.token_of_one(TokenRole::Admin), &trace).await;
    assert!(own.text.contains(&sent[1]), "{}", own.text);
    assert!(!own.text.contains(&sent[0]), "{}", own.text);
}
