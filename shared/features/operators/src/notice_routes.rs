//! `GET /v1/instances/{id}/notices`: the provider's notices about an instance's account.

use axum::Json;
use recado_domain::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::notice::{Notice, NoticeKind};
use recado_http::api::request::{Asked, JsonAnswer, PathParam};
use recado_http::problem::HttpProblem;

use serde::Serialize;
use serde_json::Value;

/// The newest notices of an account.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoticesView {
    items: Vec<NoticeView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NoticeView {
    id: String,
    at: Timestamp,
    kind: NoticeKind,
    summary: String,
    details: Value,
}

impl From<Notice> for NoticeView {
    fn from(notice: Notice) -> Self {
        Self {
            id: notice.id.as_str().to_owned(),
            at: notice.at,
            kind: notice.kind,
            summary: notice.summary,
            details: notice.details,
        }
    }
}

/// Lists the provider's notices about the account of the instance (`account_id`), the newest first.
///
/// They tell of templates, quality, limits and restrictions: the newest 50 of 90 days.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/instances/{id}/notices",
    params(("id" = String, Path, description = "Id of the instance")),
    responses((status = 200, body = NoticesView, description = "The notices"))
))]
pub async fn list_notices(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<NoticesView> {
    let instance = InstanceId::parse(&id).map_err(|_| HttpProblem::not_found("there is no such instance"))?;
    let notices = crate::list_notices(&api.deps, &caller, &instance).await?;
    let items = notices.into_iter().map(NoticeView::from).collect();
    Ok(Json(NoticesView { items }))
}
