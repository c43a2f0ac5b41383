//! What is simulated: the messages that went out, and those that a person writes as a customer.

use crate::tests::Site;
use axum::http::StatusCode;
use recado_domain::ids::{InstanceId, MessageId};
use recado_embedded::Clock;
use recado_whatsapp::{SimulatedMessage, SimulatedOutbox};
use serde_json::{Value, json};

#[tokio::test]
async fn the_simulated_outbox_is_shown_where_there_is_one() {
    let outbox = SimulatedOutbox::default();
    outbox.add_message(SimulatedMessage {
        message_id: MessageId::parse("m").unwrap(),
        instance_id: InstanceId::parse("suporte-01").unwrap(),
        to: "+5511900000001".to_owned(),
        text: "[simulated] I read 1 message.".to_owned(),
        provider_message_id: "sim-1".to_owned(),
        sent_at: Clock::from_system().now(),
    });
    let answered = Site::in_memory()
        .simulating(outbox)
        .operate("GET", "/simulator/outbox", &Value::Null)
        .await;
    assert_eq!(answered.body["items"][0]["provider_message_id"], "sim-1");
}

/// An installation with two instances, one of which is simulated.
async fn simulating_site() -> Site {
    let site = Site::in_memory().simulating(SimulatedOutbox::default());
    let document = json!({
        "tenants": [{"id": "clinic"}],
        "agents": [{"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p"}],
        "instances": [
            {"id": "line-simulated", "tenant": "clinic", "agent": "ana", "provider": "evolution"},
            {"id": "real", "tenant": "clinic", "agent": "ana", "provider": "evolution"},
        ],
    });
    let applied = site.operate("PUT", "/v1/config", &document).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    site
}

fn message(instance: &str) -> Value {
    json!({"instance_id": instance, "from": "+55 (11) 90000-0002", "name": "Maria", "text": "Oi!"})
}

#[tokio::test]
async fn a_message_written_as_a_customer_is_recorded_and_enqueued_as_its_providers() {
    let site = simulating_site().await;
    let path = "/simulator/messages";
    let taken = site.operate("POST", path, &message("line-simulated")).await;
    assert_eq!(taken.status, StatusCode::ACCEPTED, "{}", taken.text);
    assert!(
        taken.body["provider_message_id"]
            .as_str()
            .unwrap()
            .starts_with("sim-in-")
    );
    assert_eq!(site.jobs().await, ["line-simulated"]);
}

#[tokio::test]
async fn nobody_writes_as_a_customer_where_a_phone_would_get_the_answer() {
    let site = simulating_site().await;
    let path = "/simulator/messages";
    for (body, status) in [
        (message("real"), StatusCode::CONFLICT),
        (message("unknown"), StatusCode::NOT_FOUND),
        (
            json!({"instance_id": "line-simulated", "from": "12", "text": "Oi!"}),
            StatusCode::BAD_REQUEST,
        ),
        (
            json!({"instance_id": "line-simulated", "from": "+55 11 90000-0002", "text": " "}),
            StatusCode::BAD_REQUEST,
        ),
        (
            json!({"instance_id": "line-simulated", "from": "+55 11 90000-0002@s.whatsapp.net", "text": "Oi!"}),
            StatusCode::BAD_REQUEST,
        ),
    ] {
        let answered = site.operate("POST", path, &body).await;
        assert_eq!(answered.status, status, "{body} {}", answered.text);
    }
    let real = Site::in_memory().configured().await;
    let answered = real.operate("POST", path, &message("suporte-01")).await;
    assert_eq!(answered.status, StatusCode::NOT_FOUND, "{}", answered.text);
    assert!(site.jobs().await.is_empty() && real.jobs().await.is_empty());
}
