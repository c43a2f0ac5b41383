//! `/simulator/outbox`: what the simulated provider took.

use super::{ApiState, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use axum::Json;
use axum::extract::State;
use recado_pipeline::Deps;
use serde_json::{Value, json};

/// What it took, in the order in which it was sent; 404 where a real provider sends.
pub(super) async fn list_simulated_outbox<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
) -> Result<Json<Value>, HttpProblem> {
    let Some(outbox) = &api.options.simulator else {
        return Err(HttpProblem::not_found("nothing is simulated here"));
    };
    Ok(Json(json!({ "items": outbox.list_messages() })))
}
