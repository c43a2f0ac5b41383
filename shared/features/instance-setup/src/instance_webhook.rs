//! `/v1/instances/{id}/webhook`: shows what is to be set up at an instance's provider.

use axum::Json;
use recado_configuration::document_routes::{WebhookSetupView, WebhookSetups};
use recado_configuration::find_entry;
use recado_configuration::secret_reads::note_secret_read;
use recado_domain::config::Instance;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, JsonAnswer, PathParam};

/// Returns the webhook URL and secret of an instance, as they are to be entered at its provider.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/instances/{id}/webhook",
    params(("id" = String, Path, description = "Id of the instance")),
    responses(
        (status = 200, body = WebhookSetupView, description = "The webhook settings, with their secret"),
        NotFound
    )
))]
pub async fn get_instance_webhook(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<WebhookSetupView> {
    let instance: Instance = find_entry(&api.deps, &caller, &id).await?;
    note_secret_read(&api.deps, &caller, &instance).await?;
    let site = WebhookSetups::for_instances(&api, std::slice::from_ref(&instance)).await?;
    Ok(Json(site.setup_view(&instance, true)))
}
