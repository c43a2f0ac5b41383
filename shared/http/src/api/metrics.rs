//! `GET /metrics`: the metrics of one machine, in the text format of Prometheus.

#[cfg(feature = "schema")]
use crate::api::auth::METRICS_PATH;
use crate::api::context::Api;
use crate::api::metrics_page::{GaugeReading, MetricsPage};
#[cfg(feature = "schema")]
use crate::api::problem_answers::NotFound;
use crate::api::request::Asked;
use crate::health_probe::run_with_timeout;
use crate::problem::{self, HttpProblem};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use recado_domain::Timestamp;
use recado_domain::access::Scope;
use recado_domain::dead_letter::QueueName;
use recado_pipeline::installation_reading::read_installation;
use recado_pipeline::ports::PortResult;
use std::collections::BTreeMap;

/// Time for which the same reading is shown, in milliseconds, so that several scrapers do not load the store.
const READING_KEPT_MS: i64 = 5_000;

async fn read_gauges(api: &Api) -> PortResult<GaugeReading> {
    let mut queues = BTreeMap::new();
    for queue in QueueName::ALL {
        queues.insert(queue, api.options.depths.read_queue_depth(queue).await?);
    }
    let installation = read_installation(api.deps.store(), api.deps.system().now()).await?;
    Ok(GaugeReading { installation, queues })
}

/// Writes the metrics with a reading that is at most five seconds old. Concurrent requests wait for one reading.
async fn write_page(api: &Api, page: &MetricsPage) -> String {
    let mut last = api.last_reading.0.lock().await;
    let now = api.deps.system().now();
    let is_fresh =
        |at: Timestamp| now.as_millisecond().abs_diff(at.as_millisecond()) < READING_KEPT_MS.unsigned_abs();
    let kept = last.take().filter(|(at, _)| is_fresh(*at));
    let (at, reading) = if let Some(kept) = kept {
        kept
    } else {
        let read = run_with_timeout(&api.deps, "reading the gauges", read_gauges(api)).await;
        (now, read.map_err(|error| problem::log_port_error(&error)).ok())
    };
    let text = page.write(reading.as_ref());
    *last = Some((at, reading));
    text
}

/// Returns the metrics in the text format of Prometheus.
///
/// Wants the token of `RECADO_METRICS_TOKEN`, or an operators' token. A 404 on AWS, and for a token of one tenant.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = METRICS_PATH,
    responses(
        (status = 200, body = String, content_type = "text/plain", description = "The metrics"),
        NotFound
    )
))]
pub async fn get_metrics(Asked(api, caller): Asked) -> Result<Response, HttpProblem> {
    if caller.scope != Scope::Installation {
        return Err(HttpProblem::not_found(
            "the metrics are of all tenants: there are none of one",
        ));
    }
    let Some(page) = &api.options.metrics else {
        return Err(HttpProblem::not_found(
            "there are metrics only where `recado serve` runs",
        ));
    };
    let text = write_page(&api, page).await;
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        text,
    )
        .into_response())
}
