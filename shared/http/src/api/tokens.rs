//! `/v1/tokens`: creates, lists and revokes the tokens of the API. `GET /v1/token`: what the token of the request opens.

#[cfg(feature = "schema")]
use crate::api::problem_answers::{Conflict, NotFound};
use crate::api::request::{Asked, JsonAnswer, PathParam, QueryParams, RequestBody, parse_page_request};
use crate::api::view::{ListView, answer_page};
use crate::problem::HttpProblem;
use crate::problem_code::ProblemCode;
use axum::Json;
use axum::http::StatusCode;
use recado_access as tokens;
use recado_access::{NewToken, TokenError};
use recado_domain::Timestamp;
use recado_domain::access::{Token, TokenRole};
use recado_domain::ids::{TenantId, TokenName};
use serde::{Deserialize, Serialize};

/// The name of a token, and what it opens.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TokenAccessView {
    name: TokenName,
    /// The tenant that the token is limited to. `null`: the whole installation.
    tenant: Option<TenantId>,
    role: TokenRole,
}

/// The token of the request.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OwnTokenView {
    #[serde(flatten)]
    access: TokenAccessView,
    /// The routes that the token opens, as `METHOD path`.
    routes: Vec<String>,
}

/// Returns name, role and tenant of the request's own token, and the routes that it opens.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/token",
    responses((status = 200, body = OwnTokenView, description = "The token of the request"))
))]
#[expect(clippy::unused_async, reason = "handlers are async")]
pub async fn get_own_token(Asked(api, caller): Asked) -> Json<OwnTokenView> {
    let opened = api
        .permissions
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

/// A token, without its text.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TokenView {
    #[serde(flatten)]
    access: TokenAccessView,
    created_at: Timestamp,
    /// Name of the token that created this one.
    created_by: TokenName,
    /// Time from which the token is refused. `null`: it does not expire.
    expires_at: Option<Timestamp>,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        Self {
            access: TokenAccessView {
                name: token.name,
                tenant: token.tenant,
                role: token.role,
            },
            created_at: token.created_at,
            created_by: token.created_by,
            expires_at: token.expires_at,
        }
    }
}

/// A token that was created.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CreatedTokenView {
    #[serde(flatten)]
    token: TokenView,
    /// The token itself. It is shown here and never again.
    secret: String,
}

/// The token to create.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"name": "front desk", "role": "operator", "tenant": "clinic"})))]
struct TokenRequest {
    /// A name that no other token of the same tenant has. Records of what the token's holder did hold it.
    name: TokenName,
    role: TokenRole,
    /// The tenant that the token is limited to. If absent, the token opens what the creating one opens.
    tenant: Option<TenantId>,
    expires_at: Option<Timestamp>,
}

/// Creates a token. Its text stands in the answer and can never be read again.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/tokens",
    request_body = TokenRequest,
    responses((status = 201, body = CreatedTokenView, description = "The token"), NotFound, Conflict)
))]
pub async fn post_token(
    Asked(api, caller): Asked,
    body: RequestBody,
) -> Result<(StatusCode, Json<CreatedTokenView>), HttpProblem> {
    let wanted: TokenRequest = body.parse().await?;
    let new = NewToken {
        name: wanted.name,
        tenant: wanted.tenant,
        role: wanted.role,
        expires_at: wanted.expires_at,
    };
    let created = tokens::create_token(&api.deps, &caller, new).await?;
    let view = CreatedTokenView {
        token: created.token.into(),
        secret: created.text.expose_secret().to_owned(),
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// The filter and the page of the list of tokens.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TokenListQuery {
    /// Only of this tenant.
    tenant: Option<TenantId>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists tokens, without their texts. An expired token is listed until it is revoked.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/tokens",
    params(TokenListQuery),
    responses((status = 200, body = ListView<TokenView>, description = "A page of tokens"))
))]
pub async fn list_tokens(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<TokenListQuery>,
) -> JsonAnswer<ListView<TokenView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = tokens::list_tokens(&api.deps, &caller, wanted.tenant.as_ref(), &page).await;
    answer_page(found, &page, TokenView::from)
}

/// The tenant of the token to revoke.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TokenTenantQuery {
    /// The tenant that the token is limited to. If absent, the token is one of the whole installation, or of the only
    /// tenant that the caller's token opens.
    tenant: Option<TenantId>,
}

/// Revokes a token. On AWS it may be accepted for another 30 seconds (`RECADO_CONFIG_TTL_SECONDS`).
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/tokens/{name}",
    params(("name" = String, Path, description = "Name of the token"), TokenTenantQuery),
    responses((status = 204, description = "The token is revoked"))
))]
pub async fn delete_token(
    Asked(api, caller): Asked,
    PathParam(name): PathParam<String>,
    QueryParams(of): QueryParams<TokenTenantQuery>,
) -> Result<StatusCode, HttpProblem> {
    let name = TokenName::parse(&name).map_err(|_| TokenError::NotFound("token"))?;
    tokens::revoke_token(&api.deps, &caller, of.tenant.as_ref(), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<TokenError> for HttpProblem {
    fn from(error: TokenError) -> Self {
        let (status, code) = match &error {
            TokenError::NotFound(_) => (StatusCode::NOT_FOUND, None),
            TokenError::Name => (StatusCode::BAD_REQUEST, Some(ProblemCode::TokenName)),
            TokenError::Expired => (StatusCode::BAD_REQUEST, Some(ProblemCode::TokenExpired)),
            TokenError::NameTaken => (StatusCode::CONFLICT, Some(ProblemCode::TokenNameTaken)),
            TokenError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string()).with_code(code)
    }
}
