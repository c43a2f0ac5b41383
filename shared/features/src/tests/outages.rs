//! A store or a queue that fails, hangs, or is asked by strangers.

use crate::tests::unsteady::PortMode;
use crate::tests::webhooks::{evolution_message, meta_body};
use crate::tests::{Answered, Site, ask_of, document, secret_at, secret_of, signature};
use axum::http::StatusCode;
use futures::future::{join, join_all};
use recado_domain::config::RESERVED_INSTANCE;
use recado_domain::ids::InstanceId;
use recado_domain::provider::Provider;
use recado_embedded::{Clock, Embedded};
use recado_http::{HealthProbe, WebhookLimits};
use recado_pipeline::ports::Instances;
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// One message, as each provider posts it.
async fn post_to_every_provider(site: &Site) -> Vec<(&'static str, Answered)> {
    let evolution = evolution_message().to_string();
    let meta = meta_body(&json!({
        "contacts": [{"profile": {"name": "Bia"}, "wa_id": "5511900000001"}],
        "messages": [{"from": "5511900000001", "id": "wamid.HBgNAAAA", "timestamp": "1760000000", "type": "text",
                      "text": {"body": "bom dia"}}],
    }))
    .to_string();
    let signed = signature(meta.as_bytes());
    let dialog = secret_at(Provider::Dialog360, "master", "100000000000001");
    let mut answers = Vec::new();
    for (path, name, proof, body) in [
        (
            "/webhooks/evolution",
            "apikey",
            &secret_of("master", "suporte-01"),
            &evolution,
        ),
        ("/webhooks/meta", "x-hub-signature-256", &signed, &meta),
        ("/webhooks/360dialog", "x-recado-webhook-secret", &dialog, &meta),
    ] {
        let answered = site.ask("POST", path, &[(name, proof)], body.clone()).await;
        answers.push((path, answered));
    }
    answers
}

#[tokio::test]
async fn a_queue_that_fails_behind_a_store_that_works_is_503_and_its_repetition_is_enqueued_once() {
    let site = Site::in_memory();
    site.queues.set(PortMode::Failing);
    for (path, answered) in post_to_every_provider(&site).await {
        assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(answered.header("retry-after"), Some("5"), "{path}");
    }
    site.queues.set(PortMode::Working);
    for (path, answered) in post_to_every_provider(&site).await {
        let found = (answered.status, &answered.body["events"]);
        assert_eq!(found, (StatusCode::OK, &json!(1)), "{path}");
    }
    let mut enqueued = site.queues.inbound.lock().unwrap().clone();
    assert_eq!(enqueued.len(), 3, "one of each: {enqueued:?}");
    enqueued.dedup();
    assert_eq!(enqueued.len(), 3);
}

