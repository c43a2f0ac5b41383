//! `/v1/webhooks`: the endpoints of a tenant to which its published events are posted.

pub mod failed_events;
pub mod posts;
mod view;

use crate::asked_of_events::AskedOfEvents;
use crate::endpoint_routes::view::EndpointView;
use crate::{ConfiguredEndpoint, WebhookError, derive_signing_secret, rotate_signing_secret};
use axum::Json;
use axum::http::StatusCode;
use recado_configuration::{EndpointChange, change_webhook_endpoints};
use recado_domain::config::WebhookEndpoint;
use recado_domain::ids::WebhookEndpointId;
use recado_domain::provider::Provider;
use recado_domain::published_event::KindFilter;
use recado_domain::webhook_endpoint::SigningSalts;
use recado_http::api::context::Api;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, NotFound, Unprocessable};
use recado_http::api::request::{
    JsonAnswer, PathParam, QueryParams, RequestBody, TenantQuery, parse_overlap,
};
use recado_http::api::view::{ListError, ListView};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

impl From<WebhookError> for HttpProblem {
    fn from(error: WebhookError) -> Self {
        match error {
            WebhookError::Tenant(error) => error.into(),
            WebhookError::NoEndpoint | WebhookError::NoFailedEvent => Self::not_found(error.to_string()),
            WebhookError::Port(error) => Self::from_port_error(&error),
        }
    }
}

impl ListError for WebhookError {
    fn is_unreadable_input(&self) -> bool {
        matches!(self, Self::Port(error) if error.is_unreadable_input())
    }
}

/// The fields of an endpoint that may be changed.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"url": "https://crm.example.org/recado", "disabled": true})))]
struct EndpointFields {
    /// URL: https, or http to this machine or a private network, where `RECADO_PRIVATE_TOOLS` allows such hosts.
    url: String,
    /// The kinds of events that are posted: a kind, or a group (`message.*`). If absent, all are.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>, required = false))]
    kinds: Vec<KindFilter>,
    /// `true` if nothing is posted. What happens meanwhile is posted later, as far as it is kept.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = false, default = false))]
    disabled: bool,
}

/// An endpoint with its signing secret, which is shown only here.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EndpointSecretView {
    #[serde(flatten)]
    endpoint: EndpointView,
    /// The secret with which posts are signed, as Standard Webhooks writes it.
    #[cfg_attr(
        feature = "schema",
        schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    )]
    secret: String,
}

/// The options of a rotation of a signing secret.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", schema(example = json!({"overlap_seconds": 3600})))]
struct SigningRotation {
    /// Seconds for which posts are signed with the secret before, too. If absent, a day; 0 for a secret that leaked.
    #[cfg_attr(feature = "schema", schema(maximum = 2_592_000))]
    overlap_seconds: Option<u64>,
}

/// Lists the endpoints of a tenant, with the state of their posts.
///
/// An endpoint gets the published events of its tenant as signed posts (Standard Webhooks).
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/webhooks",
    params(TenantQuery),
    responses(
        (status = 200, body = ListView<EndpointView>, description = "The endpoints"),
        NotFound
    )
))]
pub async fn list_webhook_endpoints(
    AskedOfEvents(api, caller): AskedOfEvents,
    QueryParams(of): QueryParams<TenantQuery>,
) -> JsonAnswer<ListView<EndpointView>> {
    let found = crate::list_endpoints(&api.deps, &caller, of.tenant.as_ref()).await?;
    Ok(Json(ListView::from_items(
        found.into_iter().map(EndpointView::from),
    )))
}

/// Adds an endpoint, and returns its signing secret, which is shown only here.
///
/// It is told what is published from now on.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/webhooks",
    params(TenantQuery),
    request_body = WebhookEndpoint,
    responses(
        (status = 201, body = EndpointSecretView, description = "The endpoint with its signing secret"),
        NotFound,
        Conflict,
        Unprocessable
    )
))]
pub async fn post_webhook_endpoint(
    AskedOfEvents(api, caller): AskedOfEvents,
    QueryParams(of): QueryParams<TenantQuery>,
    body: RequestBody,
) -> Result<(StatusCode, Json<EndpointSecretView>), HttpProblem> {
    let new: WebhookEndpoint = body.parse().await?;
    let tenant = crate::choose_endpoint_tenant(&api.deps, &caller, of.tenant.as_ref()).await?;
    let id = new.id.clone();
    let change = EndpointChange::Create(new);
    change_webhook_endpoints(&api.deps, &caller, &tenant, &change).await?;
    let made = crate::begin_posts(&api.deps, &caller, &tenant, id.as_str()).await?;
    Ok((StatusCode::CREATED, Json(show_secret(&api, made).await?)))
}

