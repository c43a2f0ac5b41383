//! `/v1/conversations/{id}/effects`: what an agent's tools did for a contact.

use crate::EffectDecision;
use crate::conversation_routes::parse_conversation_id;
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::effects::{EffectEntry, EffectState};
use recado_domain::ids::{ConversationId, CorrelationId};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::Conflict;
use recado_http::api::request::{Asked, JsonAnswer, PathParam, RequestBody};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The effects for one contact.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EffectsView {
    items: Vec<EffectView>,
}

/// One change that an agent's tool made outside, or was to make.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EffectView {
    /// The number of the effect for this contact, from 1.
    number: u64,
    /// The id that the tool was given.
    id: String,
    /// The conversation in which it began.
    conversation_id: ConversationId,
    /// Name of the tool, as the model called it.
    tool: String,
    /// The arguments, without those that are hidden.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    arguments: Value,
    state: EffectState,
    begun_at: Timestamp,
    /// Time at which its end was stored.
    ended_at: Option<Timestamp>,
    /// The answer of the tool.
    result: Option<String>,
}

impl From<EffectEntry> for EffectView {
    fn from(entry: EffectEntry) -> Self {
        Self {
            number: entry.number,
            id: entry.id.to_string(),
            conversation_id: entry.conversation,
            tool: entry.tool.name,
            arguments: entry.arguments,
            state: entry.state,
            begun_at: entry.begun_at,
            ended_at: entry.ended_at,
            result: entry.result,
        }
    }
}

/// The end of an effect.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"state": "done"})))]
struct EffectChange {
    state: EffectDecision,
}

/// Lists what the agent's tools did for the contact of a conversation, the newest first, also in earlier conversations.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/conversations/{id}/effects",
    params(("id" = String, Path, description = "Id of the conversation")),
    responses((status = 200, body = EffectsView, description = "The effects"))
))]
pub async fn list_effects(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<EffectsView> {
    let found = crate::list_effects(&api.deps, &caller, &parse_conversation_id(&id)?).await?;
    let items = found.into_iter().map(EffectView::from).collect();
    Ok(Json(EffectsView { items }))
}

/// Stores how an effect ended whose end nobody could find out.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/conversations/{id}/effects/{number}",
    params(
        ("id" = String, Path, description = "Id of the conversation"),
        ("number" = u64, Path, description = "Number of the effect"),
    ),
    request_body = EffectChange,
    responses((status = 200, body = EffectView, description = "The effect"), Conflict)
))]
pub async fn post_effect(
    Asked(api, caller): Asked,
    PathParam((id, number)): PathParam<(String, u64)>,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> JsonAnswer<EffectView> {
    let id = parse_conversation_id(&id)?;
    let change: EffectChange = body.parse().await?;
    let of = (&id, number);
    let decided = crate::decide_effect(&api.deps, &caller, of, change.state, &correlation).await?;
    Ok(Json(decided.into()))
}
