//! `/v1/conversations`.

use super::refusal::of_list;
use super::view::{ConversationView, ListView};
use super::{Api, BODY_MAX, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Params, Segment, json, page, read};
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use recado_domain::conversation::{Mode, Status};
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, Ordinal};
use recado_pipeline::World;
use recado_pipeline::operate;
use recado_pipeline::ports::ConversationFilter;
use serde::Deserialize;

/// Which conversations are wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    instance: Option<InstanceId>,
    mode: Option<Mode>,
    status: Option<Status>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Conversations, the most recently active first.
pub(super) async fn list<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<ListView<ConversationView>>, Problem> {
    let page = page(wanted.limit, wanted.cursor)?;
    let filter = ConversationFilter {
        instance: wanted.instance,
        mode: wanted.mode,
        status: wanted.status,
    };
    let found = operate::conversations(&*api.world, &filter, &page).await;
    let found = found.map_err(|error| of_list(error, page.cursor.is_some()))?;
    Ok(Json(ListView::of(found, ConversationView::from)))
}

/// One conversation.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
) -> Result<Json<ConversationView>, Problem> {
    let found = operate::conversation(&*api.world, &conversation_id(&id)?).await?;
    Ok(Json(found.into()))
}

/// What is to become of a conversation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    /// Take over (`manual`) or give back (`ai`).
    mode: Option<Mode>,
    /// Only `resolved`: a conversation begins again with the next message, not by request.
    status: Option<Status>,
    /// The newest message that whoever resolves it has read.
    seen: Option<Ordinal>,
}

/// Takes over, gives back, resolves. With both, the mode comes first.
pub(super) async fn change<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
    Extension(correlation): Extension<CorrelationId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ConversationView>, Problem> {
    let id = conversation_id(&id)?;
    let change: Change = json(&read(&headers, body, BODY_MAX).await?)?;
    let resolve = match (change.mode, change.status) {
        (_, Some(Status::Active)) => {
            return Err(Problem::bad_request("status can only be set to `resolved`"));
        }
        (None, None) => {
            return Err(Problem::bad_request(
                "nothing to change: `mode` or `status` is needed",
            ));
        }
        (_, status) => status.is_some(),
    };
    if change.seen.is_some() && !resolve {
        return Err(Problem::bad_request("`seen` belongs to `status`"));
    }
    let world = &*api.world;
    let mut changed = match change.mode {
        Some(mode) => Some(operate::set_mode(world, &id, mode, &correlation).await?),
        None => None,
    };
    if resolve {
        changed = Some(operate::resolve(world, &id, change.seen, &correlation).await?);
    }
    changed
        .map(|conversation| Json(conversation.into()))
        .ok_or_else(no_such_conversation)
}

/// Reads a conversation's id. One that is malformed names nothing.
pub(super) fn conversation_id(text: &str) -> Result<ConversationId, Problem> {
    ConversationId::parse(text).map_err(|_| no_such_conversation())
}

fn no_such_conversation() -> Problem {
    Problem::not_found("there is no such conversation")
}
