//! `GET /v1/trace`: the events and messages that belong together.

use super::messages::parse_message_id;
use super::view::{EventView, MessageItem};
use super::{ApiState, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use crate::query::QueryParams;
use axum::Json;
use axum::extract::State;
use recado_domain::ids::{CorrelationId, EventId};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_pipeline::Deps;
use recado_pipeline::deliver;
use recado_pipeline::trace::{self, MessageTrace};
use serde::{Deserialize, Serialize};

/// The id to look for. Exactly one field must be given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceQuery {
    event: Option<String>,
    message: Option<String>,
    correlation: Option<String>,
}

/// The events and messages that belong together, the oldest first.
#[derive(Debug, Serialize)]
pub(super) struct TraceView {
    events: Vec<EventView>,
    messages: Vec<MessageItem>,
}

impl From<MessageTrace> for TraceView {
    fn from(trace: MessageTrace) -> Self {
        Self {
            events: trace.events.into_iter().map(EventView::from).collect(),
            messages: trace.messages.into_iter().map(MessageItem::from).collect(),
        }
    }
}

/// Returns the events (without their payloads) and the messages that belong to an event, a message or a correlation id.
pub(super) async fn get_trace<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    QueryParams(wanted): QueryParams<TraceQuery>,
) -> Result<Json<TraceView>, HttpProblem> {
    let deps = &*api.deps;
    let wanted = match (wanted.event, wanted.message, wanted.correlation) {
        (Some(id), None, None) => {
            let id = EventId::parse(&id).map_err(|_| HttpProblem::not_found("there is no such event"))?;
            trace::TraceTarget::Event(id)
        }
        (None, Some(id), None) => match ScheduledId::parse(&id) {
            Ok(id) => resolve_scheduled(deps, &id).await?,
            Err(_) => trace::TraceTarget::Message(parse_message_id(&id)?),
        },
        (None, None, Some(id)) => trace::TraceTarget::Correlation(
            CorrelationId::parse(&id).map_err(|error| HttpProblem::bad_request(error.to_string()))?,
        ),
        _ => {
            return Err(HttpProblem::bad_request(
                "exactly one of `event`, `message` and `correlation` is needed",
            ));
        }
    };
    let missing = match &wanted {
        trace::TraceTarget::Event(_) => "there is no such event",
        _ => "there is no such message",
    };
    let found = trace::find_trace(deps, &wanted).await?;
    let found = found.ok_or_else(|| HttpProblem::not_found(missing))?;
    Ok(Json(found.into()))
}

/// Resolves a scheduled message to the message that was sent for it. Before it is sent, only its correlation id can be
/// traced.
async fn resolve_scheduled<W: Deps>(deps: &W, id: &ScheduledId) -> Result<trace::TraceTarget, HttpProblem> {
    let scheduled = deliver::find_scheduled(deps, id).await?;
    let scheduled = scheduled.ok_or_else(|| HttpProblem::not_found("there is no such message"))?;
    Ok(match scheduled.state {
        ScheduledState::Became { message, .. } => trace::TraceTarget::Message(message),
        _ => trace::TraceTarget::Correlation(scheduled.correlation),
    })
}
