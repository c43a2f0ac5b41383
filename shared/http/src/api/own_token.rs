//! `GET /v1/token`: what the token of the request opens.

use super::PERMISSIONS;
use super::tokens::TokenAccessView;
use axum::{Extension, Json};
use recado_domain::access::Caller;
use serde::Serialize;

/// The token of the request.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct OwnTokenView {
    #[serde(flatten)]
    access: TokenAccessView,
    /// The routes that the token opens, as `METHOD path`.
    routes: Vec<String>,
}

/// Returns name, role and tenant of the request's own token, and the routes that it opens.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/token",
    tag = "Tokens",
    responses((status = 200, body = OwnTokenView, description = "The token of the request"))
))]
pub(super) async fn get_own_token(Extension(caller): Extension<Caller>) -> Json<OwnTokenView> {
    let opened = PERMISSIONS
        .iter()
        .filter(|(_, _, permission)| caller.role.permits(*permission));
    Json(OwnTokenView {
        routes: opened
            .map(|(method, path, _)| format!("{method} {path}"))
            .collect(),
        access: TokenAccessView {
            tenant: caller.scope.tenant().cloned(),
            name: caller.name,
            role: caller.role,
        },
    })
}
