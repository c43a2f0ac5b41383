//! `/v1/agents`: lists, shows, creates, changes and removes agents one by one.

#[cfg(test)]
use super::entries::ChangedEntryView;
use super::entries::{self, EntryListQuery, RemovalQuery};
use super::error_mapping::list_problem;
#[cfg(test)]
use super::problem_answers::{Conflict, NotFound, PreconditionFailed, PreconditionRequired, Unprocessable};
#[cfg(test)]
use super::schema::{AgentSchema, ConfigurationChangeSchema};
use super::view::ListView;
use super::{Api, ApiContext};
use crate::problem::HttpProblem;
use crate::query::{PathParam, QueryParams, parse_page_request};
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::{Extension, Json};
use recado_domain::access::Caller;
use recado_domain::config::Agent;
use recado_pipeline::configure::{self, ConfigurationChange};

/// Lists the agents that the token opens, sorted by their ids.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/agents",
    tag = "Configuration",
    params(EntryListQuery),
    responses((status = 200, body = ListView<AgentSchema>, description = "A page of agents"))
))]
pub(super) async fn list_agents(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    QueryParams(wanted): QueryParams<EntryListQuery>,
) -> Result<Json<ListView<Agent>>, HttpProblem> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let tenant = wanted.tenant.as_ref();
    let found = configure::list_visible_entries::<Agent>(&*api.deps, &caller, tenant, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, std::convert::identity)))
}

/// Returns an agent, with its version as `ETag`.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/agents/{id}",
    tag = "Configuration",
    params(("id" = String, Path, description = "Id of the agent")),
    responses((status = 200, body = AgentSchema, description = "The agent"), NotFound)
))]
pub(super) async fn get_agent(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    entries::show_entry::<Agent>(&api, &caller, &id).await
}

/// Creates an agent, with the checks of `PUT /v1/config`.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/agents",
    tag = "Configuration",
    request_body = AgentSchema,
    responses(
        (status = 201, body = ChangedEntryView<AgentSchema>, description = "The agent, with its version as `ETag`"),
        Conflict,
        Unprocessable
    )
))]
pub(super) async fn post_agent(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::create_entry::<Agent>(&api, &caller, &headers, body).await
}

/// Replaces an agent, with the checks of `PUT /v1/config`.
///
/// A field that the body leaves out gets its default. `If-Match` names the version that is replaced, as `GET` gave it in
/// `ETag`; `*` stands for any.
#[cfg_attr(test, utoipa::path(
    put,
    path = "/v1/agents/{id}",
    tag = "Configuration",
    params(
        ("id" = String, Path, description = "Id of the agent"),
        ("If-Match" = String, Header, description = "Version of the agent, or `*`")
    ),
    request_body = AgentSchema,
    responses(
        (status = 200, body = ChangedEntryView<AgentSchema>, description = "The agent, with its new version as `ETag`"),
        NotFound,
        Conflict,
        PreconditionFailed,
        Unprocessable,
        PreconditionRequired
    )
))]
pub(super) async fn put_agent(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::change_entry::<Agent>(&api, &caller, &id, &headers, body).await
}

/// Removes an agent. One that an instance needs stays.
#[cfg_attr(test, utoipa::path(
    delete,
    path = "/v1/agents/{id}",
    tag = "Configuration",
    params(
        ("id" = String, Path, description = "Id of the agent"),
        ("If-Match" = Option<String>, Header, description = "Version of the agent. If absent, any"),
        RemovalQuery
    ),
    responses(
        (status = 200, body = ConfigurationChangeSchema, description = "The change: `removed`"),
        NotFound,
        Conflict,
        PreconditionFailed,
        Unprocessable
    )
))]
pub(super) async fn delete_agent(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<RemovalQuery>,
    headers: HeaderMap,
) -> Result<Json<ConfigurationChange>, HttpProblem> {
    entries::remove_entry::<Agent>(&api, &caller, &id, &headers, wanted.force).await
}
