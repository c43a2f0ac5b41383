//! `/v1/tools`: lists, shows, creates, changes and removes tools one by one.

#[cfg(test)]
use super::entries::ChangedEntryView;
use super::entries::{self, EntryListQuery, RemovalQuery};
use super::error_mapping::list_problem;
#[cfg(test)]
use super::problem_answers::{Conflict, NotFound, PreconditionFailed, PreconditionRequired, Unprocessable};
#[cfg(test)]
use super::schema::{ConfigurationChangeSchema, ToolSchema};
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
use recado_domain::tools::Tool;
use recado_pipeline::configure::{self, ConfigurationChange};

/// Lists the tools that the token opens, sorted by their ids.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/tools",
    tag = "Configuration",
    params(EntryListQuery),
    responses((status = 200, body = ListView<ToolSchema>, description = "A page of tools"))
))]
pub(super) async fn list_tools(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    QueryParams(wanted): QueryParams<EntryListQuery>,
) -> Result<Json<ListView<Tool>>, HttpProblem> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let tenant = wanted.tenant.as_ref();
    let found = configure::list_visible_entries::<Tool>(&*api.deps, &caller, tenant, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, std::convert::identity)))
}

/// Returns a tool, with its version as `ETag`.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/tools/{id}",
    tag = "Configuration",
    params(("id" = String, Path, description = "Id of the tool")),
    responses((status = 200, body = ToolSchema, description = "The tool"), NotFound)
))]
pub(super) async fn get_tool(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    entries::show_entry::<Tool>(&api, &caller, &id).await
}

/// Creates a tool, with the checks of `PUT /v1/config`.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/tools",
    tag = "Configuration",
    request_body = ToolSchema,
    responses(
        (status = 201, body = ChangedEntryView<ToolSchema>, description = "The tool, with its version as `ETag`"),
        Conflict,
        Unprocessable
    )
))]
pub(super) async fn post_tool(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::create_entry::<Tool>(&api, &caller, &headers, body).await
}

/// Replaces a tool, with the checks of `PUT /v1/config`.
///
/// A field that the body leaves out gets its default. `If-Match` names the version that is replaced, as `GET` gave it in
/// `ETag`; `*` stands for any.
#[cfg_attr(test, utoipa::path(
    put,
    path = "/v1/tools/{id}",
    tag = "Configuration",
    params(
        ("id" = String, Path, description = "Id of the tool"),
        ("If-Match" = String, Header, description = "Version of the tool, or `*`")
    ),
    request_body = ToolSchema,
    responses(
        (status = 200, body = ChangedEntryView<ToolSchema>, description = "The tool, with its new version as `ETag`"),
        NotFound,
        Conflict,
        PreconditionFailed,
        Unprocessable,
        PreconditionRequired
    )
))]
pub(super) async fn put_tool(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::change_entry::<Tool>(&api, &caller, &id, &headers, body).await
}

/// Removes a tool. One that an agent names stays.
#[cfg_attr(test, utoipa::path(
    delete,
    path = "/v1/tools/{id}",
    tag = "Configuration",
    params(
        ("id" = String, Path, description = "Id of the tool"),
        ("If-Match" = Option<String>, Header, description = "Version of the tool. If absent, any"),
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
pub(super) async fn delete_tool(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<RemovalQuery>,
    headers: HeaderMap,
) -> Result<Json<ConfigurationChange>, HttpProblem> {
    entries::remove_entry::<Tool>(&api, &caller, &id, &headers, wanted.force).await
}