#[tokio::test]
async fn a_send_that_could_not_be_enqueued_is_503_and_its_repetition_is_the_same_message() {
    let site = Site::in_memory().configured().await;
    let body = json!({"to": "+55 11 90000-0001", "text": "bom dia", "message_id": "m-1"});
    let path = "/v1/instances/suporte-01/messages";
    site.queues.set(PortMode::Failing);
    let failed = site.operate("POST", path, &body).await;
    assert_eq!(failed.status, StatusCode::SERVICE_UNAVAILABLE, "{}", failed.text);
    assert_eq!(failed.header("retry-after"), Some("5"));
    site.queues.set(PortMode::Working);
    let first = site.operate("POST", path, &body).await;
    let again = site.operate("POST", path, &body).await;
    assert!(
        first.status.is_success() && again.status.is_success(),
        "{} {}",
        first.text,
        again.text
    );
    assert_eq!(first.body["id"], again.body["id"]);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_kept_waiting_is_503_within_the_deadline_at_every_provider() {
    let site = Site::in_memory();
    site.queues.set(PortMode::Hanging);
    let begun = Instant::now();
    for (path, answered) in post_to_every_provider(&site).await {
        assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(answered.header("retry-after"), Some("5"), "{path}");
    }
    // Eight seconds, and four for 360dialog, which hangs up after five.
    assert_eq!(begun.elapsed(), Duration::from_secs(8 + 8 + 4));
}

#[tokio::test]
async fn a_large_body_keeps_its_place_until_its_webhook_is_answered() {
    let mut site = Site::in_memory();
    site.settings.webhook_deadline = recado_domain::SignedDuration::from_secs(3);
    site.queues.set(PortMode::Hanging);
    let router = site.router_with(WebhookLimits { bytes_max: 1_000_000 });
    let secret = secret_of("master", "suporte-01");
    let answered = Mutex::new(Vec::new());
    let post = async |id: String, key: &str| {
        let mut message = evolution_message();
        message["data"]["key"]["id"] = json!(id);
        message["data"]["message"]["base64"] = json!("A".repeat(400_000));
        let headers = [("apikey", key)];
        let path = "/webhooks/evolution";
        let answer = ask_of(router.clone(), "POST", path, &headers, message.to_string()).await;
        answered.lock().unwrap().push((id, answer.status));
    };
    // As many as are held at a time, all kept waiting.
    let held = join_all((0..16).map(|number| post(format!("L{number}"), &secret)));
    let one_more = async {
        let hang = || site.queues.hanging.load(Ordering::Relaxed) == 16;
        while !hang() && answered.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        post("one more".to_owned(), "wrong").await;
    };
    join(held, one_more).await;
    let answered = answered.into_inner().unwrap();
    assert_eq!(answered.len(), 17);
    let (id, status) = &answered[0];
    assert!(
        id != "one more" && *status == StatusCode::SERVICE_UNAVAILABLE,
        "{answered:?}"
    );
}

async fn proven_write(site: &Site) -> Option<recado_domain::Timestamp> {
    let nobody = InstanceId::parse(RESERVED_INSTANCE).unwrap();
    succeed(site.store.read_instance_state(&nobody))
        .await
        .confirmed_at
}

#[tokio::test]
async fn health_tells_the_last_proven_write_and_strangers_cause_none() {
    let site = Site::in_memory().with_health_probe(HealthProbe::by_timer());
    for _ in 0..2 {
        let answered = site.ask("GET", "/health", &[], "").await;
        assert_eq!(
            answered.status,
            StatusCode::SERVICE_UNAVAILABLE,
            "nothing is proven yet"
        );
        assert_eq!(answered.body["status"], "unhealthy");
        assert_eq!(answered.body["last_write"], Value::Null);
        assert_eq!(proven_write(&site).await, None, "no request wrote anything");
    }
    site.probe_health().await;
    let answered = site.ask("GET", "/health", &[], "").await;
    assert_eq!(answered.status, StatusCode::OK);
    let written = proven_write(&site).await.unwrap();
    assert_eq!(answered.body["last_write"], json!(written));
}

#[tokio::test]
async fn where_a_process_runs_only_while_it_is_asked_many_requests_cause_one_write() {
    let site = Site::in_memory();
    assert_eq!(site.ask("GET", "/health", &[], "").await.status, StatusCode::OK);
    let first = proven_write(&site).await.unwrap();
    for _ in 0..20 {
        assert_eq!(site.ask("GET", "/health", &[], "").await.status, StatusCode::OK);
    }
    assert_eq!(proven_write(&site).await, Some(first));
}

#[tokio::test]
async fn health_is_503_while_the_store_fails() {
    let folder = std::env::temp_dir().join(format!("recado-http-{}-health", std::process::id()));
    for health_probe in [HealthProbe::by_timer(), HealthProbe::on_request()] {
        let store = Embedded::open_folder(&folder, Clock::from_system()).unwrap();
        let site = Site::over(store).with_health_probe(health_probe);
        site.store.shut_down().await;
        site.probe_health().await;
        let answered = site.ask("GET", "/health", &[], "").await;
        assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answered.body["services"]["store"], "unhealthy");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn what_lists_the_way_to_whatsapp_is_503_while_the_store_fails() {
    let folder = std::env::temp_dir().join(format!("recado-http-{}-whatsapp", std::process::id()));
    let site = Site::over(Embedded::open_folder(&folder, Clock::from_system()).unwrap());
    site.store.shut_down().await;
    let strangers = site.ask("GET", "/health/whatsapp", &[], "").await;
    assert_eq!(strangers.status, StatusCode::SERVICE_UNAVAILABLE);
    for path in [
        "/health/whatsapp",
        "/health/whatsapp/detailed",
        "/health/whatsapp/dlq",
    ] {
        let answered = site.operate("GET", path, &Value::Null).await;
        assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert_eq!(answered.header("content-type"), Some("application/problem+json"));
        assert_eq!(answered.header("retry-after"), Some("5"), "{path}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn the_id_of_the_health_checks_record_is_nobodys() {
    let site = Site::in_memory().configured().await;
    let mut wrong = serde_json::to_value(document()).unwrap();
    wrong["instances"][0]["id"] = json!(RESERVED_INSTANCE);
    let refused = site.operate("PUT", "/v1/config", &wrong).await;
    assert_eq!(
        refused.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        refused.text
    );
}

/// 503 is given for one instance, or for an installation of one tenant.
#[tokio::test]
async fn one_tenants_flood_is_no_503_for_the_others() {
    let site = Site::in_memory().configured().await;
    let other = json!({
        "tenants": [{"id": "shop", "time_zone": "America/Sao_Paulo"}],
        "agents": [{"id": "rui", "tenant": "shop", "model": "claude-sonnet-4-5", "system_prompt": "You are Rui."}],
        "instances": [{"id": "loja", "tenant": "shop", "agent": "rui", "provider": "evolution"}],
    });
    succeed(put_configuration(
        &site.store,
        &serde_json::from_value(other).unwrap(),
    ))
    .await;
    site.depths.0.store(5000, Ordering::Relaxed);
    let open = site.ask("GET", "/health/whatsapp", &[], "").await;
    let found = (open.status, &open.body["status"]);
    assert_eq!(found, (StatusCode::OK, &json!("unhealthy")));
    for path in ["/health/whatsapp", "/health/whatsapp/detailed"] {
        let told = site.operate("GET", path, &Value::Null).await;
        assert_eq!(
            (told.status, &told.body["status"]),
            (StatusCode::OK, &json!("unhealthy")),
            "{path}"
        );
    }
}
