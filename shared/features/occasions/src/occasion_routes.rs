//! `/v1/occasions`: lists occasions and their guests, adds guests and deletes them.

use crate::{AddedGuests, ListedOccasion};
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::ids::{GuestId, OccasionId};
use recado_domain::invitations::{
    GUEST_ROWS_MAX, Guest, GuestRow, GuestStatus, ListedGuest, OccasionReminder, parse_guest_list,
};
use recado_http::api::context::BODY_MAX;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{
    Asked, JsonAnswer, PathParam, QueryParams, RequestBody, TenantPageQuery, TenantQuery, parse_page_request,
};
use recado_http::api::view::{ListView, answer_page};
use recado_http::body::parse_json_body;
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// A reminder of an occasion.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct OccasionReminderView {
    /// The time before the occasion, such as `P1D`.
    before: String,
    template: String,
    channel: &'static str,
    /// Statuses of the guests to whom it goes.
    guests: Vec<&'static str>,
}

impl From<OccasionReminder> for OccasionReminderView {
    fn from(reminder: OccasionReminder) -> Self {
        Self {
            before: reminder.before,
            template: reminder.template.to_string(),
            channel: reminder.channel.as_str(),
            guests: reminder.guests.into_iter().map(GuestStatus::as_str).collect(),
        }
    }
}

/// An occasion to which guests are invited.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OccasionView {
    id: String,
    tenant: String,
    name: Option<String>,
    /// The instance that sends what goes by WhatsApp.
    instance: String,
    /// Date and time at which it begins, by the clocks of its time zone.
    starts_at: Option<String>,
    time_zone: Option<String>,
    language: Option<String>,
    /// `true` if it does not take place: nobody is reminded of it.
    cancelled: bool,
    reminders: Vec<OccasionReminderView>,
    /// Time since which pages about it must be made anew, because a guest answered. An earlier service told it as
    /// `landing.invalidated`.
    landing_invalidated_at: Option<Timestamp>,
}

impl From<ListedOccasion> for OccasionView {
    fn from(listed: ListedOccasion) -> Self {
        let occasion = listed.occasion;
        Self {
            landing_invalidated_at: listed.pages_changed_at,
            id: occasion.id.to_string(),
            tenant: occasion.tenant.to_string(),
            name: occasion.name,
            instance: occasion.instance.to_string(),
            starts_at: occasion.starts_at.map(|at| at.to_string()),
            time_zone: occasion.time_zone,
            language: occasion.language,
            cancelled: occasion.cancelled,
            reminders: occasion.reminders.into_iter().map(Into::into).collect(),
        }
    }
}

/// Lists the occasions of a tenant.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/occasions",
    params(TenantPageQuery),
    responses((status = 200, body = ListView<OccasionView>, description = "A page of occasions"), NotFound)
))]
pub async fn list_occasions(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<TenantPageQuery>,
) -> JsonAnswer<ListView<OccasionView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = crate::list_occasions(&api.deps, &caller, wanted.tenant.as_ref(), &page).await;
    answer_page(found, &page, OccasionView::from)
}

/// Returns an occasion.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/occasions/{id}",
    params(("id" = String, Path, description = "Id of the occasion"), TenantQuery),
    responses((status = 200, body = OccasionView, description = "The occasion"))
))]
pub async fn get_occasion(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> JsonAnswer<OccasionView> {
    let occasion = parse_occasion(&id)?;
    let found = crate::find_occasion(&api.deps, &caller, wanted.tenant.as_ref(), &occasion).await?;
    Ok(Json(found.into()))
}

/// The answer that decided a guest's status.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ConfirmationPayload {
    at: Timestamp,
    session_id: Option<String>,
}

/// A guest of an occasion.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct GuestView {
    id: String,
    name: Option<String>,
    phone: Option<String>,
    email: Option<String>,
    language: Option<String>,
    /// IANA time zone, if another than the occasion's.
    time_zone: Option<String>,
    /// `pending`, `confirmed` or `declined`.
    status: &'static str,
    confirmation_payload: Option<ConfirmationPayload>,
    created_at: Timestamp,
}

impl From<Guest> for GuestView {
    fn from(guest: Guest) -> Self {
        Self {
            id: guest.id.to_string(),
            name: guest.name,
            phone: guest.phone.map(|digits| format!("+{digits}")),
            email: guest.email,
            language: guest.language,
            time_zone: guest.time_zone,
            status: guest.status.as_str(),
            confirmation_payload: guest.reply.map(|reply| ConfirmationPayload {
                at: reply.at,
                session_id: reply.session,
            }),
            created_at: guest.created_at,
        }
    }
}

/// Lists the guests of an occasion, with what they answered.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/occasions/{id}/guests",
    params(("id" = String, Path, description = "Id of the occasion"), TenantPageQuery),
    responses((status = 200, body = ListView<GuestView>, description = "A page of guests"))
))]
pub async fn list_guests(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantPageQuery>,
) -> JsonAnswer<ListView<GuestView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let (occasion, tenant) = (parse_occasion(&id)?, wanted.tenant);
    let found = crate::list_guests(&api.deps, &caller, tenant.as_ref(), &occasion, &page).await;
    answer_page(found, &page, GuestView::from)
}

