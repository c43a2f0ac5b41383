//! `/v1/tenants`, `/v1/agents`, `/v1/instances`.

use crate::tests::{Answered, Site, TOKEN, document};
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::ids::{CorrelationId, InstanceId, TenantId};
use recado_domain::reason::Reason;
use recado_pipeline::records::dead_letters::put_dead_letter;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

async fn site() -> Site {
    let site = Site::in_memory().at("https://recado.example.com");
    let applied = site.operate("PUT", "/v1/config", &json!(document())).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    site
}

async fn ask_with(
    site: &Site,
    token: &str,
    method: &str,
    path: &str,
    version: &str,
    body: &Value,
) -> Answered {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("authorization", bearer.as_str())];
    if !version.is_empty() {
        headers.push(("if-match", version));
    }
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    site.ask(method, path, &headers, body).await
}

async fn put(site: &Site, path: &str, version: &str, body: &Value) -> Answered {
    ask_with(site, TOKEN, "PUT", path, version, body).await
}

async fn read(site: &Site, path: &str) -> (Value, String) {
    let found = site.operate("GET", path, &Value::Null).await;
    assert_eq!(found.status, StatusCode::OK, "{}", found.text);
    let version = found.header("etag").unwrap().to_owned();
    (found.body, version)
}

#[tokio::test]
async fn a_tenant_with_its_agent_and_instance_is_made_changed_and_removed_one_by_one() {
    let site = site().await;
    for (path, body) in [
        ("/v1/tenants", json!({"id": "shop", "name": "Shop"})),
        (
            "/v1/agents",
            json!({"id": "bia", "tenant": "shop", "model": "m", "system_prompt": "p"}),
        ),
        (
            "/v1/instances",
            json!({"id": "caixa", "tenant": "shop", "agent": "bia", "provider": "evolution"}),
        ),
    ] {
        let id = body["id"].as_str().unwrap();
        let created = site.operate("POST", path, &body).await;
        assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
        assert_eq!(created.body["warnings"], json!([]), "{}", created.text);
        let one = format!("{path}/{id}");
        let (found, version) = read(&site, &one).await;
        assert_eq!(created.header("etag"), Some(version.as_str()));
        for (name, value) in body.as_object().unwrap() {
            assert_eq!(found[name], *value);
        }
        let again = site.operate("POST", path, &body).await;
        assert_eq!(again.status, StatusCode::CONFLICT, "{}", again.text);
        let listed = site.operate("GET", path, &Value::Null).await;
        assert!(
            listed.body["items"].as_array().unwrap().contains(&found),
            "{}",
            listed.text
        );
    }
    let (mut agent, version) = read(&site, "/v1/agents/bia").await;
    agent["model"] = json!("other");
    let changed = put(&site, "/v1/agents/bia", &version, &agent).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    assert_ne!(changed.header("etag"), Some(version.as_str()));
    assert_eq!(read(&site, "/v1/agents/bia").await.0["model"], "other");
    let needed = site.operate("DELETE", "/v1/agents/bia", &Value::Null).await;
    assert_eq!(needed.status, StatusCode::CONFLICT, "{}", needed.text);
    for path in ["/v1/instances/caixa", "/v1/agents/bia"] {
        let removed = site.operate("DELETE", path, &Value::Null).await;
        assert_eq!(removed.status, StatusCode::OK, "{}", removed.text);
        assert_eq!(removed.body["what"], "removed");
        let gone = site.operate("GET", path, &Value::Null).await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND);
        let again = site.operate("DELETE", path, &Value::Null).await;
        assert_eq!(again.status, StatusCode::NOT_FOUND);
    }
    let audit = site.operate("GET", "/v1/audit?tenant=shop", &Value::Null).await;
    assert_eq!(audit.body["items"].as_array().unwrap().len(), 6, "{}", audit.text);
}

#[tokio::test]
async fn a_change_names_the_version_that_it_replaces() {
    let site = site().await;
    let path = "/v1/agents/ana";
    let (agent, version) = read(&site, path).await;
    let none = put(&site, path, "", &agent).await;
    assert_eq!(none.status, StatusCode::PRECONDITION_REQUIRED, "{}", none.text);
    let same = put(&site, path, &version, &agent).await;
    assert_eq!(
        (same.status, same.header("etag")),
        (StatusCode::OK, Some(version.as_str()))
    );
    let mut other = agent.clone();
    other["model"] = json!("other");
    for stale in ["\"0\"", &format!("W/{version}"), "\"\""] {
        for method in ["PUT", "DELETE"] {
            let refused = ask_with(&site, TOKEN, method, path, stale, &other).await;
            assert_eq!(refused.status, StatusCode::PRECONDITION_FAILED, "{stale}");
        }
    }
    assert_eq!(read(&site, path).await, (agent.clone(), version.clone()));
    let several = put(&site, path, &format!("\"0\", {version}"), &other).await;
    assert_eq!(several.status, StatusCode::OK, "{}", several.text);
    let lost = put(&site, path, &version, &agent).await;
    assert_eq!(lost.status, StatusCode::PRECONDITION_FAILED, "{}", lost.text);
    assert_eq!(put(&site, path, "*", &agent).await.status, StatusCode::OK);
    assert_eq!(
        put(&site, path, "none", &agent).await.status,
        StatusCode::BAD_REQUEST
    );
    let zoe = json!({"id": "zoe", "tenant": "clinic", "model": "m", "system_prompt": "p"});
    let renamed = put(&site, path, "*", &zoe).await;
    assert_eq!(renamed.status, StatusCode::BAD_REQUEST, "{}", renamed.text);
    let missing = put(&site, "/v1/agents/zoe", "*", &zoe).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND, "{}", missing.text);
}

