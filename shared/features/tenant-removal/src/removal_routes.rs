//! `DELETE /v1/tenants/{id}`: removes a tenant.

use crate::{RemovalError, RemovalOptions, RemovalReport};
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::ids::TenantId;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::Conflict;
use recado_http::api::request::{Asked, JsonAnswer};
use recado_http::problem::HttpProblem;
use recado_http::query::{PathParam, QueryParams};
use serde::{Deserialize, Serialize};

/// The options of a removal.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TenantRemovalQuery {
    /// `true`: removed also if the tenant still owes replies.
    #[serde(default)]
    #[cfg_attr(feature = "schema", param(required = false, default = false))]
    force: bool,
    /// `true`: nothing is removed; the answer tells what there is, at most 1,000 of a kind.
    #[serde(default)]
    #[cfg_attr(feature = "schema", param(required = false, default = false))]
    dry_run: bool,
}

/// What one request removed of a tenant, in numbers; with `dry_run`, what there is.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TenantRemovalView {
    /// `true`: nothing of the tenant is left. `false`: the request must be repeated.
    done: bool,
    /// Time at which the request must be repeated; if absent, at once. Until then workers may still work for the tenant.
    waits_until: Option<Timestamp>,
    agents: usize,
    instances: usize,
    /// Tokens of the tenant.
    tokens: usize,
    conversations: usize,
    messages: usize,
    /// Events that were not applied yet.
    events: usize,
    /// Dead letters and their copies.
    dead_letters: usize,
    /// Messages that were to be sent later.
    scheduled: usize,
    /// Other records, such as states, notes and alerts.
    records: usize,
}

impl From<RemovalReport> for TenantRemovalView {
    fn from(report: RemovalReport) -> Self {
        Self {
            done: report.done,
            waits_until: report.waits_until,
            agents: report.agents,
            instances: report.instances,
            tokens: report.tokens,
            conversations: report.conversations,
            messages: report.messages,
            events: report.events,
            dead_letters: report.dead_letters,
            scheduled: report.scheduled,
            records: report.records,
        }
    }
}

impl From<RemovalError> for HttpProblem {
    fn from(error: RemovalError) -> Self {
        let status = match &error {
            RemovalError::NotFound => StatusCode::NOT_FOUND,
            RemovalError::OtherScope => StatusCode::FORBIDDEN,
            RemovalError::StillOwes(_) => StatusCode::CONFLICT,
            RemovalError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string())
    }
}

/// Removes a tenant with everything that is stored of it, for good.
///
/// One request removes a part, and is repeated until `done`. From the first one on the tenant does not work: its webhooks
/// are acknowledged and ignored. The entries of the audit stay until they expire. Only a token of the whole installation may
/// do this.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/tenants/{id}",
    params(("id" = String, Path, description = "Id of the tenant"), TenantRemovalQuery),
    responses((status = 200, body = TenantRemovalView, description = "What was removed"), Conflict)
))]
pub async fn delete_tenant(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantRemovalQuery>,
) -> JsonAnswer<TenantRemovalView> {
    let tenant = TenantId::parse(&id).map_err(|_| RemovalError::NotFound)?;
    let options = RemovalOptions {
        force: wanted.force,
        dry_run: wanted.dry_run,
    };
    let removed = crate::remove_tenant(&api.deps, &caller, &tenant, options).await?;
    Ok(Json(removed.into()))
}
