//! `GET /v1/trends`: what the samples of the last hours tell.

use crate::trend::{InstanceUptime, TrendPoint, TrendSummary};
use crate::trends::{TrendReport, TrendRequest, read_trends};
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::sample::SAMPLE_RETENTION;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, JsonAnswer, QueryParams};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// The period of a request that names none: a day, hour by hour.
const HOURS: u32 = 24;
const STEP_MINUTES: u32 = 60;

/// The longest part of a period, in minutes: a day.
const STEP_MINUTES_MAX: u32 = 24 * 60;

/// What the trends are of, and for which time.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TrendQuery {
    /// Only of this tenant.
    tenant: Option<TenantId>,
    /// Only of this instance.
    instance: Option<InstanceId>,
    /// Number of hours up to now: 1 to 48, 24 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 48))]
    hours: Option<u32>,
    /// Length of each part of this time, in minutes: 1 to 1440, 60 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 1440))]
    step_minutes: Option<u32>,
}

/// The trends of the last hours, made of one sample per minute.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TrendView {
    from: Timestamp,
    to: Timestamp,
    step_minutes: u32,
    /// What the samples of the whole time tell.
    #[serde(flatten)]
    whole: SummaryView,
    /// Number of new dead letters per hour. `null` without a sample.
    dead_letters_per_hour: Option<f64>,
    instances: Vec<UptimeView>,
    /// The parts of the time, the oldest first.
    points: Vec<PointView>,
}

/// What the samples of a time tell. Minutes without a sample, in which Recado did not run, count for nothing.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct SummaryView {
    /// Number of minutes with a sample. Without any, all other numbers are 0 or `null`.
    minutes: u32,
    /// Average number of open outgoing messages and pending events.
    depth_average: Option<f64>,
    depth_max: u64,
    /// `true` if more was open than was read: depths are lower bounds.
    at_least: bool,
    parked_max: u64,
    /// The greatest number of instances that could not send.
    disconnected_max: u64,
    /// Number of dead letters in the last of the minutes.
    dead_letters: u64,
    /// Number of new dead letters, as far as the samples show them: one that came and was redriven within the same minute
    /// is missing.
    dead_letters_added: u64,
}

impl From<&TrendSummary> for SummaryView {
    fn from(summary: &TrendSummary) -> Self {
        Self {
            minutes: summary.minutes,
            depth_average: summary.average_depth(),
            depth_max: summary.depth_max,
            at_least: summary.at_least,
            parked_max: summary.parked_max,
            disconnected_max: summary.disconnected_max,
            dead_letters: summary.dead_letters,
            dead_letters_added: summary.dead_letters_added,
        }
    }
}

/// A part of the time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PointView {
    from: Timestamp,
    #[serde(flatten)]
    summary: SummaryView,
}

/// The time for which an instance was connected.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct UptimeView {
    id: InstanceId,
    /// The part of the sampled minutes in which the instance could send, cut to two decimals. `null` without a sample.
    uptime_percent: Option<f64>,
    minutes: u32,
    disconnected_minutes: u32,
}

impl From<&InstanceUptime> for UptimeView {
    fn from(uptime: &InstanceUptime) -> Self {
        Self {
            id: uptime.id.clone(),
            uptime_percent: uptime.percent(),
            minutes: uptime.minutes,
            disconnected_minutes: uptime.minutes.saturating_sub(uptime.connected),
        }
    }
}

impl TrendView {
    fn from_report(report: &TrendReport) -> Self {
        let TrendReport { period, now, trends } = report;
        let point = |point: &TrendPoint| PointView {
            from: point.from,
            summary: (&point.summary).into(),
        };
        Self {
            from: period.from,
            to: *now,
            step_minutes: period.step_minutes,
            whole: (&trends.whole).into(),
            dead_letters_per_hour: trends.whole.dead_letters_per_hour(),
            instances: trends.uptimes.iter().map(UptimeView::from).collect(),
            points: trends.points.iter().map(point).collect(),
        }
    }
}

fn check_range(name: &str, value: u32, most: u32) -> Result<u32, HttpProblem> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    Err(HttpProblem::bad_request(format!(
        "{name} must be between 1 and {most}"
    )))
}

/// Returns the trends of the last hours: waiting messages, dead letters, and the uptime of each instance.
///
/// They are made of the samples that `reconcile` stores each minute and keeps for 48 hours.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/trends",
    params(TrendQuery),
    responses((status = 200, body = TrendView, description = "The trends"), NotFound)
))]
pub async fn get_trends(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<TrendQuery>,
) -> JsonAnswer<TrendView> {
    let hours_max = u32::try_from(SAMPLE_RETENTION.as_hours()).unwrap_or(HOURS);
    let request = TrendRequest {
        hours: check_range("hours", wanted.hours.unwrap_or(HOURS), hours_max)?,
        step_minutes: check_range(
            "step_minutes",
            wanted.step_minutes.unwrap_or(STEP_MINUTES),
            STEP_MINUTES_MAX,
        )?,
        tenant: wanted.tenant,
        instance: wanted.instance,
    };
    match read_trends(&api.deps, &caller, &request).await? {
        Some(report) => Ok(Json(TrendView::from_report(&report))),
        None => Err(HttpProblem::not_found("there is no such tenant or instance")),
    }
}
