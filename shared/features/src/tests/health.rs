//! `/health` and `/health/whatsapp`.

use crate::tests::Site;
use axum::http::StatusCode;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::ids::{CorrelationId, InstanceId, Nonce};
use recado_domain::instance::{
    ConnectionStatus, ConnectionUpdate, DEFAULT_PATIENCE, InstanceChange, ParkedConversation,
};
use recado_domain::reason::Reason;
use recado_embedded::Clock;
use recado_pipeline::ports::Instances;
use recado_pipeline::records::dead_letters::put_dead_letter;
use recado_testkit::builders::change_instance;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;
use tokio::runtime::Builder;

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

/// Asks for the health until it is `wanted`, for half a minute at most.
async fn wait_for_health(site: &Site, wanted: StatusCode) -> Value {
    for _ in 0..3_000 {
        let answered = site.ask("GET", "/health", &[], "").await;
        if answered.status == wanted {
            return answered.body;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the health did not become {wanted}");
}

#[tokio::test]
async fn health_is_503_while_the_threads_of_the_background_are_held_up() {
    let site = Site::in_memory();
    let watched = site.watchdog().add_loop("work", Duration::from_millis(500));
    // One thread runs the loop that reports its rounds, and work that blocks it while somebody holds the gate.
    let (start_work, work) = channel::<Receiver<()>>();
    let background = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async move {
            tokio::spawn(async move {
                loop {
                    watched.report_round();
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            loop {
                match work.try_recv() {
                    Ok(gate) => assert!(gate.recv().is_ok()),
                    Err(TryRecvError::Empty) => tokio::time::sleep(Duration::from_millis(5)).await,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
        });
    });
    let body = wait_for_health(&site, StatusCode::OK).await;
    assert_eq!(body["services"]["background"], "healthy");
    let (release, gate) = channel();
    start_work.send(gate).unwrap();
    let body = wait_for_health(&site, StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(body["services"]["background"], "unhealthy");
    assert_eq!(body["problem"], "the work in the background stands still");
    release.send(()).unwrap();
    let body = wait_for_health(&site, StatusCode::OK).await;
    assert_eq!(
        (&body["status"], &body["problem"]),
        (&json!("healthy"), &Value::Null)
    );
    drop(start_work);
    background.join().unwrap();
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
    assert_eq!(
        answered.body["details"],
        json!({"queue_high_water_mark": 100, "queue_critical_mark": 1000})
    );
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
    change_instance(
        &site.store,
        &id,
        InstanceChange::Connection(ConnectionUpdate {
            connection: ConnectionStatus::Closed,
            at: Clock::from_system().now(),
            probe_at: None,
            asked_at: None,
            releases_waiting: false,
        }),
    )
    .await;
    let answered = look().await;
    assert_eq!(
        (&answered.body["status"], &answered.body["connection"]["closed"]),
        (&json!("degraded"), &json!(1))
    );
    assert_eq!(answered.body["evolution_connected"], false);
}

#[tokio::test]
async fn without_a_token_the_status_is_all_there_is_and_it_is_not_worked_out_again_at_once() {
    let site = Site::in_memory().configured().await;
    let router = site.sides().1;
    let look = async || crate::tests::ask_of(router.clone(), "GET", "/health/whatsapp", &[], "").await;
    let answered = look().await;
    assert_eq!(answered.status, StatusCode::OK);
    let told: Vec<&String> = answered.body.as_object().unwrap().keys().collect();
    assert_eq!(told, ["status", "timestamp"]);
    assert_eq!(answered.body["status"], "healthy");
    site.depths.0.store(1001, Ordering::Relaxed);
    assert_eq!(look().await.body, answered.body, "kept for ten seconds");
    let other = site.ask("GET", "/health/whatsapp", &[], "").await;
    assert_eq!(other.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(other.body["status"], "unhealthy");
    let wrong = [("authorization", "Bearer wrong")];
    let refused = site.ask("GET", "/health/whatsapp", &wrong, "").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    for stranger in ["suporte-01", "nobody"] {
        let path = format!("/health/whatsapp?instance={stranger}");
        let refused = site.ask("GET", &path, &[], "").await;
        assert_eq!(
            refused.status,
            StatusCode::UNAUTHORIZED,
            "no stranger learns which instances there are"
        );
    }
}

#[tokio::test]
async fn dead_letters_are_reported_and_change_no_status() {
    let site = Site::in_memory().configured().await;
    let instance = InstanceId::parse("suporte-01").unwrap();
    let dead_letter = DeadLetter {
        id: "e1".to_owned(),
        queue: QueueName::Inbound,
        reason: Reason::Poison,
        tenant: None,
        instance: Some(instance),
        at: Clock::from_system().now(),
        attempts: 3,
        last_error: None,
        correlation: CorrelationId::parse("c").unwrap(),
        what: DeadLetterContent::Unreadable {
            body: "{}".to_owned(),
        },
    };
    put_dead_letter(&site.store, &dead_letter).await.unwrap();
    let look = async |path: &str| site.operate("GET", path, &Value::Null).await.body;
    for (path, depth) in [
        ("/health/whatsapp", 1),
        ("/health/whatsapp?instance=suporte-01", 1),
        ("/health/whatsapp?instance=oficial", 0),
        ("/health/whatsapp/detailed", 1),
    ] {
        let body = look(path).await;
        assert_eq!(
            (&body["dlq_depth"], &body["status"]),
            (&json!(depth), &json!("healthy")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn an_instance_is_told_apart_by_what_is_open_of_it() {
    let site = Site::in_memory().configured().await;
    let conversation = site.conversation("5511900000001@s.whatsapp.net").await;
    let answer = format!("/v1/conversations/{conversation}/messages");
    for text in ["um", "dois"] {
        let answered = site.operate("POST", &answer, &json!({"text": text})).await;
        assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.text);
    }
    let instance = InstanceId::parse("suporte-01").unwrap();
    let parked = ParkedConversation {
        instance: instance.clone(),
        conversation,
        version: Nonce::parse("v1").unwrap(),
        since: Clock::from_system().now(),
        not_before: None,
        patience: DEFAULT_PATIENCE,
        reply: None,
    };
    site.store.put_parked(&parked).await.unwrap();
    let look = async |path: String| site.operate("GET", &path, &Value::Null).await.body;
    let body = look(format!("/health/whatsapp?instance={instance}")).await;
    assert_eq!(
        (&body["queue_depth"], &body["instance"]),
        (&json!(2), &json!(instance))
    );
    assert_eq!(body["at_least"], false);
    let other = look("/health/whatsapp?instance=oficial".to_owned()).await;
    assert_eq!(other["queue_depth"], 0);
    let all = look("/health/whatsapp".to_owned()).await;
    assert_eq!(
        all["queue_depth"], 1,
        "the parked conversation waits beside the queues"
    );

    let detailed = look(format!("/health/whatsapp/detailed?instance={instance}")).await;
    let one = &detailed["instances"][0];
    for view in [&detailed, one] {
        assert_eq!(view["attempts"], json!({"0": 2}));
        assert_eq!(view["parked_conversations"], 1);
        assert_eq!((&view["in_flight"], &view["unknown"]), (&json!(0), &json!(0)));
        assert!(view["oldest_message_age_seconds"].as_i64().unwrap() < 60);
    }
    assert_eq!(one["rate"]["per_second"], 1.0);
    assert!(one["rate"]["next_slot"].is_string());
    assert_eq!(one["probes"], json!({"failed": 0, "next": null, "timeouts": 0}));
    assert_eq!(
        detailed["queues"]["inbound"],
        json!({"waiting": 0, "in_flight": 0, "delayed": 0})
    );
    assert!(
        !detailed.to_string().contains("dois") && !detailed.to_string().contains("5511"),
        "nothing that a person wrote, and no number"
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
