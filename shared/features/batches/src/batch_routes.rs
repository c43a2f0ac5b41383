//! `/deliver/batches`: batches of invitations, how far they are, and orders about them.

use crate::{BatchProgress, ListedRecipient};
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::{BatchId, TenantId};
use recado_domain::invitations::{Batch, BatchCounts, BatchEnd, BatchOrder, BatchReminder, RecipientStatus};
use recado_http::api::context::Api;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, NotFound};
use recado_http::api::request::{
    Asked, JsonAnswer, PathParam, QueryParams, TenantPageQuery, TenantQuery, parse_page_request,
};
use recado_http::api::view::ListView;
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// The reminder of an occasion that a batch is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BatchReminderView {
    /// The time before the occasion, such as `P1D`.
    before: String,
    /// The beginning of the occasion for which it was planned.
    begins_at: Timestamp,
    /// `true`: the occasion was moved or cancelled, or no longer has the reminder.
    withdrawn: bool,
}

/// A batch of invitations.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BatchView {
    id: String,
    #[serde(rename = "eventId")]
    event_id: String,
    channel: &'static str,
    template: String,
    /// `preparing`, `scheduled`, `running`, `paused`, `cancelled` or `finished`.
    status: &'static str,
    /// Number of recipients.
    recipients: usize,
    /// Number of recipients whose invitations were made.
    expanded: usize,
    /// Time before which nothing of it leaves.
    send_at: Option<Timestamp>,
    /// The reminder that it is. It gets its recipients at `send_at`.
    reminder: Option<BatchReminderView>,
    created_at: Timestamp,
    /// The end, once it is finished: the delivery of each recipient reached one.
    end: Option<BatchEndView>,
}

/// The end of a batch.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BatchEndView {
    /// Time at which it was noticed.
    at: Timestamp,
    counts: BatchCountsView,
}

impl From<Batch> for BatchView {
    fn from(batch: Batch) -> Self {
        let reminder = |reminder: BatchReminder| BatchReminderView {
            before: reminder.before,
            begins_at: reminder.begins_at,
            withdrawn: reminder.is_withdrawn,
        };
        let end = |end: BatchEnd| BatchEndView {
            at: end.at,
            counts: end.counts.into(),
        };
        Self {
            id: batch.id.to_string(),
            event_id: batch.occasion.to_string(),
            channel: batch.channel.as_str(),
            template: batch.template.to_string(),
            status: batch.state.as_str(),
            recipients: batch.recipients,
            expanded: batch.expanded,
            send_at: batch.send_at,
            reminder: batch.reminder.map(reminder),
            created_at: batch.created_at,
            end: batch.end.map(end),
        }
    }
}

/// The recipients of a batch by what became of them. Each is counted once.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BatchCountsView {
    queued: usize,
    sent: usize,
    delivered: usize,
    read: usize,
    failed: usize,
    duplicate: usize,
    /// There is no such guest, no number, or no value of a variable.
    refused: usize,
    cancelled: usize,
}

impl From<BatchCounts> for BatchCountsView {
    fn from(counts: BatchCounts) -> Self {
        Self {
            queued: counts.queued,
            sent: counts.sent,
            delivered: counts.delivered,
            read: counts.read,
            failed: counts.failed,
            duplicate: counts.duplicate,
            refused: counts.refused,
            cancelled: counts.cancelled,
        }
    }
}

/// A batch of invitations, and how far it is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BatchProgressView {
    #[serde(flatten)]
    batch: BatchView,
    counts: BatchCountsView,
    /// Time at which the oldest of these statuses was looked at. A request looks again at 1,000 recipients at most.
    counted_at: Option<Timestamp>,
}

impl From<BatchProgress> for BatchProgressView {
    fn from(progress: BatchProgress) -> Self {
        Self {
            batch: progress.batch.into(),
            counts: progress.counts.into(),
            counted_at: progress.counted_at,
        }
    }
}

/// Lists the batches of a tenant, the newest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/deliver/batches",
    params(TenantPageQuery),
    responses((status = 200, body = ListView<BatchView>, description = "A page of batches"), NotFound)
))]
pub async fn list_batches(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<TenantPageQuery>,
) -> JsonAnswer<ListView<BatchView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = crate::list_batches(&api.deps, &caller, wanted.tenant.as_ref(), &page).await?;
    Ok(Json(ListView::from_page(found, BatchView::from)))
}

