//! `POST /v1/instances/{id}/connect`, `/pairing` and `/check`: sets an instance up at its provider.

use axum::Json;
use axum::http::StatusCode;
use futures::future::{Either, select};
use recado_configuration::document_routes::is_own_app_proven;
use recado_configuration::find_entry;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::config::Instance;
use recado_domain::ids::InstanceId;
use recado_domain::secret::Secret;
use recado_http::api::context::Api;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{BadGateway, Conflict, Unprocessable};
use recado_http::api::provider_setup::{ConnectRequest, SetupAction, SetupAnswer, SetupCheck, SetupRequest};
use recado_http::api::request::{Asked, JsonAnswer, PathParam, RequestBody};
use recado_http::problem::HttpProblem;
use recado_pipeline::steps::audit::audit_action;
use recado_whatsapp::describe_webhook_setup;
use serde::Serialize;
use std::pin::pin;
use std::time::Duration;

/// Longest time for all that a provider is asked for one request. The function on AWS has 29 s.
const TIMEOUT: Duration = Duration::from_secs(25);

/// The result of connecting.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConnectView {
    instance: InstanceId,
    connected: bool,
    /// Steps that were taken, or are left to a person.
    steps: Vec<String>,
    /// Reason why the instance is not connected.
    error: Option<String>,
}

/// The codes with which a phone is paired. Anyone who has one can pair a phone.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PairingView {
    instance: InstanceId,
    /// `true` if a phone is connected, and nothing is to be paired.
    connected: bool,
    /// Content of the QR code. It is valid for less than a minute.
    code: Option<String>,
    /// Code that can be typed into the phone, if Evolution gave one.
    pairing_code: Option<String>,
}

/// The results of the checks of an instance's setup.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SetupChecksView {
    instance: InstanceId,
    checks: Vec<SetupCheck>,
}

/// Sets an instance's webhook at its provider, and checks that webhooks would arrive.
///
/// Evolution: the webhook is set, unless its URL does not lead here, and read back. Meta and 360dialog: what a person has to
/// enter is told, and the app is subscribed. The instance's key is sent to the provider's host alone, which must be the
/// installation's own or one of `RECADO_ONBOARDING_HOSTS`.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/instances/{id}/connect",
    params(("id" = String, Path, description = "Id of the instance")),
    request_body = Option<ConnectRequest>,
    responses(
        (status = 200, body = ConnectView, description = "The steps, and whether the instance is connected"),
        Conflict,
        Unprocessable,
        BadGateway
    )
))]
pub async fn post_connect(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    body: RequestBody,
) -> JsonAnswer<ConnectView> {
    let wanted: ConnectRequest = body.parse_optional().await?;
    let (instance, done) = set_up_instance(&api, &caller, &id, SetupAction::Connect(wanted)).await?;
    Ok(Json(ConnectView {
        instance,
        connected: done.error.is_none(),
        steps: done.steps,
        error: done.error,
    }))
}

/// Starts the pairing of a phone with an instance of Evolution, and returns the QR code.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/instances/{id}/pairing",
    params(("id" = String, Path, description = "Id of the instance")),
    responses(
        (status = 200, body = PairingView, description = "The codes; without any, ask again in some seconds"),
        Conflict,
        Unprocessable,
        BadGateway
    )
))]
pub async fn post_pairing(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<PairingView> {
    let (instance, done) = set_up_instance(&api, &caller, &id, SetupAction::Pair).await?;
    let shown = |code: &Secret| code.expose_secret().to_owned();
    let pairing = done.pairing.as_ref();
    Ok(Json(PairingView {
        instance,
        connected: pairing.is_some_and(|pairing| pairing.is_open),
        code: pairing.and_then(|pairing| pairing.code.as_ref()).map(shown),
        pairing_code: pairing.and_then(|pairing| pairing.words.as_ref()).map(shown),
    }))
}

/// Checks an instance's setup at its provider: the key, the connection, the webhook, the clocks.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/instances/{id}/check",
    params(("id" = String, Path, description = "Id of the instance")),
    responses(
        (status = 200, body = SetupChecksView, description = "The results"),
        Conflict,
        Unprocessable
    )
))]
pub async fn post_check(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<SetupChecksView> {
    let (instance, done) = set_up_instance(&api, &caller, &id, SetupAction::Check).await?;
    Ok(Json(SetupChecksView {
        instance,
        checks: done.checks,
    }))
}

/// Carries out an action at the provider of an instance within the caller's scope, after it was audited.
///
/// The webhook's URL is the configured one and never that of the request: the secret is posted there.
async fn set_up_instance(
    api: &Api,
    caller: &Caller,
    id: &str,
    action: SetupAction,
) -> Result<(InstanceId, SetupAnswer), HttpProblem> {
    let taken = match action {
        SetupAction::Connect { .. } => AuditAction::InstanceConnected,
        SetupAction::Pair => AuditAction::PairingStarted,
        SetupAction::Check => AuditAction::SetupChecked,
    };
    let instance: Instance = find_entry(&api.deps, caller, id).await?;
    let begun = taken.on_object(Some(&instance.tenant), "instance", instance.id.as_str());
    audit_action(&api.deps, caller, begun).await?;
    tracing::info!(by = %caller.name, instance_id = %instance.id, action = taken.as_str(), "at the provider");
    let not_here = |why: &str| HttpProblem::new(StatusCode::CONFLICT, why);
    let Some(setup) = &api.options.provider_setup else {
        return Err(not_here("this process sets no instance up"));
    };
    let Some(public) = &api.options.public_url else {
        return Err(not_here(
            "it is not known where providers reach this installation: set RECADO_PUBLIC_URL",
        ));
    };
    let keys = api.keys.webhook_keys(instance.provider).await?;
    let mut webhook = describe_webhook_setup(&instance, &keys, public.trim_end_matches('/'), true);
    webhook.proof_set &= is_own_app_proven(api, &instance).await?;
    let request = SetupRequest {
        instance,
        webhook,
        action,
    };
    let name = request.instance.id.clone();
    let limit = api.deps.system().sleep(TIMEOUT);
    match select(setup.set_up(request), pin!(limit)).await {
        Either::Left((done, _)) => Ok((name, done?)),
        Either::Right(_) => Err(HttpProblem::new(
            StatusCode::BAD_GATEWAY,
            "the provider took too long; ask again, or look with check what is set",
        )),
    }
}
