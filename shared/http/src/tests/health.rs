//! `/health` and `/health/whatsapp`.

use super::Site;
use axum::http::StatusCode;
use recado_domain::ids::InstanceId;
use recado_domain::instance::Connection;
use recado_embedded::Clock;
use recado_pipeline::ports::Instances;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

#[tokio::test]
async fn health_is_open_to_all() {
    let answered = Site::in_memory().ask("GET", "/health", &[], "").await;
    assert_eq!(answered.status, StatusCode::OK);
    assert_eq!(answered.body["status"], "healthy");
    assert_eq!(
        answered.body["services"],
        json!({"store": "healthy", "queue": "healthy"})
    );
    assert!(answered.body["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn the_way_to_whatsapp_is_judged_by_depth_and_connection() {
    let site = Site::in_memory().configured().await;
    let look = async || site.operate("GET", "/health/whatsapp", &Value::Null).await;
    let answered = look().await;
    assert_eq!(
        (answered.status, &answered.body["status"]),
        (StatusCode::OK, &json!("healthy")),
        "{}",
        answered.text
    );
    assert_eq!(answered.body["connection"], json!({"open": 3, "closed": 0}));
    assert_eq!(answered.body["instances"].as_array().unwrap().len(), 3);
    for (depth, status, code) in [
        (100, "healthy", 200),
        (101, "degraded", 200),
        (1000, "degraded", 200),
        (1001, "unhealthy", 503),
    ] {
        site.depths.0.store(depth, Ordering::Relaxed);
        let answered = look().await;
        assert_eq!(
            (answered.status.as_u16(), &answered.body["status"]),
            (code, &json!(status))
        );
        assert_eq!(answered.body["queue_depth"], depth);
    }
    site.depths.0.store(0, Ordering::Relaxed);
    let id = InstanceId::parse("suporte-01").unwrap();
    site.store
        .set_connection(&id, Connection::Closed, Clock::system().now(), None)
        .await
        .unwrap();
    let answered = look().await;
    assert_eq!(
        (&answered.body["status"], &answered.body["connection"]["closed"]),
        (&json!("degraded"), &json!(1))
    );
}

#[tokio::test]
async fn one_instance_can_be_looked_at_alone() {
    let site = Site::in_memory().configured().await;
    let answered = site
        .operate("GET", "/health/whatsapp?instance=oficial", &Value::Null)
        .await;
    assert_eq!(answered.body["instances"].as_array().unwrap().len(), 1);
    let nobody = site
        .operate("GET", "/health/whatsapp?instance=nobody", &Value::Null)
        .await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
}
