//! `GET /v1/token`: what the token of the request opens.

use super::permissions::PERMISSIONS;
use super::tokens::TokenRoleSchema;
use axum::{Extension, Json};
use recado_domain::access::{Caller, TokenRole};
use recado_domain::ids::{TenantId, TokenName};
use serde::Serialize;
use utoipa::ToSchema;

/// The token of the request.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OwnTokenView {
    #[schema(value_type = String)]
    name: TokenName,
    #[schema(value_type = TokenRoleSchema)]
    role: TokenRole,
    /// The tenant that the token is limited to. `null`: the whole installation.
    #[schema(value_type = Option<String>)]
    tenant: Option<TenantId>,
    /// The routes that the token opens, as `METHOD path`.
    routes: Vec<String>,
}

/// Returns name, role and tenant of the request's own token, and the routes that it opens.
#[utoipa::path(
    get,
    path = "/v1/token",
    tag = "Tokens",
    responses((status = 200, body = OwnTokenView, description = "The token of the request"))
)]
pub(super) async fn get_own_token(Extension(caller): Extension<Caller>) -> Json<OwnTokenView> {
    let opened = PERMISSIONS
        .iter()
        .filter(|(_, _, permission)| caller.role.permits(*permission));
    Json(OwnTokenView {
        routes: opened
            .map(|(method, path, _)| format!("{method} {path}"))
            .collect(),
        tenant: caller.scope.tenant().cloned(),
        name: caller.name,
        role: caller.role,
    })
}
