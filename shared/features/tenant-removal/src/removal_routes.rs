//! `DELETE /v1/tenants/{id}`: removes a tenant.

use crate::{RemovalError, RemovalOptions, RemovalReport};
use axum::Json;
use axum::http::StatusCode;
use recado_domain::ids::TenantId;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::Conflict;
use recado_http::api::request::{Asked, JsonAnswer, PathParam, QueryParams};
use recado_http::problem::HttpProblem;

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
    params(("id" = String, Path, description = "Id of the tenant"), RemovalOptions),
    responses((status = 200, body = RemovalReport, description = "What was removed"), Conflict)
))]
pub async fn delete_tenant(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(options): QueryParams<RemovalOptions>,
) -> JsonAnswer<RemovalReport> {
    let tenant = TenantId::parse(&id).map_err(|_| RemovalError::NotFound)?;
    let removed = crate::remove_tenant(&api.deps, &caller, &tenant, options).await?;
    Ok(Json(removed))
}