/// Returns a batch and how far it is.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/deliver/batches/{id}",
    params(("id" = String, Path, description = "Id of the batch"), TenantQuery),
    responses((status = 200, body = BatchProgressView, description = "The batch"))
))]
pub async fn get_batch(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> JsonAnswer<BatchProgressView> {
    let id = parse_batch_id(&id)?;
    let found = crate::find_batch(&api.deps, &caller, wanted.tenant.as_ref(), &id).await?;
    Ok(Json(found.into()))
}

/// The recipients of a batch that a request asks for.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct BatchRecipientsQuery {
    /// The tenant, with a token of the installation. If absent, the only one.
    tenant: Option<TenantId>,
    /// Only those with one of these statuses, separated by commas: `failed,refused` asks for the failures.
    status: Option<String>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A recipient of a batch.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BatchRecipientView {
    /// Id of the invitation, under which `GET /deliver/{id}/status` tells more once it is made; absent once the contact was erased.
    id: Option<String>,
    #[serde(rename = "guestId")]
    guest_id: Option<String>,
    /// `waiting`, `queued`, `processing`, `sent`, `delivered`, `read`, `failed`, `duplicate`, `refused` or `cancelled`.
    status: &'static str,
    /// Why it failed or was refused, or that the guest may have a cancelled one.
    error: Option<String>,
}

impl From<ListedRecipient> for BatchRecipientView {
    fn from(listed: ListedRecipient) -> Self {
        let (guest, id) = listed.invited.unzip();
        Self {
            id: id.map(|id| id.to_string()),
            guest_id: guest.map(|guest| guest.to_string()),
            status: listed.status.as_str(),
            error: listed.failure,
        }
    }
}

/// Lists the recipients of a batch, with what became of each.
///
/// A page ends after 1,000 recipients that were looked at: with `status` it may be empty, and the next may not.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/deliver/batches/{id}/recipients",
    params(("id" = String, Path, description = "Id of the batch"), BatchRecipientsQuery),
    responses((status = 200, body = ListView<BatchRecipientView>, description = "A page of recipients"))
))]
pub async fn list_batch_recipients(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<BatchRecipientsQuery>,
) -> JsonAnswer<ListView<BatchRecipientView>> {
    let id = parse_batch_id(&id)?;
    let statuses = parse_statuses(wanted.status.as_deref())?;
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let (tenant, asked) = (wanted.tenant.as_ref(), (&id, statuses.as_slice()));
    let found = crate::list_batch_recipients(&api.deps, &caller, tenant, asked, &page).await?;
    Ok(Json(ListView::from_page(found, BatchRecipientView::from)))
}

fn parse_statuses(text: Option<&str>) -> Result<Vec<RecipientStatus>, HttpProblem> {
    let words = text.into_iter().flat_map(|text| text.split(','));
    words
        .map(|word| {
            let status = RecipientStatus::parse(word.trim());
            status.ok_or_else(|| HttpProblem::bad_request(format!("`{word}` is no status of a recipient")))
        })
        .collect()
}

/// Pauses a batch. Once this answers, no message of it begins to leave until it is resumed.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/deliver/batches/{id}/pause",
    params(("id" = String, Path, description = "Id of the batch"), TenantQuery),
    responses((status = 200, body = BatchView, description = "The batch"), Conflict)
))]
pub async fn pause_batch(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> JsonAnswer<BatchView> {
    order_batch(&api, &caller, (&id, &wanted), BatchOrder::Pause).await
}

/// Lets a paused batch go on.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/deliver/batches/{id}/resume",
    params(("id" = String, Path, description = "Id of the batch"), TenantQuery),
    responses((status = 200, body = BatchView, description = "The batch"), Conflict)
))]
pub async fn resume_batch(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> JsonAnswer<BatchView> {
    order_batch(&api, &caller, (&id, &wanted), BatchOrder::Resume).await
}

/// Cancels a batch. Once this answers, no message of it begins to leave any more.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/deliver/batches/{id}/cancel",
    params(("id" = String, Path, description = "Id of the batch"), TenantQuery),
    responses((status = 200, body = BatchView, description = "The batch"), Conflict)
))]
pub async fn cancel_batch(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> JsonAnswer<BatchView> {
    order_batch(&api, &caller, (&id, &wanted), BatchOrder::Cancel).await
}

async fn order_batch(
    api: &Api,
    caller: &Caller,
    (id, wanted): (&str, &TenantQuery),
    order: BatchOrder,
) -> JsonAnswer<BatchView> {
    let id = parse_batch_id(id)?;
    let batch = crate::order_batch(&api.deps, caller, wanted.tenant.as_ref(), &id, order).await?;
    Ok(Json(batch.into()))
}

fn parse_batch_id(text: &str) -> Result<BatchId, HttpProblem> {
    BatchId::parse(text).map_err(|_| HttpProblem::not_found("there is no such batch"))
}
