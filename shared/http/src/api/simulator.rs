//! `GET /simulator/outbox`: the messages that the simulated provider accepted.

use super::problem_answers::NotFound;
use super::schema::SimulatedMessageSchema;
use super::{Api, ApiContext};
use crate::problem::HttpProblem;
use axum::extract::State;
use axum::{Extension, Json};
use recado_domain::access::{Caller, Scope};
use recado_pipeline::configure;
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
    Extension(caller): Extension<Caller>,
) -> Result<Json<SimulatedOutboxView>, HttpProblem> {
    let Some(outbox) = &api.options.simulator else {
        return Err(HttpProblem::not_found("nothing is simulated here"));
    };
    let items = match &caller.scope {
        Scope::Installation => outbox.list_messages(),
        Scope::Tenant(_) => {
            let own = configure::read_configuration(&*api.deps, &caller)
                .await?
                .instances;
            outbox.list_messages_of(|id| own.iter().any(|instance| instance.id == *id))
        }
    };
    Ok(Json(SimulatedOutboxView { items }))
}
