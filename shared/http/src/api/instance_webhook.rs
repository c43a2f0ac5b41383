//! `/v1/instances/{id}/webhook`: shows what is to be set up at an instance's provider.

use super::config::{WebhookSetupView, WebhookSetups};
#[cfg(test)]
use super::problem_answers::NotFound;
use super::request::{Asked, JsonAnswer};
use crate::query::PathParam;
use axum::Json;
use recado_domain::config::Instance;
use recado_pipeline::audit;
use recado_pipeline::configure;

/// Returns the webhook URL and secret of an instance, as they are to be entered at its provider.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/instances/{id}/webhook",
    params(("id" = String, Path, description = "Id of the instance")),
    responses(
        (status = 200, body = WebhookSetupView, description = "The webhook settings, with their secret"),
        NotFound
    )
))]
pub(super) async fn get_instance_webhook(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<WebhookSetupView> {
    let instance: Instance = configure::find_entry(&api.deps, &caller, &id).await?;
    audit::note_secret_read(&api.deps, &caller, &instance).await?;
    let site = WebhookSetups::for_instances(&api, std::slice::from_ref(&instance)).await?;
    Ok(Json(site.setup_view(&instance, true)))
}
