//! `GET /simulator/outbox`: the messages that the simulated provider accepted.

use super::{ApiState, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use axum::Json;
use axum::extract::State;
use recado_pipeline::Deps;
use serde_json::{Value, json};

/// Lists the messages that the simulated provider accepted, in the order of sending. A 404 where a real provider sends.
pub(super) async fn list_simulated_outbox<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
) -> Result<Json<Value>, HttpProblem> {
    let Some(outbox) = &api.options.simulator else {
        return Err(HttpProblem::not_found("nothing is simulated here"));
    };
    Ok(Json(json!({ "items": outbox.list_messages() })))
}