/// Returns an endpoint with the state of its posts.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/webhooks/{id}",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantQuery),
    responses((status = 200, body = EndpointView, description = "The endpoint"))
))]
pub async fn get_webhook_endpoint(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(of): QueryParams<TenantQuery>,
) -> JsonAnswer<EndpointView> {
    let found = crate::read_endpoint(&api.deps, &caller, of.tenant.as_ref(), &id).await?;
    Ok(Json(found.into()))
}

/// Replaces what an endpoint is told, and where. Its place and its secret stay.
#[cfg_attr(feature = "schema", utoipa::path(
    put,
    path = "/v1/webhooks/{id}",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantQuery),
    request_body = EndpointFields,
    responses(
        (status = 200, body = EndpointView, description = "The endpoint"),
        Unprocessable
    )
))]
pub async fn put_webhook_endpoint(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(of): QueryParams<TenantQuery>,
    body: RequestBody,
) -> JsonAnswer<EndpointView> {
    let fields: EndpointFields = body.parse().await?;
    let tenant = crate::choose_endpoint_tenant(&api.deps, &caller, of.tenant.as_ref()).await?;
    let id = WebhookEndpointId::parse(&id).map_err(|_| WebhookError::NoEndpoint)?;
    let change = EndpointChange::Replace(WebhookEndpoint {
        id: id.clone(),
        url: fields.url,
        kinds: fields.kinds,
        disabled: fields.disabled,
    });
    change_webhook_endpoints(&api.deps, &caller, &tenant, &change).await?;
    let found = crate::read_endpoint(&api.deps, &caller, Some(&tenant), id.as_str()).await?;
    Ok(Json(found.into()))
}

/// Removes an endpoint, with its place and its failed events.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/webhooks/{id}",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantQuery),
    responses((status = 204, description = "The endpoint is removed"))
))]
pub async fn delete_webhook_endpoint(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(of): QueryParams<TenantQuery>,
) -> Result<StatusCode, HttpProblem> {
    let tenant = crate::choose_endpoint_tenant(&api.deps, &caller, of.tenant.as_ref()).await?;
    let id = WebhookEndpointId::parse(&id).map_err(|_| WebhookError::NoEndpoint)?;
    let change = EndpointChange::Remove(id);
    change_webhook_endpoints(&api.deps, &caller, &tenant, &change).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives an endpoint a new signing secret, which is shown only here.
///
/// Posts are signed with the secret before, too, for the overlap: a receiver that knows one of them finds its signature.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/webhooks/{id}/secret/rotate",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantQuery),
    request_body = Option<SigningRotation>,
    responses((status = 200, body = EndpointSecretView, description = "The endpoint with its new secret"))
))]
pub async fn post_signing_rotation(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(of): QueryParams<TenantQuery>,
    body: RequestBody,
) -> JsonAnswer<EndpointSecretView> {
    let asked: SigningRotation = body.parse_optional().await?;
    let overlap = parse_overlap(asked.overlap_seconds, SigningSalts::OVERLAP)?;
    let rotated = rotate_signing_secret(&api.deps, &caller, of.tenant.as_ref(), &id, overlap).await?;
    Ok(Json(show_secret(&api, rotated).await?))
}

/// Adds the present signing secret to an endpoint. It is made of the master secret from which webhook secrets are derived.
async fn show_secret(api: &Api, found: ConfiguredEndpoint) -> Result<EndpointSecretView, HttpProblem> {
    let of = (&found.tenant, &found.endpoint.id);
    let mut secret = None;
    // The same master serves every provider whose secrets are derived.
    for provider in Provider::ALL {
        let keys = api.keys.webhook_keys(provider).await?;
        if let (Some(master), Some(state)) = (keys.masters.first(), &found.state) {
            secret = Some(derive_signing_secret(master, of, &state.salts.current));
            break;
        }
    }
    let secret = secret.ok_or_else(|| {
        HttpProblem::new(
            StatusCode::CONFLICT,
            "this installation has no master secret from which signing secrets are derived",
        )
    })?;
    Ok(EndpointSecretView {
        secret: secret.expose_secret().to_owned(),
        endpoint: found.into(),
    })
}
