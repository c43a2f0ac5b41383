//! Webhooks that are as they should be.

use crate::tests::{Answered, LIMITS, Site, TOKEN, ask_of, secret_of, signature};
use axum::http::StatusCode;
use serde_json::{Value, json};

pub(super) fn evolution_message() -> Value {
    json!({
        "event": "messages.upsert",
        "instance": "suporte-01",
        "data": {
            "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "3EB0B2C4D5E6"},
            "pushName": "Bia",
            "message": {"conversation": "bom dia"},
            "messageType": "conversation",
            "messageTimestamp": 1_760_000_000,
        },
        "date_time": "2025-10-09T08:53:20.000Z",
        "server_url": "http://evolution.example",
        "apikey": "provider-key",
    })
}

pub(super) fn meta_body(value: &Value) -> Value {
    let mut value = value.clone();
    value["messaging_product"] = json!("whatsapp");
    value["metadata"] = json!({"display_phone_number": "15550000001", "phone_number_id": "100000000000001"});
    json!({
        "object": "whatsapp_business_account",
        "entry": [{"id": "200000000000002", "changes": [{"field": "messages", "value": value}]}],
    })
}

fn meta_message() -> Value {
    meta_body(&json!({
        "contacts": [{"profile": {"name": "Bia"}, "wa_id": "5511900000001"}],
        "messages": [{"from": "5511900000001", "id": "wamid.HBgNAAAA", "timestamp": "1760000000", "type": "text",
                      "text": {"body": "bom dia"}}],
    }))
}

async fn evolution(site: &Site, path: &str, body: &Value) -> Answered {
    site.ask(
        "POST",
        path,
        &[("apikey", &secret_of("master", "suporte-01"))],
        body.to_string(),
    )
    .await
}

#[tokio::test]
async fn a_worker_may_name_the_instance_in_the_path_alone() {
    let body = json!({"message": {
        "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false},
        "message": {"conversation": "Test from queue"},
    }});
    let answered = evolution(&Site::in_memory(), "/webhooks/evolution/suporte-01", &body).await;
    assert_eq!(answered.body["events"], 1, "{}", answered.text);
}

#[tokio::test]
async fn every_route_of_evolution_takes_a_message() {
    let token = secret_of("master", "suporte-01");
    let with_token = format!("/webhooks/evolution/k/{token}");
    let with_token_by_event = format!("{with_token}/messages-upsert");
    for path in [
        "/webhooks/evolution",
        "/api/webhook/evolution",
        "/webhooks/evolution/suporte-01",
        "/webhooks/evolution/messages-upsert",
        "/webhooks/evolution/suporte-01/messages-upsert",
        "/api/webhook/evolution/suporte-01",
    ] {
        let answered = evolution(&Site::in_memory(), path, &evolution_message()).await;
        assert_eq!(answered.status, StatusCode::OK, "{path}: {}", answered.text);
        assert_eq!(
            (&answered.body["status"], &answered.body["events"]),
            (&json!("ok"), &json!(1)),
            "{path}"
        );
    }
    for path in [with_token.as_str(), with_token_by_event.as_str()] {
        let answered = Site::in_memory()
            .ask("POST", path, &[], evolution_message().to_string())
            .await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    }
}

#[tokio::test]
async fn a_repeated_webhook_is_answered_200_again() {
    let site = Site::in_memory();
    for _ in 0..2 {
        let answered = evolution(&site, "/webhooks/evolution", &evolution_message()).await;
        assert_eq!(
            (answered.status, &answered.body["events"]),
            (StatusCode::OK, &json!(1))
        );
    }
}

#[tokio::test]
async fn the_secret_of_the_master_before_still_opens() {
    let secret = secret_of("old-master", "suporte-01");
    let bearer = format!("Bearer {secret}");
    let answered = Site::in_memory()
        .ask(
            "POST",
            "/webhooks/evolution",
            &[("authorization", &bearer)],
            evolution_message().to_string(),
        )
        .await;
    assert_eq!(answered.status, StatusCode::OK);
}

#[tokio::test]
async fn an_authentic_event_of_no_use_is_acknowledged_and_counted() {
    let body = json!({"event": "presence.update", "instance": "suporte-01", "data": {}});
    let answered = evolution(&Site::in_memory(), "/webhooks/evolution/presence-update", &body).await;
    assert_eq!(
        (answered.status, &answered.body["ignored"]),
        (StatusCode::OK, &json!(1))
    );
}

