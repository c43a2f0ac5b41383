//! `/simulator`: lists the messages that the simulated provider accepted, and takes a customer's message in its place.

use axum::http::StatusCode;
use axum::{Extension, Json};
use recado_domain::access::Scope;
use recado_domain::config::Instance;
use recado_domain::ids::{CorrelationId, InstanceId};
#[cfg(test)]
use recado_http::api::problem_answers::{Conflict, NotFound};
use recado_http::api::request::{Asked, JsonAnswer, RequestBody};
use recado_http::problem::HttpProblem;
use recado_pipeline::ingest;
use recado_whatsapp::{SimulatedInbound, SimulatedMessage, split_webhook, write_simulated_webhook};
use serde::{Deserialize, Serialize};

/// The longest name and the longest text, in characters.
const NAME_MAX: usize = 100;
const TEXT_MAX: usize = 4_096;

/// The messages that the simulated provider accepted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SimulatedOutboxView {
    items: Vec<SimulatedMessage>,
}

/// Lists the messages that the simulated provider accepted, in the order of sending.
///
/// A 404 on AWS, and where nothing is simulated.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/simulator/outbox",
    responses((status = 200, body = SimulatedOutboxView, description = "The messages"), NotFound)
))]
pub(crate) async fn list_simulated_outbox(Asked(api, caller): Asked) -> JsonAnswer<SimulatedOutboxView> {
    let Some(outbox) = &api.options.simulator else {
        return Err(HttpProblem::not_found("nothing is simulated here"));
    };
    let items = match &caller.scope {
        Scope::Installation => outbox.list_messages(),
        Scope::Tenant(_) => {
            let own = recado_configuration::read_configuration(&api.deps, &caller)
                .await?
                .instances;
            outbox.list_messages_of(|id| own.iter().any(|instance| instance.id == *id))
        }
    };
    Ok(Json(SimulatedOutboxView { items }))
}

/// A message that a person writes as a customer.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schema(example = json!({"instance_id": "suporte-01", "from": "+55 11 90000-0002", "name": "Maria", "text": "Oi!"})))]
struct SimulatedMessageRequest {
    /// The simulated instance to which the message goes.
    instance_id: InstanceId,
    /// The customer's number, in any spelling with the country's code.
    from: String,
    /// The name that the customer gives itself.
    #[serde(default)]
    name: String,
    text: String,
}

/// A customer's message that was taken.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SimulatedMessageView {
    /// The id that the simulated provider gave the message.
    provider_message_id: String,
}

/// Takes a message as if a customer had written it to a simulated instance.
///
/// It goes the way of a webhook of the instance's provider. A 404 on AWS, and where nothing is simulated; a 409 if this
/// instance is not simulated, since its answer would reach a real phone.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/simulator/messages",
    request_body = SimulatedMessageRequest,
    responses(
        (status = 202, body = SimulatedMessageView, description = "The message is stored and queued"),
        NotFound,
        Conflict
    )
))]
pub(crate) async fn post_simulated_message(
    Asked(api, caller): Asked,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> Result<(StatusCode, Json<SimulatedMessageView>), HttpProblem> {
    if api.options.simulator.is_none() {
        return Err(HttpProblem::not_found("nothing is simulated here"));
    }
    let request: SimulatedMessageRequest = body.parse().await?;
    let phone = check_message(&request)?;
    let deps = &api.deps;
    let instance: Instance =
        recado_configuration::find_entry(deps, &caller, request.instance_id.as_str()).await?;
    let refused = |why: &str| HttpProblem::new(StatusCode::CONFLICT, why);
    if !deps.providers().is_simulated(&instance).await {
        return Err(refused(
            "the instance is not simulated: the answer would reach a phone",
        ));
    }
    let now = deps.system().now();
    let id = format!("sim-in-{:016x}", deps.system().random_u64());
    let message = SimulatedInbound {
        phone: &phone,
        name: &request.name,
        text: &request.text,
        id: &id,
        at: now,
    };
    let external = instance.resolve_external_id();
    let webhook =
        external.and_then(|external| write_simulated_webhook(instance.provider, &external, &message));
    let webhook =
        webhook.ok_or_else(|| refused("messages to this provider's instances cannot be simulated"))?;
    let items = split_webhook(instance.provider, webhook.to_string().as_bytes(), now)
        .map_err(|error| HttpProblem::bad_request(error.to_string()))?;
    ingest::ingest(deps, items, &correlation).await?;
    let view = SimulatedMessageView {
        provider_message_id: id,
    };
    Ok((StatusCode::ACCEPTED, Json(view)))
}

/// Checks the fields of a message. Returns the digits of the number.
fn check_message(request: &SimulatedMessageRequest) -> Result<String, HttpProblem> {
    let digits: String = request.from.chars().filter(char::is_ascii_digit).collect();
    let is_number = request
        .from
        .chars()
        .all(|char| char.is_ascii_digit() || "+-(). ".contains(char));
    if !is_number || !(8..=15).contains(&digits.len()) {
        return Err(HttpProblem::bad_request(
            "from must be a phone number with its country's code",
        ));
    }
    let length = request.text.trim().chars().count();
    if !(1..=TEXT_MAX).contains(&length) {
        return Err(HttpProblem::bad_request(format!(
            "text must have 1 to {TEXT_MAX} characters"
        )));
    }
    if request.name.chars().count() > NAME_MAX {
        return Err(HttpProblem::bad_request(format!(
            "name must have at most {NAME_MAX} characters"
        )));
    }
    Ok(digits)
}
