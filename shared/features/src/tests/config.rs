//! `/v1/config`.

use crate::tests::{Site, TOKEN, document, secret_of};
use axum::http::StatusCode;
use recado_domain::provider::Provider;
use recado_testkit::webhooks::configured_secret;
use serde_json::{Value, json};

#[tokio::test]
async fn applying_says_what_changed_and_what_to_enter_at_the_provider() {
    let site = Site::in_memory().at("https://recado.example.com/");
    let body = serde_json::to_value(document()).unwrap();
    let answered = site.operate("PUT", "/v1/config", &body).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    assert_eq!(
        answered.body["changes"][0],
        json!({"kind": "tenant", "id": "clinic", "what": "created"})
    );
    let base = "https://recado.example.com/webhooks";
    let shown = site.operate("GET", "/v1/config", &Value::Null).await.body;
    let [new, old] =
        ["suporte-01", "antiga"].map(|name| configured_secret("master", (Provider::Evolution, name), &shown));
    assert!(
        new != secret_of("master", "suporte-01") && old.len() == 96,
        "with a salt"
    );
    assert_eq!(
        answered.body["instances"],
        json!([
            {"id": "suporte-01", "provider": "evolution", "webhook_url": format!("{base}/evolution"), "secret": new,
             "proof_set": true},
            {"id": "antiga", "provider": "evolution", "webhook_url": format!("{base}/evolution/k/{old}"), "secret": old,
             "proof_set": true},
            {"id": "oficial", "provider": "meta", "webhook_url": format!("{base}/meta"), "secret": null,
             "proof_set": true, "verify_token_set": true},
        ])
    );
    let again = site.operate("POST", "/v1/config", &body).await;
    assert!(
        again.body["changes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|change| change["what"] == "unchanged")
    );
    let agent = json!({"agents": [{"id": "ana", "tenant": "clinic", "model": "other", "system_prompt": "You are Ana."}]});
    let changed = site.operate("PUT", "/v1/config", &agent).await;
    assert_eq!(
        changed.body,
        json!({"changes": [{"kind": "agent", "id": "ana", "what": "changed", "fields": ["model"]}], "instances": [], "warnings": []})
    );
}

#[tokio::test]
async fn a_number_of_360dialog_gets_its_own_url_and_header_and_one_of_aws_needs_neither() {
    let site = Site::in_memory().at("https://recado.example.com");
    let mut body = serde_json::to_value(document()).unwrap();
    body["instances"] = json!([
        {"id": "parceiro", "tenant": "clinic", "agent": "ana", "provider": "360dialog", "external_id": "1000 00/1"},
        {"id": "nuvem", "tenant": "clinic", "agent": "ana", "provider": "aws-social", "external_id": "phone-number-id-00ff"},
    ]);
    let answered = site.operate("PUT", "/v1/config", &body).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    let shown = site.operate("GET", "/v1/config", &Value::Null).await;
    let secret = configured_secret("master", (Provider::Dialog360, "1000 00/1"), &shown.body);
    assert_eq!(
        answered.body["instances"],
        json!([
            {"id": "parceiro", "provider": "360dialog",
             "webhook_url": "https://recado.example.com/webhooks/360dialog/1000%2000%2F1",
             "secret": secret,
             "secret_header": "x-recado-webhook-secret", "proof_set": true},
            {"id": "nuvem", "provider": "aws-social", "webhook_url": null, "secret": null, "proof_set": true},
        ])
    );
    assert!(!shown.text.contains(&secret));
}

#[tokio::test]
async fn pruning_is_shown_first_removes_what_is_unused_and_disables_what_has_a_history() {
    let site = Site::in_memory().configured().await;
    site.conversation("5511900000001@s.whatsapp.net").await;
    let mut wanted = serde_json::to_value(document()).unwrap();
    wanted["instances"]
        .as_array_mut()
        .unwrap()
        .retain(|one| one["id"] == "antiga");
    let removals = |answered: &crate::tests::Answered| {
        let changes = answered.body["changes"].as_array().unwrap().iter();
        let removal = changes.filter(|change| change["what"] == "removed" || change["what"] == "disabled");
        removal.cloned().collect::<Vec<Value>>()
    };
    let owed = site.operate("PUT", "/v1/config?prune=true", &wanted).await;
    assert_eq!(owed.status, StatusCode::CONFLICT, "{}", owed.text);
    assert!(owed.text.contains("1 of instance suporte-01"), "{}", owed.text);
    let ids = async || {
        let shown = site.operate("GET", "/v1/config", &Value::Null).await;
        let instances = shown.body["document"]["instances"].as_array().unwrap().clone();
        instances
            .into_iter()
            .map(|one| (one["id"].as_str().unwrap().to_owned(), one["disabled"] == true))
            .collect::<Vec<_>>()
    };
    let before = ids().await;
    let forced = "/v1/config?prune=true&force=true";
    let preview = site
        .operate("PUT", &format!("{forced}&dry_run=true"), &wanted)
        .await;
    assert_eq!(preview.status, StatusCode::OK, "{}", preview.text);
    let expected = [
        json!({"kind": "instance", "id": "suporte-01", "what": "disabled", "conversations": 1}),
        json!({"kind": "instance", "id": "oficial", "what": "removed", "conversations": 0}),
    ];
    assert_eq!(removals(&preview), expected);
    assert_eq!(ids().await, before, "a preview changes nothing");
    let done = site.operate("PUT", forced, &wanted).await;
    assert_eq!(removals(&done), expected);
    let left = [("antiga".to_owned(), false), ("suporte-01".to_owned(), true)];
    assert_eq!(ids().await, left);
    // What it has is readable, and nothing new is sent.
    let list = site.operate("GET", "/v1/conversations", &Value::Null).await;
    let id = list.body["items"][0]["id"].as_str().unwrap().to_owned();
    let messages = format!("/v1/conversations/{id}/messages");
    let read = site.operate("GET", &messages, &Value::Null).await;
    assert_eq!(read.body["items"][0]["content"], "bom dia", "{}", read.text);
    let answered = site.operate("POST", &messages, &json!({"text": "Oi"})).await;
    assert_eq!(answered.status, StatusCode::CONFLICT, "{}", answered.text);
    let to = json!({"to": "+5511900000001", "text": "Oi"});
    let sent = site
        .operate("POST", "/v1/instances/suporte-01/messages", &to)
        .await;
    assert_eq!(sent.status, StatusCode::CONFLICT, "{}", sent.text);
    assert!(sent.text.contains("disabled"), "{}", sent.text);
}

#[tokio::test]
async fn showing_gives_urls_and_no_secrets() {
    let site = Site::in_memory().configured().await;
    let answered = site.operate("GET", "/v1/config", &Value::Null).await;
    assert_eq!(answered.body["document"]["tenants"][0]["id"], "clinic");
    let url = |id: &str| {
        let instances = answered.body["instances"].as_array().unwrap();
        instances.iter().find(|instance| instance["id"] == id).unwrap()["webhook_url"]
            .as_str()
            .unwrap()
    };
    assert_eq!(url("suporte-01"), "http://127.0.0.1:8080/webhooks/evolution");
    assert_eq!(
        url("antiga"),
        "http://127.0.0.1:8080/webhooks/evolution/k/{secret}"
    );
    assert!(
        answered.body["instances"]
            .as_array()
            .unwrap()
            .iter()
            .all(|instance| instance["secret"].is_null())
    );
    assert!(!answered.text.contains(&secret_of("master", "antiga")));
}

#[tokio::test]
async fn what_is_wrong_with_a_document_is_said_and_nothing_is_applied() {
    let site = Site::in_memory();
    for (body, status, part) in [
        (json!({"tenant": []}), StatusCode::BAD_REQUEST, "tenant"),
        (
            json!({"instances": [{"id": "a", "tenant": "clinic", "agent": "ana", "provider": "telepathy"}]}),
            StatusCode::BAD_REQUEST,
            "there is no provider `telepathy`; there are evolution, meta, 360dialog, aws-social",
        ),
        (
            json!({"tenants": [{"id": "a", "time_zone": "Mars/Olympus"}]}),
            StatusCode::UNPROCESSABLE_ENTITY,
            "Mars/Olympus",
        ),
    ] {
        let answered = site.operate("PUT", "/v1/config", &body).await;
        assert_eq!(answered.status, status, "{}", answered.text);
        assert!(answered.body["detail"].as_str().unwrap().contains(part));
    }
    let large = json!({"tenants": [{"id": "a", "name": "x".repeat(2 * 1024 * 1024)}]});
    assert_eq!(
        site.operate("PUT", "/v1/config", &large).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    let shown = site.operate("GET", "/v1/config", &Value::Null).await;
    assert_eq!(shown.body["document"]["tenants"], json!([]));
}

/// An operator copies the URL from the answer to the provider.
#[tokio::test]
async fn no_header_of_a_request_decides_where_webhooks_go() {
    let bearer = format!("Bearer {TOKEN}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "evil.example"),
    ];
    // Every test is asked as `recado.example`.
    for (site, base) in [
        (Site::in_memory().configured().await, "http://127.0.0.1:8080"),
        (
            Site::in_memory().configured().await.at("https://own.example"),
            "https://own.example",
        ),
    ] {
        for path in [
            "/v1/config",
            "/v1/config/webhooks",
            "/v1/instances/suporte-01/webhook",
        ] {
            let answered = site.ask("GET", path, &headers, "").await;
            let shown = format!("{base}/webhooks/evolution");
            assert!(answered.text.contains(&shown), "{path}: {}", answered.text);
            for named in ["recado.example", "evil.example"] {
                assert!(!answered.text.contains(named), "{path}: {}", answered.text);
            }
        }
    }
}

#[tokio::test]
async fn a_field_that_is_left_out_goes_back_to_its_default() {
    let site = Site::in_memory().configured().await;
    let tenant = |retention: Value| {
        let mut tenant = json!({"id": "clinic", "time_zone": "America/Sao_Paulo"});
        if !retention.is_null() {
            tenant["retention"] = retention;
        }
        json!({"tenants": [tenant]})
    };
    for (retention, expected) in [(json!({"messages": 30}), json!(30)), (Value::Null, Value::Null)] {
        let applied = site.operate("PUT", "/v1/config", &tenant(retention)).await;
        let change = &applied.body["changes"][0];
        assert_eq!(
            (&change["what"], &change["fields"]),
            (&json!("changed"), &json!(["retention"])),
            "{}",
            applied.text
        );
        let shown = site.operate("GET", "/v1/config", &Value::Null).await;
        assert_eq!(
            shown.body["document"]["tenants"][0]["retention"]["messages"], expected,
            "{}",
            shown.text
        );
    }
}

#[tokio::test]
async fn an_entry_tells_whether_it_is_as_the_file_says() {
    let site = Site::in_memory();
    let file = serde_json::to_value(document()).unwrap();
    let agent = json!({"agents": [{"id": "ana", "tenant": "clinic", "model": "other", "system_prompt": "You are Ana."}]});
    for (path, applied, source) in [
        ("/v1/config", &file, "api"),
        ("/v1/config?file=true&dry_run=true", &file, "api"),
        ("/v1/config?file=true", &file, "file"),
        ("/v1/config", &agent, "changed_since"),
        ("/v1/config?file=true", &agent, "file"),
    ] {
        let answered = site.operate("PUT", path, applied).await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
        let shown = site.operate("GET", "/v1/agents/ana", &Value::Null).await;
        assert_eq!(shown.header("x-entry-source"), Some(source), "after {path}");
        assert!(!answered.text.contains("changed otherwise"), "{}", answered.text);
    }
    let by_hand = json!({"agents": [{"id": "ana", "tenant": "clinic", "model": "third", "system_prompt": "You are Ana."}]});
    site.operate("PUT", "/v1/config", &by_hand).await;
    let replaced = site.operate("PUT", "/v1/config?file=true", &agent).await;
    let warnings = replaced.body["warnings"].to_string();
    assert!(warnings.contains("agent ana was changed otherwise"), "{warnings}");
}

#[tokio::test]
async fn a_document_that_makes_or_removes_a_tenant_needs_an_admin() {
    let site = Site::in_memory().configured().await;
    let token = json!({"name": "gerente", "role": "manager"});
    let created = site.operate("POST", "/v1/tokens", &token).await;
    let bearer = format!("Bearer {}", created.body["secret"].as_str().unwrap());
    let apply = async |path: &str, document: &Value| {
        let headers = [("authorization", bearer.as_str())];
        site.ask("PUT", path, &headers, document.to_string()).await
    };
    let assert_refused = |answered: &crate::tests::Answered, verb: &str| {
        assert_eq!(answered.status, StatusCode::FORBIDDEN, "{}", answered.text);
        assert_eq!(answered.header("content-type"), Some("application/problem+json"));
        let expected =
            format!("this would {verb} the tenant `nova`, which only a token with the role `admin` may do");
        assert_eq!(
            (&answered.body["code"], &answered.body["detail"]),
            (&json!("role"), &json!(expected))
        );
    };
    let known = serde_json::to_value(document()).unwrap();
    let changed = apply("/v1/config", &known).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    let new = json!({"tenants": [{"id": "nova"}]});
    for path in ["/v1/config?dry_run=true", "/v1/config"] {
        assert_refused(&apply(path, &new).await, "make");
    }
    let tenants = async || {
        let shown = site.operate("GET", "/v1/tenants", &Value::Null).await;
        shown.body["items"].as_array().unwrap().len()
    };
    assert_eq!(tenants().await, 1);
    assert_eq!(
        site.operate("PUT", "/v1/config", &new).await.status,
        StatusCode::OK
    );
    assert_refused(&apply("/v1/config?prune=true", &known).await, "remove");
    assert_eq!(tenants().await, 2);
    let pruned = site.operate("PUT", "/v1/config?prune=true", &known).await;
    assert_eq!(pruned.status, StatusCode::OK, "{}", pruned.text);
    assert_eq!(tenants().await, 1);
}
