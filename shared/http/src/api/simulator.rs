//! `GET /simulator/outbox`: the messages that the simulated provider accepted.

use super::problem_answers::NotFound;
use super::schema::SimulatedMessageSchema;
use super::{Api, ApiContext};
use crate::problem::HttpProblem;
use axum::Json;
use axum::extract::State;
use recado_whatsapp::SimulatedMessage;
use serde::Serialize;
use utoipa::ToSchema;

/// The messages that the simulated provider accepted.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SimulatedOutboxView {
    #[schema(value_type = Vec<SimulatedMessageSchema>)]
    items: Vec<SimulatedMessage>,
}

/// Lists the messages that the simulated provider accepted, in the order of sending.
///
/// A 404 on AWS, and where nothing is simulated.
#[utoipa::path(
    get,
    path = "/simulator/outbox",
    tag = "Traces",
    responses((status = 200, body = SimulatedOutboxView, description = "The messages"), NotFound)
)]
pub(super) async fn list_simulated_outbox(
    State(api): State<Api<impl ApiContext>>,
) -> Result<Json<SimulatedOutboxView>, HttpProblem> {
    let Some(outbox) = &api.options.simulator else {
        return Err(HttpProblem::not_found("nothing is simulated here"));
    };
    let items = outbox.list_messages();
    Ok(Json(SimulatedOutboxView { items }))
}
