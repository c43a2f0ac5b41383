//! Webhooks that are not as they should be: each has one right answer.

use crate::tests::webhooks::evolution_message;
use crate::tests::{Answered, BYTES_MAX, Site, TOKEN, ask_of, secret_at, secret_of, signature};
use axum::body::Body;
use axum::http::StatusCode;
use recado_domain::provider::Provider;
use recado_embedded::{Clock, Embedded};
use recado_pipeline::ports::Overviews;
use recado_testkit::ports::succeed;
use serde_json::json;

const BOTH: [&str; 2] = ["/webhooks/evolution", "/webhooks/meta"];

/// Bodies that are no JSON.
fn rubbish() -> Vec<(&'static str, Vec<u8>)> {
    let cut = evolution_message().to_string();
    let mut deep = br#"{"instance":"suporte-01","event":"x","data":"#.to_vec();
    deep.extend(std::iter::repeat_n(b'[', 20_000));
    vec![
        ("empty", vec![]),
        ("cut", cut.as_bytes()[..cut.len() / 2].to_vec()),
        ("not UTF-8", b"{\"instance\":\"\xff\xfe\"}".to_vec()),
        ("deep", deep),
        ("text", b"hello".to_vec()),
    ]
}

/// JSON objects that Evolution does not send.
const NO_ENVELOPES: [&str; 4] = [
    "{}",
    r#"{"event":"messages.upsert","instance":null,"data":{}}"#,
    r#"{"event":"messages.upsert","instance":"","data":{}}"#,
    r#"{"event":"messages.upsert","instance":"a\u0000b","data":{}}"#,
];

/// JSON that is no object.
const NO_OBJECTS: [&str; 3] = ["[]", r#""x""#, "null"];

async fn post_meta(site: &Site, body: &[u8]) -> Answered {
    let signed = signature(body);
    site.ask(
        "POST",
        BOTH[1],
        &[("x-hub-signature-256", &signed)],
        body.to_vec(),
    )
    .await
}

#[tokio::test]
async fn what_is_no_webhook_is_400() {
    let site = Site::in_memory();
    let secret = secret_of("master", "suporte-01");
    for (name, body) in rubbish() {
        let evolution = site
            .ask("POST", BOTH[0], &[("apikey", &secret)], body.clone())
            .await;
        assert_eq!(evolution.status, StatusCode::BAD_REQUEST, "evolution, {name}");
        assert_eq!(
            post_meta(&site, &body).await.status,
            StatusCode::BAD_REQUEST,
            "meta, {name}"
        );
    }
    for body in NO_ENVELOPES.into_iter().chain(NO_OBJECTS) {
        let evolution = site.ask("POST", BOTH[0], &[("apikey", &secret)], body).await;
        assert_eq!(evolution.status, StatusCode::BAD_REQUEST, "{body}");
    }
}

/// A webhook of each provider that is nested this deeply, with its path and its proof.
fn nested_webhooks(levels: usize) -> [(&'static str, (&'static str, String), String); 3] {
    let nest = |above: usize| format!("{}{}", "[".repeat(levels - above), "]".repeat(levels - above));
    let evolution = evolution_message().to_string().replacen(
        r#""pushName":"Bia""#,
        &format!(r#""pushName":"Bia","contextInfo":{}"#, nest(2)),
        1,
    );
    let cloud = format!(
        r#"{{"object":"whatsapp_business_account","entry":[{{"id":"1","changes":[{{"field":"messages","value":{{
            "metadata":{{"phone_number_id":"100000000000001"}},"messages":[{{"from":"5511900000001","id":"wamid.HBgNAAAA",
            "timestamp":"1760000000","type":"text","text":{{"body":"oi"}},"context":{}}}]}}}}]}}]}}"#,
        nest(8)
    );
    let signed = signature(cloud.as_bytes());
    let secret = secret_at(Provider::Dialog360, "master", "100000000000001");
    [
        (BOTH[0], ("apikey", secret_of("master", "suporte-01")), evolution),
        (BOTH[1], ("x-hub-signature-256", signed), cloud.clone()),
        ("/webhooks/360dialog", ("x-recado-webhook-secret", secret), cloud),
    ]
}