/// Returns a guest of an occasion.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/occasions/{id}/guests/{guest}",
    params(
        ("id" = String, Path, description = "Id of the occasion"),
        ("guest" = String, Path, description = "Id of the guest"),
        TenantQuery
    ),
    responses((status = 200, body = GuestView, description = "The guest"))
))]
pub async fn get_guest(
    Asked(api, caller): Asked,
    PathParam((id, guest)): PathParam<(String, String)>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> JsonAnswer<GuestView> {
    let (occasion, guest) = (parse_occasion(&id)?, parse_guest_id(&guest)?);
    let named = (&occasion, &guest);
    let found = crate::find_guest(&api.deps, &caller, wanted.tenant.as_ref(), named).await?;
    Ok(Json(found.into()))
}

/// A guest as a request names one: an `id`, a `phone`, or both.
#[cfg(feature = "schema")]
#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "the description of `GuestRow`, which is read")]
struct NewGuest {
    id: Option<String>,
    name: Option<String>,
    phone: Option<String>,
    email: Option<String>,
    language: Option<String>,
    /// IANA time zone, if another than the occasion's. `zone` and `timezone` are read, too.
    time_zone: Option<String>,
    /// `pending`, `confirmed` or `declined`. Without one, a new guest is pending, and a known one keeps its own.
    status: Option<String>,
}

/// Guests to add.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"guests": [{"name": "Ana", "phone": "+52 1 55 5001 1223"}]})))]
struct GuestsRequest {
    #[cfg_attr(feature = "schema", schema(value_type = Vec<NewGuest>))]
    guests: Vec<GuestRow>,
}

/// A row that was refused.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RefusedRowView {
    /// Line of the list on which the row begins, or place of the guest, from 1.
    line: usize,
    why: String,
}

/// The result of adding guests.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AddedGuestsView {
    added: usize,
    changed: usize,
    unchanged: usize,
    refused: Vec<RefusedRowView>,
}

impl From<AddedGuests> for AddedGuestsView {
    fn from(result: AddedGuests) -> Self {
        let refused = result.refused.into_iter();
        Self {
            added: result.added,
            changed: result.changed,
            unchanged: result.unchanged,
            refused: refused
                .map(|(line, why)| RefusedRowView {
                    line,
                    why: why.to_string(),
                })
                .collect(),
        }
    }
}

/// Adds guests to an occasion.
///
/// The body is JSON, or a list of comma-separated values (`Content-Type: text/csv`) whose first row names the columns `id`, `name`,
/// `phone`, `email`, `language`, `time_zone`, `status`. Rows that are refused are told, and the others are added. The same list again changes nothing.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/occasions/{id}/guests",
    params(("id" = String, Path, description = "Id of the occasion"), TenantQuery),
    request_body(content((GuestsRequest = "application/json"), (String = "text/csv"))),
    responses((status = 200, body = AddedGuestsView, description = "What became of each"))
))]
pub async fn post_guests(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantQuery>,
    body: RequestBody,
) -> JsonAnswer<AddedGuestsView> {
    let occasion = parse_occasion(&id)?;
    let is_csv = body
        .content_type()
        .is_some_and(|kind| kind.trim_start().starts_with("text/csv"));
    let body = body.read(BODY_MAX).await?;
    let rows = if is_csv {
        let text = std::str::from_utf8(&body);
        let text = text.map_err(|_| HttpProblem::bad_request("the list is not UTF-8"))?;
        parse_guest_list(text).map_err(|error| HttpProblem::bad_request(error.to_string()))?
    } else {
        let request: GuestsRequest = parse_json_body(&body)?;
        if request.guests.len() > GUEST_ROWS_MAX {
            return Err(HttpProblem::bad_request("too many guests: split them"));
        }
        let numbered = request.guests.into_iter().enumerate();
        numbered
            .map(|(place, row)| (place + 1, Ok(row)))
            .collect::<Vec<ListedGuest>>()
    };
    let added = crate::add_guests(&api.deps, &caller, wanted.tenant.as_ref(), &occasion, rows).await?;
    Ok(Json(added.into()))
}

/// Deletes a guest with its invitations.
///
/// The messages that invited the guest stay in their conversation. A person is erased with all that is stored by
/// `POST /v1/contacts/erase`, which deletes the guests with its phone number, too; a guest without a number is deleted here.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/occasions/{id}/guests/{guest}",
    params(
        ("id" = String, Path, description = "Id of the occasion"),
        ("guest" = String, Path, description = "Id of the guest"),
        TenantQuery
    ),
    responses((status = 204, description = "The guest is deleted"))
))]
pub async fn delete_guest(
    Asked(api, caller): Asked,
    PathParam((id, guest)): PathParam<(String, String)>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> Result<StatusCode, HttpProblem> {
    let occasion = parse_occasion(&id)?;
    let guest = parse_guest_id(&guest)?;
    crate::delete_guest(&api.deps, &caller, wanted.tenant.as_ref(), (&occasion, &guest)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub fn parse_occasion(text: &str) -> Result<OccasionId, HttpProblem> {
    OccasionId::parse(text).map_err(|error| HttpProblem::bad_request(error.to_string()))
}

pub fn parse_guest_id(text: &str) -> Result<GuestId, HttpProblem> {
    GuestId::parse(text).map_err(|_| HttpProblem::not_found("there is no such guest"))
}