#[tokio::test]
async fn metas_messages_and_statuses_are_taken_on_both_routes() {
    let status = meta_body(&json!({"statuses": [{
        "id": "wamid.HBgNBBBB", "status": "delivered", "timestamp": "1760000001", "recipient_id": "5511900000001",
    }]}));
    for path in ["/webhooks/meta", "/webhooks/whatsapp"] {
        for (body, counted) in [(meta_message(), "events"), (status.clone(), "statuses")] {
            let body = body.to_string();
            let headers = [("x-hub-signature-256", signature(body.as_bytes()))];
            let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
            let answered = Site::in_memory().ask("POST", path, &headers, body).await;
            assert_eq!(
                (answered.status, &answered.body[counted]),
                (StatusCode::OK, &json!(1)),
                "{}",
                answered.text
            );
        }
    }
}

#[tokio::test]
async fn the_handshake_returns_the_challenge_to_who_knows_the_token() {
    let site = Site::in_memory();
    let path = "/webhooks/meta?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=verify-me";
    let answered = site.ask("GET", path, &[], "").await;
    assert_eq!(
        (answered.status, answered.text.as_str()),
        (StatusCode::OK, "1158201444")
    );
    assert_eq!(answered.header("content-type"), Some("text/plain"));
    let wrong = path.replace("verify-me", "verify-you");
    assert_eq!(
        site.ask("GET", &wrong, &[], "").await.status,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        site.ask("GET", "/webhooks/whatsapp", &[], "").await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn slashes_too_many_in_a_path_change_nothing() {
    let query = "hub.mode=subscribe&hub.challenge=77&hub.verify_token=verify-me";
    let site = Site::in_memory();
    let (on_aws, _) = site.sides();
    for path in ["/webhooks/meta/", "//webhooks//meta", "/webhook/whatsapp//"] {
        for router in [on_aws.clone(), site.router_with(LIMITS)] {
            let answered = ask_of(router, "GET", &format!("{path}?{query}"), &[], "").await;
            assert_eq!(
                (answered.status, answered.text.as_str()),
                (StatusCode::OK, "77"),
                "{path}"
            );
        }
    }
    for path in [
        "/webhooks/evolution/",
        "/webhooks/evolution//messages-upsert",
        "//api/webhook/evolution/suporte-01//messages-upsert/",
    ] {
        let answered = evolution(&Site::in_memory(), path, &evolution_message()).await;
        assert_eq!(answered.body["events"], 1, "{path}: {}", answered.text);
    }
    let body = meta_message().to_string();
    let signed = signature(body.as_bytes());
    let headers = [("x-hub-signature-256", signed.as_str())];
    let answered = Site::in_memory()
        .ask("POST", "/webhooks/meta/", &headers, body)
        .await;
    assert_eq!(answered.body["events"], 1, "{}", answered.text);
}

#[tokio::test]
async fn a_sound_traceparent_gives_the_correlation_id_once_its_sender_is_proven() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let site = Site::in_memory();
    let bearer = ("authorization", &*format!("Bearer {TOKEN}"));
    let header = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let (given, named) = (("traceparent", header.as_str()), ("x-correlation-id", "order-42"));
    for (headers, taken) in [
        (vec![bearer, given], Some(TRACE)),
        (vec![bearer, given, named], Some("order-42")),
        (vec![given], None),
        (vec![bearer, ("traceparent", TRACE)], None),
    ] {
        let answered = site.ask("GET", "/v1/conversations", &headers, "").await;
        let id = answered.header("x-correlation-id").unwrap();
        match taken {
            Some(taken) => assert_eq!(id, taken),
            None => assert!(id.len() == 32 && id != TRACE, "{id}"),
        }
    }
}

#[tokio::test]
async fn a_sound_correlation_id_is_kept_and_another_is_replaced() {
    let site = Site::in_memory();
    let bearer = ("authorization", &*format!("Bearer {TOKEN}"));
    let kept = site
        .ask(
            "GET",
            "/v1/conversations",
            &[bearer, ("x-correlation-id", "trace-42")],
            "",
        )
        .await;
    assert_eq!(kept.header("x-correlation-id"), Some("trace-42"));
    for bad in ["", "<script>", &"x".repeat(201)] {
        let answered = site
            .ask(
                "GET",
                "/v1/conversations",
                &[bearer, ("x-correlation-id", bad)],
                "",
            )
            .await;
        let made = answered.header("x-correlation-id").unwrap();
        assert!(
            made.len() == 32 && made.chars().all(|c| c.is_ascii_hexdigit()),
            "{made}"
        );
    }
}
