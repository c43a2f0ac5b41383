//! `/v1/webhooks/{id}/test` and `/replay`.

use crate::asked_of_events::AskedOfEvents;
use crate::endpoint_routes::view::EndpointView;
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotImplemented;
use recado_http::api::request::{JsonAnswer, PathParam, QueryParams, RequestBody, TenantQuery};
use recado_http::problem::HttpProblem;

use serde::{Deserialize, Serialize};

/// The answer of an endpoint to a test.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EndpointTestView {
    /// Id of the test event, of the kind `webhook.test`.
    event_id: String,
    accepted: bool,
    /// Status with which the endpoint accepted it.
    status: Option<u16>,
    /// The reason why it was not accepted.
    error: Option<String>,
}

/// Posts a test event to an endpoint now, and tells its answer.
///
/// Nothing else changes: an endpoint that is switched off stays so until a replay.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/webhooks/{id}/test",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantQuery),
    responses(
        (status = 200, body = EndpointTestView, description = "The answer of the endpoint"),
        NotImplemented
    )
))]
pub async fn post_endpoint_test(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(of): QueryParams<TenantQuery>,
) -> JsonAnswer<EndpointTestView> {
    let Some(posts) = &api.options.endpoint_posts else {
        return Err(HttpProblem::new(
            StatusCode::NOT_IMPLEMENTED,
            "this process posts to no webhook endpoint",
        ));
    };
    let tested = crate::test_endpoint(&api.deps, &caller, &**posts, of.tenant.as_ref(), &id);
    let (event, answer) = tested.await?;
    Ok(Json(EndpointTestView {
        event_id: event.id,
        accepted: answer.is_ok(),
        status: answer.as_ref().ok().map(|answer| answer.status),
        error: answer.err().map(|error| error.to_string()),
    }))
}

/// The place from which on events are posted again.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", schema(example = json!({"since": "2026-11-27T00:00:00Z"})))]
struct ReplayRequest {
    /// Everything that was published since this time and is kept is posted again. If absent, the endpoint goes on where it stopped.
    since: Option<Timestamp>,
}

/// Lets events be posted to an endpoint again, at once: everything since a time, or from where it stopped.
///
/// An endpoint that was switched off works again from then on.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/webhooks/{id}/replay",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantQuery),
    request_body = Option<ReplayRequest>,
    responses((status = 200, body = EndpointView, description = "The endpoint"))
))]
pub async fn post_replay(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(of): QueryParams<TenantQuery>,
    body: RequestBody,
) -> JsonAnswer<EndpointView> {
    let asked: ReplayRequest = body.parse_optional().await?;
    let of = of.tenant.as_ref();
    let found = crate::replay_events(&api.deps, &caller, of, &id, asked.since).await?;
    Ok(Json(found.into()))
}
