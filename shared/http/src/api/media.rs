//! `POST /v1/instances/{id}/media`: uploads a file that is to be sent.

use super::{ApiState, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use crate::query::{PathParam, QueryParams, read_body};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::ids::InstanceId;
use recado_domain::outgoing::{OutgoingError, UPLOAD_PREFIX};
use recado_pipeline::ports::ConfigurationStore;
use recado_pipeline::{Deps, upload};
use serde::Deserialize;
use serde_json::json;

/// The largest file, in bytes. API Gateway passes at most 6 MB to a function, with the bytes in Base64.
const FILE_MAX: usize = 4 * 1024 * 1024;

/// The description of the file, as query parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UploadQuery {
    file_name: Option<String>,
}

/// Stores the request's body as a file for at least a day and answers 201. The answer holds the `source` by which a
/// message names the file.
pub(super) async fn post_media<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
    QueryParams(about): QueryParams<UploadQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    let no_instance = || HttpProblem::not_found("there is no such instance");
    let instance = InstanceId::parse(&id).map_err(|_| no_instance())?;
    let mime_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map(str::trim)
        .filter(|value| !value.starts_with("multipart/"))
        .ok_or_else(|| HttpProblem::bad_request("Content-Type must be the file's MIME type"))?;
    check_file_metadata(mime_type, about.file_name.as_deref())
        .map_err(|error| HttpProblem::bad_request(error.to_string()))?;
    let deps = &*api.deps;
    let bytes = read_body(&headers, body, FILE_MAX).await?;
    if bytes.is_empty() {
        return Err(HttpProblem::bad_request("the body must be the file"));
    }
    deps.store()
        .instance_config(&instance)
        .await?
        .ok_or_else(no_instance)?;
    let source = upload::store_upload(deps, &instance, mime_type.to_owned(), about.file_name, &bytes).await?;
    let id = source.strip_prefix(UPLOAD_PREFIX).unwrap_or_default();
    let answer = json!({ "id": id, "source": source, "mime_type": mime_type, "bytes": bytes.len() });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// Checks the MIME type and the file name by the rules for a message's media.
fn check_file_metadata(mime_type: &str, file_name: Option<&str>) -> Result<(), OutgoingError> {
    let media = Media {
        mime_type: Some(mime_type.to_owned()),
        file_name: file_name.map(str::to_owned),
        source: Some(format!("{UPLOAD_PREFIX}{}", "0".repeat(32))),
        ..Media::from_kind(MediaKind::Document)
    };
    Content::Media(media).check_outgoing()
}
