//! `/metrics`: who may read it, and what it is made of.

use crate::tests::stand_ins::UNREADABLE;
use crate::tests::{METRICS_TOKEN, Site, TOKEN, ask_of};
use axum::http::StatusCode;
use futures::future::join_all;
use recado_http::MetricsPage;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A page that shows the number of instances and the depth of `inbound`, or `nothing` if nothing could be read.
fn page() -> MetricsPage {
    MetricsPage::new(|reading| match reading {
        None => "nothing".to_owned(),
        Some(reading) => {
            let depth: u64 = reading.queues.values().map(|depth| depth.waiting).sum();
            format!("{} {depth}", reading.installation.instances.len())
        }
    })
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[tokio::test]
async fn only_an_operators_or_the_metrics_token_opens_the_metrics_and_the_latter_nothing_else() {
    let site = Site::in_memory().configured().await.showing_metrics(page());
    for (token, status) in [
        (TOKEN, StatusCode::OK),
        (METRICS_TOKEN, StatusCode::OK),
        ("metrics-token-2-of-32-characters", StatusCode::UNAUTHORIZED),
        ("", StatusCode::UNAUTHORIZED),
    ] {
        let shown = bearer(token);
        let answered = site
            .ask("GET", "/metrics", &[("authorization", &shown)], "")
            .await;
        assert_eq!(answered.status, status, "{token}");
    }
    assert_eq!(
        site.ask("GET", "/metrics", &[], "").await.status,
        StatusCode::UNAUTHORIZED
    );
    let shown = bearer(METRICS_TOKEN);
    for path in [
        "/v1/config",
        "/health/whatsapp/detailed",
        "/v1/dead-letters",
        "/metrics/",
    ] {
        let answered = site.ask("GET", path, &[("authorization", &shown)], "").await;
        let refused = [StatusCode::UNAUTHORIZED, StatusCode::NOT_FOUND];
        assert!(refused.contains(&answered.status), "{path}: {}", answered.status);
    }
    // Without a configured token, none opens them.
    let bare = Site::in_memory().without_keys().showing_metrics(page());
    let answered = bare
        .ask("GET", "/metrics", &[("authorization", "Bearer ")], "")
        .await;
    assert_eq!(answered.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn the_page_is_made_of_a_reading_in_the_text_format() {
    let site = Site::in_memory().configured().await.showing_metrics(page());
    site.depths.0.store(7, Ordering::Relaxed);
    let answered = site.operate("GET", "/metrics", &Value::Null).await;
    assert_eq!((answered.status, answered.text.as_str()), (StatusCode::OK, "3 7"));
    assert_eq!(
        answered.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
}

#[tokio::test]
async fn scrapers_at_once_share_one_reading() {
    let (readings, last) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (counted, seen) = (Arc::clone(&readings), Arc::clone(&last));
    let page = MetricsPage::new(move |reading| {
        let at = reading.unwrap().installation.at.as_millisecond().unsigned_abs();
        // A reading is shown for five seconds; a later one is another.
        if at >= seen.load(Ordering::SeqCst) + 5_000 {
            seen.store(at, Ordering::SeqCst);
            counted.fetch_add(1, Ordering::SeqCst);
        } else {
            assert_eq!(at, seen.load(Ordering::SeqCst), "one reading within five seconds");
        }
        String::new()
    });
    let site = Site::in_memory().configured().await.showing_metrics(page);
    let router = site.router_with(crate::tests::LIMITS);
    let shown = bearer(TOKEN);
    let headers = [("authorization", shown.as_str())];
    let ask = || ask_of(router.clone(), "GET", "/metrics", &headers, "");
    for answered in join_all((0..20).map(|_| ask())).await {
        assert_eq!(answered.status, StatusCode::OK);
    }
    assert!(readings.load(Ordering::SeqCst) >= 1);
}

#[tokio::test]
async fn a_store_that_cannot_be_read_leaves_the_counters() {
    let site = Site::in_memory().configured().await.showing_metrics(page());
    site.depths.0.store(UNREADABLE, Ordering::Relaxed);
    let answered = site.operate("GET", "/metrics", &Value::Null).await;
    assert_eq!(
        (answered.status, answered.text.as_str()),
        (StatusCode::OK, "nothing")
    );
}

#[tokio::test]
async fn where_the_metrics_are_elsewhere_they_are_not_found() {
    let answered = Site::in_memory().operate("GET", "/metrics", &Value::Null).await;
    assert_eq!(answered.status, StatusCode::NOT_FOUND);
}