#[tokio::test]
async fn one_entry_is_checked_as_a_document_is() {
    let site = site().await;
    let tenant = json!({"id": "shop"});
    assert_eq!(
        site.operate("POST", "/v1/tenants", &tenant).await.status,
        StatusCode::CREATED
    );
    let line = |id: &str, external: &str| json!({"id": id, "tenant": "clinic", "agent": "ana", "provider": "evolution", "external_id": external});
    for (path, body) in [
        ("/v1/tenants", json!({"id": "a", "time_zone": "Mars/Base"})),
        (
            "/v1/agents",
            json!({"id": "a", "tenant": "nobody", "model": "m", "system_prompt": "p"}),
        ),
        (
            "/v1/agents",
            json!({"id": "a", "tenant": "clinic", "model": "m", "system_prompt": "p", "max_tokens": 0}),
        ),
        (
            "/v1/instances",
            json!({"id": "a", "tenant": "shop", "agent": "ana", "provider": "evolution"}),
        ),
        ("/v1/instances", line("a", "suporte-01")),
        (
            "/v1/instances",
            json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": "evolution", "credential": "env:HOME"}),
        ),
        (
            "/v1/instances",
            json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": "evolution", "base_url": "http://169.254.169.254/"}),
        ),
    ] {
        let applied = match path {
            "/v1/tenants" => json!({"tenants": [body]}),
            "/v1/agents" => json!({"agents": [body]}),
            _ => json!({"instances": [body]}),
        };
        let by_document = site.operate("PUT", "/v1/config?dry_run=true", &applied).await;
        let alone = site.operate("POST", path, &body).await;
        assert_eq!(
            alone.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{body}: {}",
            alone.text
        );
        assert_eq!(alone.body["detail"], by_document.body["detail"]);
    }
    // An agent whose instance would then belong to another tenant.
    let (mut agent, version) = read(&site, "/v1/agents/ana").await;
    agent["tenant"] = json!("shop");
    let refused = put(&site, "/v1/agents/ana", &version, &agent).await;
    assert_eq!(
        refused.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn a_tenants_manager_changes_its_entry_but_not_what_limits_it() {
    let site = site().await;
    let limits = json!({"id": "shop", "tokens_per_day": 1000, "turns_at_once": 1,
        "budget": {"tokens": 5000, "stop": true}, "disabled": true});
    let made = site.operate("POST", "/v1/tenants", &limits).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let token = json!({"name": "shop-manager", "role": "manager", "tenant": "shop"});
    let token = site.operate("POST", "/v1/tokens", &token).await;
    let token = token.body["secret"].as_str().unwrap().to_owned();
    let path = "/v1/tenants/shop";
    let (mut entry, _) = read(&site, path).await;
    for limit in ["disabled", "tokens_per_day", "turns_at_once", "budget"] {
        let mut lifted = entry.clone();
        lifted.as_object_mut().unwrap().remove(limit);
        let refused = ask_with(&site, &token, "PUT", path, "*", &lifted).await;
        assert_eq!(
            refused.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{}",
            refused.text
        );
        let whole = json!({"tenants": [lifted]});
        let refused = ask_with(&site, &token, "PUT", "/v1/config", "", &whole).await;
        assert_eq!(
            refused.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{}",
            refused.text
        );
    }
    assert_eq!(read(&site, path).await.0, entry);
    entry["name"] = json!("Shop");
    let renamed = ask_with(&site, &token, "PUT", path, "*", &entry).await;
    assert_eq!(renamed.status, StatusCode::OK, "{}", renamed.text);
    assert_eq!(read(&site, path).await.0, entry);
}

#[tokio::test]
async fn an_instance_that_alerts_are_sent_with_stays() {
    let site = site().await;
    let phone = json!({"instance": "suporte-01", "to": "+55 11 90000-0042"});
    let alerts = json!({"alerts": {"destinations": [{"id": "phone", "whatsapp": phone}]}});
    assert_eq!(
        site.operate("PUT", "/v1/config", &alerts).await.status,
        StatusCode::OK
    );
    let refused = site
        .operate("DELETE", "/v1/instances/suporte-01", &Value::Null)
        .await;
    assert_eq!(
        refused.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        refused.text
    );
    let other = site
        .operate("DELETE", "/v1/instances/oficial", &Value::Null)
        .await;
    assert_eq!(other.status, StatusCode::OK, "{}", other.text);
    // Of a tenant that the destinations do not name.
    let shop = json!({"tenants": [{"id": "shop"}], "agents": [
        {"id": "bia", "tenant": "shop", "model": "m", "system_prompt": "p"},
    ]});
    let applied = site.operate("PUT", "/v1/config", &shop).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let removed = site.operate("DELETE", "/v1/agents/bia", &Value::Null).await;
    assert_eq!(removed.status, StatusCode::OK, "{}", removed.text);
}

#[tokio::test]
async fn an_instance_with_a_history_is_disabled_and_stays_with_its_tenant() {
    let site = site().await;
    let letter = DeadLetter {
        id: "d-1".to_owned(),
        queue: QueueName::Outbound,
        reason: Reason::WindowClosed,
        at: Timestamp::now(),
        attempts: 2,
        last_error: None,
        correlation: CorrelationId::parse("c-1").unwrap(),
        tenant: Some(TenantId::parse("clinic").unwrap()),
        instance: Some(InstanceId::parse("suporte-01").unwrap()),
        what: DeadLetterContent::Unreadable {
            body: "bom dia".to_owned(),
        },
    };
    succeed(put_dead_letter(&site.store, &letter)).await;
    let shop = json!({"id": "shop"});
    let bia = json!({"id": "bia", "tenant": "shop", "model": "m", "system_prompt": "p"});
    for (path, body) in [("/v1/tenants", shop), ("/v1/agents", bia)] {
        let made = site.operate("POST", path, &body).await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    }
    for (id, status) in [
        ("suporte-01", StatusCode::UNPROCESSABLE_ENTITY),
        ("antiga", StatusCode::OK),
    ] {
        let path = format!("/v1/instances/{id}");
        let (mut instance, version) = read(&site, &path).await;
        instance["tenant"] = json!("shop");
        instance["agent"] = json!("bia");
        let moved = put(&site, &path, &version, &instance).await;
        assert_eq!(moved.status, status, "{}", moved.text);
    }
    let path = "/v1/instances/suporte-01";
    for what in ["disabled", "unchanged"] {
        let removed = site.operate("DELETE", path, &Value::Null).await;
        assert_eq!(
            (removed.status, &removed.body["what"]),
            (StatusCode::OK, &json!(what))
        );
        assert_eq!(read(&site, path).await.0["disabled"], true);
    }
    let letters = site
        .operate("GET", "/v1/dead-letters?instance=suporte-01", &Value::Null)
        .await;
    assert_eq!(
        letters.body["items"].as_array().unwrap().len(),
        1,
        "{}",
        letters.text
    );
}

#[tokio::test]
async fn the_webhook_of_one_instance_is_shown_as_that_of_all_and_noted() {
    let site = site().await;
    let all = site.operate("GET", "/v1/config/webhooks", &Value::Null).await;
    for setup in all.body["instances"].as_array().unwrap() {
        let path = format!("/v1/instances/{}/webhook", setup["id"].as_str().unwrap());
        let one = site.operate("GET", &path, &Value::Null).await;
        assert_eq!(one.body, *setup, "{}", one.text);
    }
    let noted = site
        .operate(
            "GET",
            "/v1/audit?action=webhook_secrets_read&tenant=clinic",
            &Value::Null,
        )
        .await;
    assert_eq!(noted.body["items"].as_array().unwrap().len(), 3, "{}", noted.text);
}

#[tokio::test]
async fn lists_come_in_pages_and_by_tenant() {
    let site = site().await;
    for tenant in ["a", "b"] {
        let made = site.operate("POST", "/v1/tenants", &json!({"id": tenant})).await;
        assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
        for n in 0..3 {
            let agent =
                json!({"id": format!("{tenant}-{n}"), "tenant": tenant, "model": "m", "system_prompt": "p"});
            let made = site.operate("POST", "/v1/agents", &agent).await;
            assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
        }
    }
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/agents?tenant=a&limit=2{cursor}");
        let page = site.operate("GET", &path, &Value::Null).await;
        for item in page.body["items"].as_array().unwrap() {
            ids.push(item["id"].as_str().unwrap().to_owned());
        }
        match page.body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(ids, ["a-0", "a-1", "a-2"]);
    let all = site.operate("GET", "/v1/agents", &Value::Null).await;
    assert_eq!(all.body["items"].as_array().unwrap().len(), 7);
    let nobodys = site.operate("GET", "/v1/instances?tenant=a", &Value::Null).await;
    assert_eq!(nobodys.body, json!({"items": [], "next_cursor": null}));
}
