//! `POST /v1/instances/{id}/catch-up`: fetches messages whose webhooks were lost.

#[cfg(feature = "schema")]
use crate::api::problem_answers::{BadGateway, Conflict};
use crate::api::request::{Asked, JsonAnswer, PathParam, RequestBody};
use crate::problem::HttpProblem;
use axum::http::StatusCode;
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_pipeline::catch_up::{self, CatchUpError, CatchUpReport};
use recado_pipeline::ports::HistoryError;
use serde::Deserialize;

/// The body of the request: the time from which the provider's history is read.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({})))]
struct CatchUpRequest {
    /// Time from which the history is read. If absent, the time of the last message that is known.
    since: Option<Timestamp>,
    /// `true`: nothing is stored, and the answer tells what would be (`preview`).
    #[serde(default)]
    dry_run: bool,
}

/// Fetches messages that the provider failed to deliver.
///
/// Without a body the catch-up begins at the last message that is known.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/instances/{id}/catch-up",
    params(("id" = String, Path, description = "Id of the instance")),
    request_body = Option<CatchUpRequest>,
    responses(
        (status = 200, body = CatchUpReport, description = "The numbers of messages"),
        Conflict,
        BadGateway
    )
))]
pub async fn post_catch_up(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> JsonAnswer<CatchUpReport> {
    let instance = InstanceId::parse(&id).map_err(|_| HttpProblem::not_found("there is no such instance"))?;
    let wanted: CatchUpRequest = body.parse_optional().await?;
    let (deps, since) = (&api.deps, wanted.since);
    let done = if wanted.dry_run {
        Box::pin(catch_up::preview_catch_up(
            deps,
            &caller,
            &instance,
            since,
            &correlation,
        ))
        .await
    } else {
        Box::pin(catch_up::catch_up(deps, &caller, &instance, since, &correlation)).await
    };
    Ok(Json(done?))
}

impl From<CatchUpError> for HttpProblem {
    fn from(error: CatchUpError) -> Self {
        let status = match &error {
            CatchUpError::NotFound => StatusCode::NOT_FOUND,
            CatchUpError::TooFarBack { .. } | CatchUpError::Ahead => StatusCode::BAD_REQUEST,
            CatchUpError::Disabled | CatchUpError::Provider(HistoryError::NotOffered) => StatusCode::CONFLICT,
            CatchUpError::Provider(HistoryError::Credentials | HistoryError::Unavailable { .. }) => {
                StatusCode::BAD_GATEWAY
            }
            CatchUpError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string())
    }
}
