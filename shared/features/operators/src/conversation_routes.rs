//! `/v1/conversations`: lists, shows and changes conversations.

use axum::http::StatusCode;
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::conversation::{Conversation, ConversationLabel, ConversationMode, ConversationStatus};
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, Ordinal};
use recado_http::api::context::Api;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, NotImplemented};
use recado_http::api::request::{
    Asked, JsonAnswer, PathParam, QueryParams, RequestBody, encode_cursor, parse_page_request,
};
use recado_http::api::view::list_problem;
use recado_http::problem::HttpProblem;
use recado_message_views::message_view::ConversationView;

use recado_pipeline::ports::{ConversationFilter, ConversationPage, SearchWords};
use serde::{Deserialize, Serialize};

/// The filter and the page of a list of conversations.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct ConversationQuery {
    /// Only of this instance.
    instance: Option<InstanceId>,
    /// Only of this mode.
    mode: Option<ConversationMode>,
    /// Only of this status.
    status: Option<ConversationStatus>,
    /// Only with this label.
    #[cfg_attr(feature = "schema", param(value_type = Option<String>))]
    label: Option<ConversationLabel>,
    /// Only with a message that holds these words, up to eight. From three letters on, they find words that begin with them. Case
    /// and accents do not count. The newest 2,000 messages that fit are looked through. Not on AWS (501).
    text: Option<String>,
    /// Only with a contact whose name has these words, or whose number is this one. Words that begin with them count, as in `text`,
    /// and so does a number that begins or ends with these digits. A change of the name is found at once, a new contact some seconds after. Not on AWS (501).
    contact: Option<String>,
    /// `true`: only conversations in which a person owes an answer, those that wait the longest first. `status` is left out
    /// then.
    waiting: Option<bool>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A page of conversations.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ConversationList))]
pub struct ConversationListView {
    items: Vec<ConversationView>,
    next_cursor: Option<String>,
    /// With `text` or `contact`: the time up to which messages and their contacts were searched. What came later is found some seconds after.
    searched_until: Option<Timestamp>,
}

/// Lists conversations, the most recently active first; or those that wait for a person.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/conversations",
    params(ConversationQuery),
    responses((status = 200, body = ConversationListView, description = "A page of conversations"), NotImplemented)
))]
pub async fn list_conversations(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<ConversationQuery>,
) -> JsonAnswer<ConversationListView> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let filter = ConversationFilter {
        instance: wanted.instance,
        mode: wanted.mode,
        status: wanted.status,
        label: wanted.label,
        text: wanted.text.as_deref().map(parse_searched_text).transpose()?,
        contact: wanted
            .contact
            .as_deref()
            .map(parse_searched_contact)
            .transpose()?,
        ..ConversationFilter::default()
    };
    let is_search = filter.text.is_some() || filter.contact.is_some();
    let found = if wanted.waiting == Some(true) {
        if filter.status.is_some() || is_search {
            return Err(HttpProblem::bad_request(
                "`waiting` cannot be given together with `status` (who waits is active), `text` or `contact`",
            ));
        }
        let waiting = crate::list_waiting_conversations(&api.deps, &caller, filter, &page).await;
        waiting.map(ConversationPage::from)
    } else {
        crate::list_conversations(&api.deps, &caller, filter, &page).await
    };
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    if is_search && found.searched_until.is_none() {
        return Err(refuse_search());
    }
    let owed = crate::explain_owed_answers(&api.deps, &found.items).await?;
    let items = found.items.into_iter().zip(owed);
    Ok(Json(ConversationListView {
        items: items.map(ConversationView::from).collect(),
        next_cursor: found.next_cursor.as_deref().map(encode_cursor),
        searched_until: found.searched_until,
    }))
}

fn parse_searched_text(text: &str) -> Result<SearchWords, HttpProblem> {
    SearchWords::parse(text).ok_or_else(|| HttpProblem::bad_request("`text` holds no word"))
}

