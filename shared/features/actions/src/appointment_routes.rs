//! `GET /v1/appointments`: what agents booked and is still to come.

use crate::appointments::{Appointment, AppointmentPlace, list_appointments};
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::ids::{AgentId, CalendarId, ConversationId, InstanceId};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, JsonAnswer, QueryParams, TenantPageQuery, parse_page_request};
use recado_http::api::view::{ContactView, ListView};
use recado_http::problem::HttpProblem;
use serde::Serialize;

/// An appointment that an agent booked.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Appointment))]
pub struct AppointmentView {
    /// The id of the event in the calendar.
    id: String,
    /// The calendar. `null`: it is not known any more, since the agent lost its tool.
    calendar_id: Option<CalendarId>,
    /// The agent that booked it.
    agent_id: AgentId,
    /// The title that the model gave it.
    title: Option<String>,
    /// Begin. Without a known calendar it contains the time that is kept free before.
    starts_at: Timestamp,
    ends_at: Timestamp,
    /// Day of the begin in the zone of the calendar, such as `2026-11-24`.
    day: String,
    /// Time of the begin in the zone of the calendar, such as `10:00`.
    time: String,
    /// Zone of the calendar; `UTC` if it is not known.
    time_zone: String,
    /// `true` if the contact confirmed it.
    confirmed: bool,
    /// `true` if people moved it in the calendar to a time that another appointment has.
    clashes: bool,
    instance_id: InstanceId,
    /// The contact's newest conversation. `null`: there is none any more.
    conversation_id: Option<ConversationId>,
    contact: Option<ContactView>,
}

impl From<Appointment> for AppointmentView {
    fn from(found: Appointment) -> Self {
        let start = found.time.from.to_zoned(found.zone.clone());
        Self {
            id: found.booking.event.to_string(),
            calendar_id: found.calendar,
            agent_id: found.booking.tool.agent,
            title: found.title,
            starts_at: found.time.from,
            ends_at: found.time.to,
            day: start.strftime("%Y-%m-%d").to_string(),
            time: start.strftime("%H:%M").to_string(),
            time_zone: found.zone.iana_name().unwrap_or("UTC").to_owned(),
            confirmed: found.booking.confirmed,
            clashes: found.booking.clash.is_some(),
            instance_id: found.instance,
            contact: found.conversation.as_ref().map(ContactView::from),
            conversation_id: found.conversation.map(|conversation| conversation.id),
        }
    }
}

/// Lists the appointments that agents booked and that are not over, those that begin the soonest first.
///
/// They are those of the 1,000 contacts whose next appointment begins the soonest, as Recado knows them: what people moved or
/// deleted in the calendar within the last hour may not be seen yet.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/appointments",
    params(TenantPageQuery),
    responses((status = 200, body = ListView<AppointmentView>, description = "A page of appointments"), NotFound)
))]
pub async fn get_appointments(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<TenantPageQuery>,
) -> JsonAnswer<ListView<AppointmentView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let after = page.cursor.as_deref().map(|cursor| {
        AppointmentPlace::parse(cursor)
            .ok_or_else(|| HttpProblem::bad_request("the cursor is not one that a list gave"))
    });
    let after = after.transpose()?;
    let tenant = wanted.tenant.as_ref();
    let found = list_appointments(&api.deps, &caller, tenant, page.limit, after.as_ref()).await?;
    Ok(Json(ListView::from_page(found, AppointmentView::from)))
}
