//! `GET /v1/trace`: the events and messages that belong together.

use crate::message_view::{EventView, MessageItem};
use axum::Json;
use recado_domain::access::Caller;
use recado_domain::ids::{CorrelationId, EventId, InstanceId};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_http::api::message_fields::parse_message_id;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, JsonAnswer, QueryParams};
use recado_http::problem::HttpProblem;
use recado_pipeline::Deps;

use crate::trace::{self, MessageTrace, ProviderLookup};
use serde::{Deserialize, Serialize};

/// The id to look for. Exactly one must be given.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TraceQuery {
    /// Id of an event.
    event: Option<String>,
    /// Id of a message.
    message: Option<String>,
    /// A correlation id.
    correlation: Option<String>,
    /// A message's id at the provider.
    provider_message: Option<String>,
    /// With `provider_message`: only on this instance.
    instance: Option<InstanceId>,
}

/// The events and messages that belong together, the oldest first.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TraceView {
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

/// Returns the events and messages that belong to an event, a message, a correlation id or a provider's message id.
///
/// Events come without their payloads, the oldest first; they are kept for 7 days.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/trace",
    params(TraceQuery),
    responses((status = 200, body = TraceView, description = "Events and messages"), NotFound)
))]
pub async fn get_trace(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<TraceQuery>,
) -> JsonAnswer<TraceView> {
    let deps = &api.deps;
    if wanted.instance.is_some() && wanted.provider_message.is_none() {
        return Err(HttpProblem::bad_request(
            "`instance` goes with `provider_message`",
        ));
    }
    let ids = (
        wanted.event,
        wanted.message,
        wanted.correlation,
        wanted.provider_message,
    );
    let wanted = match ids {
        (Some(id), None, None, None) => {
            let id = EventId::parse(&id).map_err(|_| HttpProblem::not_found("there is no such event"))?;
            trace::TraceTarget::Event(id)
        }
        (None, Some(id), None, None) => match ScheduledId::parse(&id) {
            Ok(id) => resolve_scheduled(deps, &caller, &id).await?,
            Err(_) => trace::TraceTarget::Message(parse_message_id(&id)?),
        },
        (None, None, Some(id), None) => trace::TraceTarget::Correlation(
            CorrelationId::parse(&id).map_err(|error| HttpProblem::bad_request(error.to_string()))?,
        ),
        (None, None, None, Some(id)) => {
            resolve_provider_message(deps, &caller, &id, wanted.instance.as_ref()).await?
        }
        _ => {
            return Err(HttpProblem::bad_request(
                "exactly one of `event`, `message`, `correlation` and `provider_message` is needed",
            ));
        }
    };
    let missing = match &wanted {
        trace::TraceTarget::Event(_) => "there is no such event",
        _ => "there is no such message",
    };
    let found = trace::find_trace(deps, &caller, &wanted).await?;
    let found = found.ok_or_else(|| HttpProblem::not_found(missing))?;
    Ok(Json(found.into()))
}

/// Resolves a provider's message id to the event that brought the message, or to the message that was sent.
async fn resolve_provider_message(
    deps: &Deps,
    caller: &Caller,
    id: &str,
    instance: Option<&InstanceId>,
) -> Result<trace::TraceTarget, HttpProblem> {
    match trace::find_provider_message(deps, caller, id, instance).await? {
        ProviderLookup::Found(target) => Ok(target),
        ProviderLookup::Unknown => Err(HttpProblem::not_found(
            "no message of this id at the provider is known",
        )),
        ProviderLookup::TooManyInstances => Err(HttpProblem::bad_request(
            "there are more than 100 instances: name the `instance`",
        )),
    }
}

/// Resolves a scheduled message to the message that was sent for it. Before it is sent, only its correlation id can be
/// traced.
async fn resolve_scheduled(
    deps: &Deps,
    caller: &Caller,
    id: &ScheduledId,
) -> Result<trace::TraceTarget, HttpProblem> {
    let scheduled = recado_sends::find_scheduled(deps, caller, id).await?;
    let scheduled = scheduled.ok_or_else(|| HttpProblem::not_found("there is no such message"))?;
    Ok(match scheduled.state {
        ScheduledState::Became { message, .. } => trace::TraceTarget::Message(message),
        _ => trace::TraceTarget::Correlation(scheduled.correlation),
    })
}
