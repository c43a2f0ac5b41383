//! `/v1/conversations`: lists, shows and changes conversations.

use super::error_mapping::list_problem;
use super::view::{ConversationView, ListView};
use super::{ApiState, BODY_MAX, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use crate::query::{PathParam, QueryParams, parse_json_body, parse_page_request, read_body};
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use recado_domain::conversation::{ConversationMode, ConversationStatus};
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, Ordinal};
use recado_pipeline::Deps;
use recado_pipeline::operate;
use recado_pipeline::ports::ConversationFilter;
use serde::Deserialize;

/// The filter and the page of a list of conversations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConversationQuery {
    instance: Option<InstanceId>,
    mode: Option<ConversationMode>,
    status: Option<ConversationStatus>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Lists conversations, the most recently active first.
pub(super) async fn list_conversations<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    QueryParams(wanted): QueryParams<ConversationQuery>,
) -> Result<Json<ListView<ConversationView>>, HttpProblem> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let filter = ConversationFilter {
        instance: wanted.instance,
        mode: wanted.mode,
        status: wanted.status,
    };
    let found = operate::list_conversations(&*api.deps, &filter, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, ConversationView::from)))
}

/// Returns one conversation.
pub(super) async fn get_conversation<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
) -> Result<Json<ConversationView>, HttpProblem> {
    let found = operate::find_conversation(&*api.deps, &parse_conversation_id(&id)?).await?;
    Ok(Json(found.into()))
}

/// The requested change of a conversation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConversationChange {
    /// `manual` takes the conversation over, `ai` gives it back.
    mode: Option<ConversationMode>,
    /// Only `resolved` is accepted: a conversation becomes active again with the contact's next message, not by
    /// request.
    status: Option<ConversationStatus>,
    /// The newest message that the person who resolves the conversation has read.
    seen: Option<Ordinal>,
}

/// Takes a conversation over, gives it back or resolves it. If both fields are given, the mode is changed first.
pub(super) async fn patch_conversation<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
    Extension(correlation): Extension<CorrelationId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ConversationView>, HttpProblem> {
    let id = parse_conversation_id(&id)?;
    let change: ConversationChange = parse_json_body(&read_body(&headers, body, BODY_MAX).await?)?;
    let resolve = match (change.mode, change.status) {
        (_, Some(ConversationStatus::Active)) => {
            return Err(HttpProblem::bad_request("status can only be set to `resolved`"));
        }
        (None, None) => {
            return Err(HttpProblem::bad_request(
                "nothing to change: `mode` or `status` is needed",
            ));
        }
        (_, status) => status.is_some(),
    };
    if change.seen.is_some() && !resolve {
        return Err(HttpProblem::bad_request("`seen` belongs to `status`"));
    }
    let deps = &*api.deps;
    let mut changed = match change.mode {
        Some(mode) => Some(operate::set_conversation_mode(deps, &id, mode, &correlation).await?),
        None => None,
    };
    if resolve {
        changed = Some(operate::resolve_conversation(deps, &id, change.seen, &correlation).await?);
    }
    changed
        .map(|conversation| Json(conversation.into()))
        .ok_or_else(no_such_conversation)
}

/// Parses a conversation's id. A malformed id is a 404, as an unknown id is.
pub(super) fn parse_conversation_id(text: &str) -> Result<ConversationId, HttpProblem> {
    ConversationId::parse(text).map_err(|_| no_such_conversation())
}

fn no_such_conversation() -> HttpProblem {
    HttpProblem::not_found("there is no such conversation")
}
