//! `/simulator/outbox`: what the simulated provider took.

use super::{Api, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use axum::Json;
use axum::extract::State;
use recado_pipeline::World;
use serde_json::{Value, json};

/// What it took, in the order in which it was sent; 404 where a real provider sends.
pub(super) async fn outbox<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
) -> Result<Json<Value>, Problem> {
    let Some(outbox) = &api.options.simulator else {
        return Err(Problem::not_found("nothing is simulated here"));
    };
    Ok(Json(json!({ "items": outbox.list() })))
}
