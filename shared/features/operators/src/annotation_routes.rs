//! `/v1/conversations/{id}/labels` and `/notes`: what people write beside a conversation for each other.

use crate::LabelChange;
use crate::conversation_routes::parse_conversation_id;
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::conversation::{ConversationLabel, PersonNote};
use recado_domain::ids::TokenName;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, Unprocessable};
use recado_http::api::request::{Asked, JsonAnswer, PathParam, RequestBody};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The labels to add to a conversation and to remove from it.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"add": ["refund"], "remove": ["new"]})))]
struct LabelChangeRequest {
    /// Labels to add: each is one word of 1 to 30 letters, digits, `-` and `_`. A conversation has at most 10.
    #[serde(default)]
    add: Vec<String>,
    /// Labels to remove.
    #[serde(default)]
    remove: Vec<String>,
}

impl LabelChangeRequest {
    fn into_change(self) -> Result<LabelChange, HttpProblem> {
        let parse = |words: Vec<String>| {
            let labels = words.iter().map(|word| ConversationLabel::parse(word));
            labels.collect::<Result<BTreeSet<_>, _>>()
        };
        let refused = |error| HttpProblem::from(crate::OperateError::Annotation(error));
        Ok(LabelChange {
            add: parse(self.add).map_err(refused)?,
            remove: parse(self.remove).map_err(refused)?,
        })
    }
}

/// The labels of a conversation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LabelsView {
    /// In alphabetical order.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    labels: BTreeSet<ConversationLabel>,
}

/// Adds labels to a conversation, and removes others.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/conversations/{id}/labels",
    params(("id" = String, Path, description = "Id of the conversation")),
    request_body = LabelChangeRequest,
    responses((status = 200, body = LabelsView, description = "The labels that it has now"), Conflict, Unprocessable)
))]
pub async fn post_labels(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    body: RequestBody,
) -> JsonAnswer<LabelsView> {
    let id = parse_conversation_id(&id)?;
    let request: LabelChangeRequest = body.parse().await?;
    let change = request.into_change()?;
    let labels = crate::change_labels(&api.deps, &caller, &id, &change).await?;
    Ok(Json(LabelsView { labels }))
}

/// The notes of a conversation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NotesView {
    /// The oldest first.
    items: Vec<NoteView>,
}

/// A note of a person for other people.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoteView {
    /// The number of the note in the conversation, from 1.
    number: u64,
    /// Name of the token with which it was written.
    by: TokenName,
    at: Timestamp,
    text: String,
}

impl From<PersonNote> for NoteView {
    fn from(note: PersonNote) -> Self {
        Self {
            number: note.number,
            by: note.by,
            at: note.at,
            text: note.text,
        }
    }
}

/// Lists the notes that people wrote beside a conversation, the oldest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/conversations/{id}/notes",
    params(("id" = String, Path, description = "Id of the conversation")),
    responses((status = 200, body = NotesView, description = "The notes"))
))]
pub async fn list_notes(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<NotesView> {
    let found = crate::list_notes(&api.deps, &caller, &parse_conversation_id(&id)?).await?;
    let items = found.into_iter().map(NoteView::from).collect();
    Ok(Json(NotesView { items }))
}

/// The text of a new note.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"text": "Pays when the parcel comes."})))]
struct NewNote {
    /// 1 to 1,000 characters. A conversation has at most 20 notes, of 4,000 characters together.
    text: String,
}

/// Writes a note beside a conversation. It is never sent, and no model reads it.
///
/// If the newest note is the caller's and says the same, it is the answer, and no other is written.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/conversations/{id}/notes",
    params(("id" = String, Path, description = "Id of the conversation")),
    request_body = NewNote,
    responses((status = 201, body = NoteView, description = "The note"), Conflict, Unprocessable)
))]
pub async fn post_note(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    body: RequestBody,
) -> Result<(StatusCode, Json<NoteView>), HttpProblem> {
    let id = parse_conversation_id(&id)?;
    let new: NewNote = body.parse().await?;
    let note = crate::add_note(&api.deps, &caller, &id, &new.text).await?;
    Ok((StatusCode::CREATED, Json(note.into())))
}

/// Deletes a note.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/conversations/{id}/notes/{number}",
    params(
        ("id" = String, Path, description = "Id of the conversation"),
        ("number" = u64, Path, description = "Number of the note"),
    ),
    responses((status = 204, description = "The note is deleted"))
))]
pub async fn delete_note(
    Asked(api, caller): Asked,
    PathParam((id, number)): PathParam<(String, u64)>,
) -> Result<StatusCode, HttpProblem> {
    crate::delete_note(&api.deps, &caller, &parse_conversation_id(&id)?, number).await?;
    Ok(StatusCode::NO_CONTENT)
}
