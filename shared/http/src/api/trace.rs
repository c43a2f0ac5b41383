//! `GET /v1/trace`.

use super::messages::message_id;
use super::view::{EventView, MessageItem};
use super::{Api, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::Params;
use axum::Json;
use axum::extract::State;
use recado_domain::ids::{CorrelationId, EventId};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_pipeline::World;
use recado_pipeline::deliver;
use recado_pipeline::trace::{self, Trace};
use serde::{Deserialize, Serialize};

/// What is looked for: exactly one of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    event: Option<String>,
    message: Option<String>,
    correlation: Option<String>,
}

/// What belongs together, the oldest first.
#[derive(Debug, Serialize)]
pub(super) struct TraceView {
    events: Vec<EventView>,
    messages: Vec<MessageItem>,
}

impl From<Trace> for TraceView {
    fn from(trace: Trace) -> Self {
        Self {
            events: trace.events.into_iter().map(EventView::from).collect(),
            messages: trace.messages.into_iter().map(MessageItem::from).collect(),
        }
    }
}

/// Events (without what they brought) and messages by an event's, a message's or a correlation id.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<TraceView>, Problem> {
    let world = &*api.world;
    let wanted = match (wanted.event, wanted.message, wanted.correlation) {
        (Some(id), None, None) => {
            let id = EventId::parse(&id).map_err(|_| Problem::not_found("there is no such event"))?;
            trace::Wanted::Event(id)
        }
        (None, Some(id), None) => match ScheduledId::parse(&id) {
            Ok(id) => became(world, &id).await?,
            Err(_) => trace::Wanted::Message(message_id(&id)?),
        },
        (None, None, Some(id)) => trace::Wanted::Correlation(
            CorrelationId::parse(&id).map_err(|error| Problem::bad_request(error.to_string()))?,
        ),
        _ => {
            return Err(Problem::bad_request(
                "exactly one of `event`, `message` and `correlation` is needed",
            ));
        }
    };
    Ok(Json(trace::trace(world, &wanted).await?.into()))
}

/// A scheduled message by what it became; before that, nothing but its correlation id leads anywhere.
async fn became<W: World>(world: &W, id: &ScheduledId) -> Result<trace::Wanted, Problem> {
    let scheduled = deliver::find(world, id).await?;
    let scheduled = scheduled.ok_or_else(|| Problem::not_found("there is no such message"))?;
    Ok(match scheduled.state {
        ScheduledState::Became { message, .. } => trace::Wanted::Message(message),
        _ => trace::Wanted::Correlation(scheduled.correlation),
    })
}
