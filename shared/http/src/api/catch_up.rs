//! `POST /v1/instances/{id}/catch-up`.

use super::{Api, BODY_MAX, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Segment, json, read};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_pipeline::World;
use recado_pipeline::catch_up::{self, CatchUpError, CaughtUp};
use recado_pipeline::ports::HistoryError;
use serde::Deserialize;

/// From when on.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    since: Option<Timestamp>,
}

/// Fetches what the provider failed to deliver, and tells how much that was. An empty body: since the last message that
/// is known.
pub(super) async fn catch_up<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
    Extension(correlation): Extension<CorrelationId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<CaughtUp>, Problem> {
    let instance = InstanceId::parse(&id).map_err(|_| Problem::not_found("there is no such instance"))?;
    let body = read(&headers, body, BODY_MAX).await?;
    let wanted: Wanted = if body.is_empty() {
        Wanted::default()
    } else {
        json(&body)?
    };
    let done = catch_up::catch_up(&*api.world, &instance, wanted.since, &correlation);
    Ok(Json(Box::pin(done).await?))
}

impl From<CatchUpError> for Problem {
    fn from(error: CatchUpError) -> Self {
        let status = match &error {
            CatchUpError::NotFound => StatusCode::NOT_FOUND,
            CatchUpError::TooFarBack { .. } | CatchUpError::Ahead => StatusCode::BAD_REQUEST,
            CatchUpError::Provider(HistoryError::NotOffered) => StatusCode::CONFLICT,
            CatchUpError::Provider(HistoryError::Credentials | HistoryError::Unavailable { .. }) => {
                StatusCode::BAD_GATEWAY
            }
            CatchUpError::Port(error) => return Self::of_port(error),
        };
        Self::new(status, error.to_string())
    }
}
