//! `/v1/tenants`: lists, shows, creates, changes tenants one by one.

use super::entries;
#[cfg(test)]
use super::entries::ChangedEntryView;
use super::error_mapping::list_problem;
#[cfg(test)]
use super::problem_answers::{Conflict, NotFound, PreconditionFailed, PreconditionRequired, Unprocessable};
#[cfg(test)]
use super::schema::TenantSchema;
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
use recado_domain::config::Tenant;
use recado_pipeline::configure;
use serde::Deserialize;

/// The page of the list of tenants.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[cfg_attr(test, into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct TenantListQuery {
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(test, param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists the tenants that the token opens, sorted by their ids.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/tenants",
    tag = "Configuration",
    params(TenantListQuery),
    responses((status = 200, body = ListView<TenantSchema>, description = "A page of tenants"))
))]
pub(super) async fn list_tenants(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    QueryParams(wanted): QueryParams<TenantListQuery>,
) -> Result<Json<ListView<Tenant>>, HttpProblem> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = configure::list_visible_entries::<Tenant>(&*api.deps, &caller, None, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, std::convert::identity)))
}

/// Returns a tenant, with its version as `ETag`.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/tenants/{id}",
    tag = "Configuration",
    params(("id" = String, Path, description = "Id of the tenant")),
    responses((status = 200, body = TenantSchema, description = "The tenant"), NotFound)
))]
pub(super) async fn get_tenant(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    entries::show_entry::<Tenant>(&api, &caller, &id).await
}

/// Creates a tenant, with the checks of `PUT /v1/config`.
///
/// Only a token of the installation creates tenants.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/tenants",
    tag = "Configuration",
    request_body = TenantSchema,
    responses(
        (status = 201, body = ChangedEntryView<TenantSchema>, description = "The tenant, with its version as `ETag`"),
        Conflict,
        Unprocessable
    )
))]
pub(super) async fn post_tenant(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::create_entry::<Tenant>(&api, &caller, &headers, body).await
}

/// Replaces a tenant, with the checks of `PUT /v1/config`.
///
/// A field that the body leaves out gets its default. `If-Match` names the version that is replaced, as `GET` gave it in
/// `ETag`; `*` stands for any.
#[cfg_attr(test, utoipa::path(
    put,
    path = "/v1/tenants/{id}",
    tag = "Configuration",
    params(
        ("id" = String, Path, description = "Id of the tenant"),
        ("If-Match" = String, Header, description = "Version of the tenant, or `*`")
    ),
    request_body = TenantSchema,
    responses(
        (status = 200, body = ChangedEntryView<TenantSchema>, description = "The tenant, with its new version as `ETag`"),
        NotFound,
        Conflict,
        PreconditionFailed,
        Unprocessable,
        PreconditionRequired
    )
))]
pub(super) async fn put_tenant(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::change_entry::<Tenant>(&api, &caller, &id, &headers, body).await
}
