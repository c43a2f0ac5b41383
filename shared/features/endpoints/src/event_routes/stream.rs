//! `GET /v1/events/stream`: events as they are published, as Server-Sent Events.

use crate::asked_of_events::AskedOfEvents;
use crate::event_routes::{PublishedEventView, parse_kinds, parse_start};
use crate::published_events::{EventQuery, list_events};
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use recado_domain::access::{Caller, Scope};
use recado_domain::ids::TenantId;
use recado_domain::millis::add_duration;
use recado_domain::published_event::EventCursor;
use recado_domain::{SignedDuration, Timestamp};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::QueryParams;
use recado_http::api::view::list_problem;
use recado_http::event_feed::{BATCH_MAX, FeedUpdate, Subscription};
use recado_http::problem::{self, HttpProblem};
use recado_pipeline::Deps;
use recado_pipeline::ports::{LogPlace, LoggedEvent, PublishedPage};
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Time between two signs of life.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Time after which a stream ends, so that its token is checked again: the client opens the next one where it stopped.
const STREAM_TIME: SignedDuration = SignedDuration::from_mins(15);

/// The events that a stream is to tell.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct StreamQuery {
    /// Only events of this tenant.
    tenant: Option<TenantId>,
    /// The place behind which the stream begins. Absent: now. `Last-Event-ID` goes before it.
    after: Option<String>,
    /// Only these kinds, separated by commas. `message.*` names a group.
    #[cfg_attr(feature = "schema", param(example = "message.*,conversation.waiting"))]
    kind: Option<String>,
}

/// An open stream.
struct OpenStream {
    deps: Arc<Deps>,
    caller: Caller,
    /// The events that are wanted. `start` is the place behind the last event that was read.
    query: EventQuery,
    place: EventCursor,
    subscription: Subscription,
    /// Events that were read and not sent yet.
    read: VecDeque<LoggedEvent>,
    /// `true` while the log may hold events that the feed does not bring.
    is_behind: bool,
    ends_at: Timestamp,
}

impl OpenStream {
    fn is_wanted_event(&self, logged: &LoggedEvent) -> bool {
        let tenant = logged.event.tenant.as_ref();
        let is_in_scope = match (&self.caller.scope, tenant) {
            (Scope::Installation, _) => true,
            (Scope::Tenant(own), tenant) => tenant == Some(own),
        };
        let asked = self.query.tenant.as_ref();
        is_in_scope
            && asked.is_none_or(|asked| tenant == Some(asked))
            && logged.cursor > self.place
            && self.query.wants_kind(logged.event.kind)
    }

    /// Reads the log from the stream's place on.
    async fn read_log_onwards(&mut self) -> bool {
        self.query.start = LogPlace::After(self.place);
        match list_events(&self.deps, &self.caller, &self.query).await {
            Ok(PublishedPage { events, next }) => {
                self.is_behind = next != self.place;
                self.place = next;
                self.read.extend(events);
                true
            }
            Err(error) => {
                problem::log_port_error(&error);
                false
            }
        }
    }

    /// Returns the next event; `None` if the stream ends.
    async fn next_event(&mut self) -> Option<LoggedEvent> {
        loop {
            if let Some(next) = self.read.pop_front() {
                return Some(next);
            }
            if self.deps.system().now() >= self.ends_at {
                return None;
            }
            if self.is_behind {
                if !self.read_log_onwards().await {
                    return None;
                }
                continue;
            }
            match self.subscription.wait_for_batch().await {
                FeedUpdate::Closing => return None,
                FeedUpdate::Missed => self.is_behind = true,
                FeedUpdate::Batch(batch) if batch.from > self.place => self.is_behind = true,
                FeedUpdate::Batch(batch) => {
                    let wanted: Vec<LoggedEvent> = batch
                        .events
                        .iter()
                        .filter(|one| self.is_wanted_event(one))
                        .cloned()
                        .collect();
                    self.place = self.place.max(batch.to);
                    self.read.extend(wanted);
                }
            }
        }
    }
}

fn write_event(logged: LoggedEvent) -> Event {
    let id = logged.cursor.to_string();
    let event = Event::default().event("change").id(id);
    // The view is made of texts and numbers, which can always be written.
    let view = PublishedEventView::from(logged);
    event.json_data(view).unwrap_or_default()
}

/// Finds the place at which a stream begins.
async fn find_start(deps: &Deps, caller: &Caller, query: &EventQuery) -> Result<EventCursor, HttpProblem> {
    let is_given = query.start != LogPlace::Newest;
    // A place that this log did not give is refused here, not in the stream.
    let look = EventQuery {
        kinds: Vec::new(),
        limit: 1,
        ..query.clone()
    };
    let page = list_events(deps, caller, &look).await;
    let page = page.map_err(|error| list_problem(error, is_given))?;
    Ok(match query.start {
        LogPlace::After(place) => place,
        LogPlace::Before(_) | LogPlace::Newest => page.next,
    })
}

/// Tells what happens, as it happens, as Server-Sent Events.
///
/// Each event is a `change` whose data is an event of `GET /v1/events` and whose `id` is its cursor. A client that
/// reconnects with `Last-Event-ID` misses nothing that is kept. The stream ends after a quarter of an hour, so that the token is
/// checked again. A 404 on AWS.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/events/stream",
    params(StreamQuery, ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last event that was read")),
    responses(
        (status = 200, body = String, content_type = "text/event-stream", description = "The events, until the client leaves"),
        NotFound
    )
))]
pub async fn get_event_stream(
    AskedOfEvents(api, caller): AskedOfEvents,
    headers: HeaderMap,
    QueryParams(wanted): QueryParams<StreamQuery>,
) -> Result<Response, HttpProblem> {
    let Some(feed) = &api.options.event_feed else {
        return Err(HttpProblem::not_found(
            "there is a stream of events only where `recado serve` runs",
        ));
    };
    let last = headers
        .get("last-event-id")
        .map(|value| value.to_str().unwrap_or("?"));
    let start = last.or(wanted.after.as_deref()).unwrap_or("now");
    let query = EventQuery {
        tenant: wanted.tenant,
        start: parse_start(Some(start))?,
        kinds: parse_kinds(wanted.kind.as_deref())?,
        limit: BATCH_MAX,
    };
    // First, so that nothing falls between the place and the feed.
    let subscription = feed.open_subscription();
    let place = find_start(&api.deps, &caller, &query).await?;
    let open = OpenStream {
        ends_at: add_duration(api.deps.system().now(), STREAM_TIME),
        deps: Arc::clone(&api.deps),
        caller,
        is_behind: query.start != LogPlace::Newest,
        query,
        place,
        subscription,
        read: VecDeque::new(),
    };
    let events = stream::unfold(open, async |mut open| {
        let next = open.next_event().await?;
        Some((Ok::<_, Infallible>(write_event(next)), open))
    });
    let keep_alive = KeepAlive::new().interval(HEARTBEAT);
    // Without the header, proxies such as nginx would collect what is sent.
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), "no")];
    Ok((unbuffered, Sse::new(events).keep_alive(keep_alive)).into_response())
}
