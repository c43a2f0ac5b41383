//! `/v1/alerts`: the alerts, and the notifications that are not delivered.

use axum::Json;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::alert::{Alert, AlertKind, AlertSeverity, AlertState, Notification, NotificationState};
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, NotFound};
use recado_http::api::request::{Asked, JsonAnswer, PathParam, QueryParams, parse_page_request};
use recado_http::api::view::{ListView, answer_page};
use recado_http::problem::HttpProblem;

use recado_pipeline::records::{alerts, notifications};
use serde::{Deserialize, Serialize};

/// The number of live alerts, and of notifications, that one answer shows at most.
const SHOWN_MAX: usize = 1_000;

/// The filter and the page of a list of alerts.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AlertQuery {
    /// `firing` (if absent): those that hold and were told. `watched`: those that do not hold long enough yet. `ended`:
    /// those that are over, the newest first, of 90 days.
    state: Option<AlertState>,
    /// Only of this tenant.
    tenant: Option<TenantId>,
    /// Number of ended alerts on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// An alert.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AlertView {
    /// Id of this occurrence: the same at its beginning and at its end.
    id: String,
    kind: AlertKind,
    severity: AlertSeverity,
    state: AlertState,
    summary: String,
    /// Absent for an alert of the whole installation.
    tenant: Option<TenantId>,
    instance_id: Option<InstanceId>,
    conversation_id: Option<ConversationId>,
    /// Time since which the condition holds.
    since: Timestamp,
    fired_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    /// Page of `docs/runbooks`; `recado alerts runbook KIND` prints it.
    runbook: &'static str,
}

impl From<Alert> for AlertView {
    fn from(alert: Alert) -> Self {
        Self {
            state: alert.state(),
            runbook: alert.kind.runbook(),
            id: alert.id,
            kind: alert.kind,
            severity: alert.severity,
            summary: alert.summary,
            tenant: alert.subject.tenant,
            instance_id: alert.subject.instance,
            conversation_id: alert.subject.conversation,
            since: alert.since,
            fired_at: alert.fired_at,
            ended_at: alert.ended_at,
        }
    }
}

/// Returns the tenant whose records are listed: that of the token, else the one that the request names.
fn choose_tenant(caller: &Caller, wanted: Option<TenantId>) -> Result<Option<TenantId>, HttpProblem> {
    match caller.scope.tenant() {
        None => Ok(wanted),
        Some(own) if wanted.as_ref().is_none_or(|wanted| wanted == own) => Ok(Some(own.clone())),
        Some(_) => Err(HttpProblem::not_found("there is no such tenant")),
    }
}

/// Lists alerts.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/alerts",
    params(AlertQuery),
    responses((status = 200, body = ListView<AlertView>, description = "The alerts, or a page of those that ended"), NotFound)
))]
pub async fn list_alerts(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<AlertQuery>,
) -> JsonAnswer<ListView<AlertView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let tenant = choose_tenant(&caller, wanted.tenant)?;
    let (store, tenant) = (api.deps.store(), tenant.as_ref());
    let state = wanted.state.unwrap_or(AlertState::Firing);
    if state == AlertState::Ended {
        let ended = alerts::list_ended_alerts(store, tenant, &page).await;
        return answer_page(ended, &page, AlertView::from);
    }
    let live = alerts::list_live_alerts(store, tenant, SHOWN_MAX).await?;
    let mut items: Vec<Alert> = live.into_iter().map(|found| found.record).collect();
    items.retain(|alert| alert.state() == state);
    items.sort_by_key(|alert| (std::cmp::Reverse(alert.severity), alert.since));
    Ok(Json(ListView::from_items(items.into_iter().map(AlertView::from))))
}

/// The filter of a list of notifications.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct NotificationQuery {
    /// `dead` (if absent): those that were given up. `pending`: those that are still tried.
    state: Option<NotificationState>,
    /// Only to destinations of this tenant.
    tenant: Option<TenantId>,
}

/// A notification that is not delivered.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NotificationView {
    id: String,
    destination: String,
    tenant: Option<TenantId>,
    state: NotificationState,
    /// `true` for a notification that only tests its destination.
    is_test: bool,
    subject: String,
    attempts: u32,
    last_error: Option<String>,
    created_at: Timestamp,
    /// Time of the next attempt; absent for a notification that was given up.
    due_at: Option<Timestamp>,
}

impl From<Notification> for NotificationView {
    fn from(notification: Notification) -> Self {
        Self {
            subject: notification.subject_line(),
            due_at: notification.pending_due_at(),
            id: notification.id,
            destination: notification.destination,
            tenant: notification.tenant,
            state: notification.state,
            is_test: notification.is_test,
            attempts: notification.attempts,
            last_error: notification.last_error,
            created_at: notification.created_at,
        }
    }
}

/// Lists the notifications that are not delivered: those that were given up, or those that are still tried.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/alerts/notifications",
    params(NotificationQuery),
    responses((status = 200, body = ListView<NotificationView>, description = "The notifications, 1000 at most"), NotFound)
))]
pub async fn list_notifications(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<NotificationQuery>,
) -> JsonAnswer<ListView<NotificationView>> {
    let state = wanted.state.unwrap_or(NotificationState::Dead);
    let tenant = choose_tenant(&caller, wanted.tenant)?;
    let found =
        notifications::list_notifications(api.deps.store(), tenant.as_ref(), state, SHOWN_MAX).await?;
    let found = found
        .into_iter()
        .map(|found| NotificationView::from(found.record));
    Ok(Json(ListView::from_items(found)))
}

/// Makes a notification that was given up pending again, with all its attempts.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/alerts/notifications/{id}/redrive",
    params(("id" = String, Path, description = "Id of the notification")),
    responses((status = 200, body = NotificationView, description = "The notification"))
))]
pub async fn redrive_notification(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<NotificationView> {
    let redriven = crate::redrive_notification(&api.deps, &caller, &id).await?;
    Ok(Json(redriven.into()))
}

/// The destination of a test.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TestQuery {
    /// Only this destination.
    destination: Option<String>,
}

/// Makes a test notification for each destination. They are delivered within a minute.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/alerts/test",
    params(TestQuery),
    responses((status = 200, body = ListView<NotificationView>, description = "The notifications"), Conflict)
))]
pub async fn post_test(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<TestQuery>,
) -> JsonAnswer<ListView<NotificationView>> {
    let only = wanted.destination.as_deref();
    let items = crate::add_test_notifications(&api.deps, &caller, only).await?;
    Ok(Json(ListView::from_items(
        items.into_iter().map(NotificationView::from),
    )))
}
