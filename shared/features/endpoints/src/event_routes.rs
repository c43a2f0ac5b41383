//! `/v1/events`: what happened, as thin events: ids and facts, from which a reader asks for the details.

pub mod stream;
pub mod tickets;

use crate::asked_of_events::AskedOfEvents;
use crate::published_events::{EventQuery, list_events};
use axum::Json;
use recado_domain::ids::TenantId;
use recado_domain::published_event::{EventCursor, KindFilter, PublishedEvent};
use recado_http::api::request::{JsonAnswer, QueryParams, parse_page_request};
use recado_http::api::view::list_problem;
use recado_http::problem::HttpProblem;
use recado_pipeline::ports::{LogPlace, LoggedEvent};
use serde::{Deserialize, Serialize};

/// The events that a reader wants.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Only events of this tenant.
    tenant: Option<TenantId>,
    /// `next` of the page before. Absent: from the oldest event that is kept. `now`: only what is published from now on.
    after: Option<String>,
    /// Only these kinds, separated by commas. `message.*` names a group.
    #[cfg_attr(feature = "schema", param(example = "message.*,conversation.waiting"))]
    kind: Option<String>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
}

/// A page of events.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EventsView {
    /// The events, the oldest first.
    items: Vec<PublishedEventView>,
    /// The place at which to go on. It is always there: ask again with it for what comes later.
    next: String,
}

/// An event with its place.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PublishedEventView {
    /// The place behind the event: `after` of a list that goes on behind it.
    cursor: String,
    #[serde(flatten)]
    event: PublishedEvent,
}

impl From<LoggedEvent> for PublishedEventView {
    fn from(logged: LoggedEvent) -> Self {
        Self {
            cursor: logged.cursor.to_string(),
            event: logged.event,
        }
    }
}

/// Parses the place from which on events are wanted.
fn parse_start(after: Option<&str>) -> Result<LogPlace, HttpProblem> {
    match after {
        None => Ok(LogPlace::After(EventCursor::START)),
        Some("now") => Ok(LogPlace::Newest),
        Some(cursor) => cursor
            .parse()
            .map(LogPlace::After)
            .map_err(|error| HttpProblem::bad_request(format!("`after`: {error}"))),
    }
}

/// Parses the kinds that are wanted.
fn parse_kinds(kinds: Option<&str>) -> Result<Vec<KindFilter>, HttpProblem> {
    let words = kinds
        .unwrap_or_default()
        .split(',')
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse()
                .map_err(|error| HttpProblem::bad_request(format!("`kind`: {error}")))
        })
        .collect()
}

/// Lists what happened, the oldest first.
///
/// A reader that follows `next` sees each event that is kept (seven days unless set otherwise), at least once, those of a
/// conversation in order. An event holds ids and facts and no name, number or text: ask the API for these.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/events",
    params(EventsQuery),
    responses((status = 200, body = EventsView, description = "A page of events"))
))]
pub async fn get_events(
    AskedOfEvents(api, caller): AskedOfEvents,
    QueryParams(wanted): QueryParams<EventsQuery>,
) -> JsonAnswer<EventsView> {
    let query = EventQuery {
        tenant: wanted.tenant,
        start: parse_start(wanted.after.as_deref())?,
        kinds: parse_kinds(wanted.kind.as_deref())?,
        limit: parse_page_request(wanted.limit, None)?.limit,
    };
    let page = list_events(&api.deps, &caller, &query).await;
    let page = page.map_err(|error| list_problem(error, wanted.after.is_some()))?;
    Ok(Json(EventsView {
        items: page.events.into_iter().map(PublishedEventView::from).collect(),
        next: page.next.to_string(),
    }))
}