/// JSON of others is accepted up to 64 levels. Deeper JSON could be stored, but not read within its record.
#[tokio::test]
async fn what_is_acknowledged_can_be_read_in_its_record_and_deeper_json_is_400_at_every_provider() {
    for (levels, status) in [
        (64, 200),
        (65, 400),
        (118, 400),
        (126, 400),
        (127, 400),
        (128, 400),
    ] {
        for (path, (header, proof), body) in nested_webhooks(levels) {
            let site = Site::in_memory();
            let answered = site.ask("POST", path, &[(header, &proof)], body).await;
            assert_eq!(
                answered.status.as_u16(),
                status,
                "{path}, {levels}: {}",
                answered.text
            );
            let jobs = site.jobs().await;
            assert_eq!(jobs.len(), usize::from(status == 200), "{path}, {levels}");
            let open = succeed(site.store.read_open_work(None, 10)).await;
            assert_eq!(open.events.len(), jobs.len(), "{path}, {levels}");
        }
        let deep = format!("{}{}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        let site = Site::in_memory().configured().await;
        let order =
            format!(r#"{{"instance":"suporte-01","to":"5511900000001","text":"oi","metadata":{deep}}}"#);
        let bearer = format!("Bearer {TOKEN}");
        let answered = site
            .ask("POST", "/deliver/send", &[("authorization", &bearer)], order)
            .await;
        assert_eq!(
            answered.body["detail"] == "the body is nested too deeply",
            levels > 64,
            "{levels}: {}",
            answered.text
        );
    }
}

#[tokio::test]
async fn json_that_meta_signed_and_we_do_not_know_is_acknowledged() {
    // Meta repeats what it got a 4xx for during seven days.
    let site = Site::in_memory();
    for body in NO_OBJECTS.into_iter().chain(["{}"]) {
        let answered = post_meta(&site, body.as_bytes()).await;
        let found = (answered.status, &answered.body["ignored"]);
        assert_eq!(found, (StatusCode::OK, &json!(1)), "{body}");
    }
}

#[tokio::test]
async fn a_missing_or_wrong_proof_is_401() {
    let site = Site::in_memory();
    let (other, wrong) = (secret_of("master", "suporte-02"), "0".repeat(64));
    for proof in [
        vec![],
        vec![("apikey", other.as_str())],
        vec![("apikey", "provider-key")],
    ] {
        let answered = site
            .ask("POST", BOTH[0], &proof, evolution_message().to_string())
            .await;
        assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{proof:?}");
    }
    let path = format!("/webhooks/evolution/k/{wrong}");
    let answered = site
        .ask("POST", &path, &[], evolution_message().to_string())
        .await;
    assert_eq!(answered.status, StatusCode::UNAUTHORIZED);
    let signed = signature(b"{}");
    for proof in [
        vec![],
        vec![("x-hub-signature-256", signed.as_str())],
        vec![("x-hub-signature-256", "sha256=")],
    ] {
        // The signature comes before the JSON: a body that is not signed is not even read.
        let answered = site.ask("POST", BOTH[1], &proof, "not json").await;
        assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{proof:?}");
    }
}

#[tokio::test]
async fn the_path_may_not_name_another_instance() {
    let site = Site::in_memory();
    let secret = secret_of("master", "suporte-01");
    for path in [
        "/webhooks/evolution/suporte-02",
        "/webhooks/evolution/suporte-02/messages-upsert",
    ] {
        let answered = site
            .ask(
                "POST",
                path,
                &[("apikey", &secret)],
                evolution_message().to_string(),
            )
            .await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{path}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_announced_or_not() {
    let site = Site::in_memory();
    let large = vec![b' '; 10 * 1024 * 1024];
    for path in BOTH {
        assert_eq!(
            site.ask("POST", path, &[], large.clone()).await.status,
            StatusCode::PAYLOAD_TOO_LARGE
        );
        // Only the announcement is read here: the body itself would fit.
        let length = (BYTES_MAX + 1).to_string();
        let announced = site.ask("POST", path, &[("content-length", &length)], "{}").await;
        assert_eq!(announced.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(
            site.ask("POST", path, &[], vec![b' '; BYTES_MAX])
                .await
                .status
                .as_u16()
                / 100,
            4
        );
    }
}

#[tokio::test]
async fn a_secret_that_is_not_configured_is_503_and_the_provider_comes_back() {
    let site = Site::in_memory().without_keys();
    let body = evolution_message().to_string();
    for (method, path) in [("POST", BOTH[0]), ("POST", BOTH[1]), ("GET", BOTH[1])] {
        let answered = site.ask(method, path, &[], Body::from(body.clone())).await;
        assert_eq!(
            answered.status,
            StatusCode::SERVICE_UNAVAILABLE,
            "{method} {path}"
        );
        assert_eq!(answered.header("retry-after"), Some("5"));
    }
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_503_and_never_200() {
    let folder = std::env::temp_dir().join(format!("recado-http-{}-webhook", std::process::id()));
    let store = Embedded::open_folder(&folder, Clock::from_system()).unwrap();
    store.shut_down().await;
    let site = Site::over(store);
    let secret = secret_of("master", "suporte-01");
    let answered = site
        .ask(
            "POST",
            BOTH[0],
            &[("apikey", &secret)],
            evolution_message().to_string(),
        )
        .await;
    assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answered.header("retry-after"), Some("5"));
    let health = site.ask("GET", "/health", &[], "").await;
    assert_eq!(
        (health.status, &health.body["status"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("unhealthy"))
    );
    let request = json!({"to": "+55 11 90000-0001", "text": "Olá"});
    let sent = site
        .operate("POST", "/v1/instances/suporte-01/messages", &request)
        .await;
    assert_eq!(sent.status, StatusCode::SERVICE_UNAVAILABLE, "{}", sent.text);
    assert_eq!(sent.header("retry-after"), Some("5"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn unknown_providers_routes_and_methods_are_problems_too() {
    let site = Site::in_memory();
    for path in [
        "/webhooks/telegram",
        "/webhooks/",
        "/webhooks/evolution/a/b/c",
        "/",
        "/v2",
    ] {
        assert_eq!(
            site.ask("POST", path, &[], "{}").await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    for (method, path) in [
        ("GET", "/webhooks/evolution"),
        ("PUT", "/webhooks/meta"),
        ("DELETE", "/v1/config"),
    ] {
        let answered = site.ask(method, path, &[], "").await;
        assert_eq!(answered.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        assert!(answered.header("allow").is_some(), "{method} {path}");
    }
}

#[tokio::test]
async fn a_method_that_a_provider_lacks_is_405_with_those_that_it_has() {
    let site = Site::in_memory();
    for (method, path, allowed) in [
        ("GET", "/webhooks/evolution", "POST"),
        ("PUT", "/webhooks/evolution/suporte-01", "POST"),
        ("DELETE", "/api/webhook/evolution", "POST"),
        ("GET", "/webhooks/360dialog/100000000000001", "POST"),
        ("PUT", "/webhooks/whatsapp", "GET,HEAD,POST"),
    ] {
        let answered = site.ask(method, path, &[], "").await;
        assert_eq!(answered.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        assert_eq!(answered.header("allow"), Some(allowed), "{method} {path}");
    }
    for path in ["/webhooks/telegram", "/webhooks/meta/1/more", "/api/webhook/meta"] {
        for method in ["GET", "POST", "PUT"] {
            let answered = site.ask(method, path, &[], "").await;
            assert_eq!(answered.status, StatusCode::NOT_FOUND, "{method} {path}");
            assert_eq!(answered.body["detail"], "there is no such provider", "{path}");
        }
    }
}

#[tokio::test]
async fn a_segment_of_the_path_is_percent_decoded() {
    let site = Site::in_memory();
    let secret = secret_of("master", "suporte-01");
    for (path, status) in [
        ("/webhooks/evolution/suporte%2D01", StatusCode::OK),
        ("/webhooks/evolution/suporte%2D02", StatusCode::BAD_REQUEST),
        ("/webhooks/evolution/suporte%ff", StatusCode::BAD_REQUEST),
    ] {
        let answered = site
            .ask(
                "POST",
                path,
                &[("apikey", &secret)],
                evolution_message().to_string(),
            )
            .await;
        assert_eq!(answered.status, status, "{path}: {}", answered.text);
    }
}

#[tokio::test]
async fn each_side_alone_does_not_serve_the_other() {
    let site = Site::in_memory();
    let (webhook, api) = site.sides();
    assert_eq!(
        ask_of(webhook, "GET", "/health", &[], "").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        ask_of(api.clone(), "POST", BOTH[0], &[], "").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        ask_of(api, "GET", "/health", &[], "").await.status,
        StatusCode::OK
    );
}
