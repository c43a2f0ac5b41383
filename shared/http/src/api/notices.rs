//! `GET /v1/instances/{id}/notices`.

use super::{Api, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::Segment;
use axum::Json;
use axum::extract::State;
use recado_domain::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::notice::{Notice, NoticeKind};
use recado_pipeline::{World, operate};
use serde::Serialize;
use serde_json::Value;

/// The newest notices of an account.
#[derive(Debug, Serialize)]
pub(super) struct NoticesView {
    items: Vec<NoticeView>,
}

#[derive(Debug, Serialize)]
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

/// What the provider told of the instance's account (`account_id`), the newest first.
pub(super) async fn list<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
) -> Result<Json<NoticesView>, Problem> {
    let instance = InstanceId::parse(&id).map_err(|_| Problem::not_found("there is no such instance"))?;
    let notices = operate::notices(&*api.world, &instance).await?;
    let items = notices.into_iter().map(NoticeView::from).collect();
    Ok(Json(NoticesView { items }))
}