fn parse_searched_contact(text: &str) -> Result<SearchWords, HttpProblem> {
    SearchWords::parse_contact(text)
        .ok_or_else(|| HttpProblem::bad_request("`contact` holds no word and no digit"))
}

/// Says what finds a conversation in an installation that searches no texts.
fn refuse_search() -> HttpProblem {
    HttpProblem::new(
        StatusCode::NOT_IMPLEMENTED,
        "this installation searches neither the texts of messages nor names: it is on AWS. A whole phone number is found by \
         POST /v1/contacts/find, the id of a message at the provider by GET /v1/trace?provider_message=",
    )
}

/// Returns one conversation.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/conversations/{id}",
    params(("id" = String, Path, description = "Id of the conversation")),
    responses((status = 200, body = ConversationView, description = "The conversation"))
))]
pub async fn get_conversation(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<ConversationView> {
    let found = crate::find_conversation(&api.deps, &caller, &parse_conversation_id(&id)?).await?;
    Ok(Json(view_conversation(&api, found).await?))
}

/// Returns the view of a conversation, with the answer that it owes.
async fn view_conversation(api: &Api, conversation: Conversation) -> Result<ConversationView, HttpProblem> {
    let mut owed = crate::explain_owed_answers(&api.deps, std::slice::from_ref(&conversation)).await?;
    Ok((conversation, owed.pop().flatten()).into())
}

/// The requested change of a conversation.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"mode": "manual"})))]
struct ConversationChange {
    /// `manual` takes the conversation over, `ai` gives it back.
    mode: Option<ConversationMode>,
    /// Only `resolved` is accepted: a conversation becomes active again with the contact's next message, not by
    /// request.
    status: Option<ConversationStatus>,
    /// The newest message that a person has read. With `status`, it is the person who resolves the conversation. Alone, it says that
    /// somebody who may answer looked at the conversation, which is then `unseen` no more.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    seen: Option<Ordinal>,
}

/// Takes a conversation over, gives it back or resolves it.
///
/// If both `mode` and `status` are given, the mode is changed first. `seen` alone records that a person looked at it.
#[cfg_attr(feature = "schema", utoipa::path(
    patch,
    path = "/v1/conversations/{id}",
    params(("id" = String, Path, description = "Id of the conversation")),
    request_body = ConversationChange,
    responses((status = 200, body = ConversationView, description = "The changed conversation"), Conflict)
))]
pub async fn patch_conversation(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> JsonAnswer<ConversationView> {
    let id = parse_conversation_id(&id)?;
    let change: ConversationChange = body.parse().await?;
    let resolve = match (change.mode, change.status) {
        (_, Some(ConversationStatus::Active)) => {
            return Err(HttpProblem::bad_request("status can only be set to `resolved`"));
        }
        (None, None) if change.seen.is_none() => {
            return Err(HttpProblem::bad_request(
                "nothing to change: `mode`, `status` or `seen` is needed",
            ));
        }
        (_, status) => status.is_some(),
    };
    if change.seen.is_some() && change.mode.is_some() && !resolve {
        return Err(HttpProblem::bad_request(
            "`seen` belongs to `status`, or stands alone",
        ));
    }
    let deps = &api.deps;
    let mut changed = match (change.mode, change.seen) {
        (Some(mode), _) => Some(crate::set_conversation_mode(deps, &caller, &id, mode, &correlation).await?),
        (None, Some(seen)) if !resolve => Some(crate::record_seen(deps, &caller, &id, seen).await?),
        (None, _) => None,
    };
    if resolve {
        changed = Some(crate::resolve_conversation(deps, &caller, &id, change.seen, &correlation).await?);
    }
    let changed = changed.ok_or_else(no_such_conversation)?;
    Ok(Json(view_conversation(&api, changed).await?))
}

/// Parses a conversation's id. A malformed id is a 404, as an unknown id is.
pub fn parse_conversation_id(text: &str) -> Result<ConversationId, HttpProblem> {
    ConversationId::parse(text).map_err(|_| no_such_conversation())
}

fn no_such_conversation() -> HttpProblem {
    HttpProblem::not_found("there is no such conversation")
}
