//! `/v1/instances`: lists, shows, creates, changes and removes instances one by one.

use super::config::{WebhookSetupView, WebhookSetups};
#[cfg(test)]
use super::entries::ChangedEntryView;
use super::entries::{self, EntryListQuery, RemovalQuery};
use super::error_mapping::list_problem;
#[cfg(test)]
use super::problem_answers::{Conflict, NotFound, PreconditionFailed, PreconditionRequired, Unprocessable};
#[cfg(test)]
use super::schema::{ConfigurationChangeSchema, InstanceSchema};
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
use recado_domain::config::Instance;
use recado_pipeline::audit;
use recado_pipeline::configure::{self, ConfigurationChange};

/// Lists the instances that the token opens, sorted by their ids.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/instances",
    tag = "Instances",
    params(EntryListQuery),
    responses((status = 200, body = ListView<InstanceSchema>, description = "A page of instances"))
))]
pub(super) async fn list_instances(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    QueryParams(wanted): QueryParams<EntryListQuery>,
) -> Result<Json<ListView<Instance>>, HttpProblem> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let tenant = wanted.tenant.as_ref();
    let found = configure::list_visible_entries::<Instance>(&*api.deps, &caller, tenant, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, std::convert::identity)))
}

/// Returns an instance, with its version as `ETag`.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/instances/{id}",
    tag = "Instances",
    params(("id" = String, Path, description = "Id of the instance")),
    responses((status = 200, body = InstanceSchema, description = "The instance"), NotFound)
))]
pub(super) async fn get_instance(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    entries::show_entry::<Instance>(&api, &caller, &id).await
}

/// Creates an instance, with the checks of `PUT /v1/config`.
///
/// `GET /v1/instances/{id}/webhook` returns what is to be set up at its provider.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/instances",
    tag = "Instances",
    request_body = InstanceSchema,
    responses(
        (status = 201, body = ChangedEntryView<InstanceSchema>, description = "The instance, with its version as `ETag`"),
        Conflict,
        Unprocessable
    )
))]
pub(super) async fn post_instance(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::create_entry::<Instance>(&api, &caller, &headers, body).await
}

/// Replaces an instance, with the checks of `PUT /v1/config`.
///
/// A field that the body leaves out gets its default. `If-Match` names the version that is replaced, as `GET` gave it in
/// `ETag`; `*` stands for any.
#[cfg_attr(test, utoipa::path(
    put,
    path = "/v1/instances/{id}",
    tag = "Instances",
    params(
        ("id" = String, Path, description = "Id of the instance"),
        ("If-Match" = String, Header, description = "Version of the instance, or `*`")
    ),
    request_body = InstanceSchema,
    responses(
        (status = 200, body = ChangedEntryView<InstanceSchema>, description = "The instance, with its new version as `ETag`"),
        NotFound,
        Conflict,
        PreconditionFailed,
        Unprocessable,
        PreconditionRequired
    )
))]
pub(super) async fn put_instance(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    entries::change_entry::<Instance>(&api, &caller, &id, &headers, body).await
}

/// Removes an instance.
///
/// An instance with conversations or dead letters is disabled instead, and what it has stays readable. One that owes a
/// reply stays as it is, unless `force`.
#[cfg_attr(test, utoipa::path(
    delete,
    path = "/v1/instances/{id}",
    tag = "Instances",
    params(
        ("id" = String, Path, description = "Id of the instance"),
        ("If-Match" = Option<String>, Header, description = "Version of the instance. If absent, any"),
        RemovalQuery
    ),
    responses(
        (status = 200, body = ConfigurationChangeSchema, description = "The change: `removed`, `disabled`, or `unchanged` if it was disabled before"),
        NotFound,
        Conflict,
        PreconditionFailed,
        Unprocessable
    )
))]
pub(super) async fn delete_instance(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<RemovalQuery>,
    headers: HeaderMap,
) -> Result<Json<ConfigurationChange>, HttpProblem> {
    entries::remove_entry::<Instance>(&api, &caller, &id, &headers, wanted.force).await
}

/// Returns the webhook URL and secret of an instance, as they are to be entered at its provider.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/instances/{id}/webhook",
    tag = "Instances",
    params(("id" = String, Path, description = "Id of the instance")),
    responses(
        (status = 200, body = WebhookSetupView, description = "The webhook settings, with their secret"),
        NotFound
    )
))]
pub(super) async fn get_instance_webhook(
    State(api): State<Api<impl ApiContext>>,
    Extension(caller): Extension<Caller>,
    PathParam(id): PathParam<String>,
) -> Result<Json<WebhookSetupView>, HttpProblem> {
    let instance: Instance = configure::find_entry(&*api.deps, &caller, &id).await?;
    audit::note_secret_read(&*api.deps, &caller, &instance).await?;
    let site = WebhookSetups::for_instances(&api, std::slice::from_ref(&instance)).await?;
    Ok(Json(site.setup_view(&instance, true)))
}
