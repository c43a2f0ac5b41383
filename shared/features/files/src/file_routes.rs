//! Files: uploads one that is to be sent, and reads the stored one of a message.

use crate::message_file::{self, FileSource, MessageFileContent};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::ids::InstanceId;
use recado_domain::outgoing::{OutgoingError, UPLOAD_PREFIX};
use recado_http::api::context::Api;
use recado_http::api::message_fields::parse_message_id;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::BadRequest;
use recado_http::api::request::{Asked, PathParam, QueryParams, RequestBody};
use recado_http::problem::HttpProblem;
use recado_pipeline::upload;
use serde::{Deserialize, Serialize};

/// The largest file, in bytes. API Gateway passes at most 6 MB to a function, with the bytes in Base64.
const FILE_MAX: usize = 4 * 1024 * 1024;

/// The description of the file, as query parameters.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct UploadQuery {
    /// Name of the file.
    file_name: Option<String>,
}

/// A stored file.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UploadView {
    id: String,
    /// The text by which a message names the file.
    source: String,
    mime_type: String,
    bytes: usize,
}

/// Stores a file that is to be sent.
///
/// The body is the file, `Content-Type` its MIME type. The file is kept for at least a day. The answer holds the
/// `source` by which a message names the file.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/instances/{id}/media",
    params(("id" = String, Path, description = "Id of the instance"), UploadQuery),
    request_body(content_type = "*/*", description = "The file, of at most 4 MiB"),
    responses((status = 201, body = UploadView, description = "The file is stored"))
))]
pub async fn post_media(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(about): QueryParams<UploadQuery>,
    body: RequestBody,
) -> Result<(StatusCode, Json<UploadView>), HttpProblem> {
    let no_instance = || HttpProblem::not_found("there is no such instance");
    let instance = InstanceId::parse(&id).map_err(|_| no_instance())?;
    let mime_type = body
        .content_type()
        .map(str::trim)
        .filter(|value| !value.starts_with("multipart/"))
        .ok_or_else(|| HttpProblem::bad_request("Content-Type must be the file's MIME type"))?
        .to_owned();
    check_file_metadata(&mime_type, about.file_name.as_deref())
        .map_err(|error| HttpProblem::bad_request(error.to_string()))?;
    let deps = &api.deps;
    let bytes = body.read(FILE_MAX).await?;
    if bytes.is_empty() {
        return Err(HttpProblem::bad_request("the body must be the file"));
    }
    let (kind, name) = (mime_type.clone(), about.file_name);
    let stored = upload::store_upload(deps, &caller, &instance, kind, name, &bytes).await?;
    let source = stored.ok_or_else(no_instance)?;
    let view = UploadView {
        id: source.strip_prefix(UPLOAD_PREFIX).unwrap_or_default().to_owned(),
        source,
        mime_type,
        bytes: bytes.len(),
    };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Returns the stored file of a message.
///
/// It is 404 until the file is stored. On AWS it is a redirect to a URL that works for some minutes.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/messages/{id}/media",
    params(("id" = String, Path, description = "Id of the message")),
    responses(
        (status = 200, content_type = "*/*", description = "The bytes of the file"),
        (
            status = 307,
            description = "The file is read elsewhere",
            headers(("Location" = String, description = "URL of the file"))
        )
    )
))]
pub async fn get_media(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    let found = message_file::open_message_file(&api.deps, &caller, &parse_message_id(&id)?).await?;
    serve_file(found)
}

/// The end of a link to a file and its proof, as query parameters.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct FileLinkQuery {
    /// The second since 1970 until which the link is valid.
    until: i64,
    /// The proof that this installation made the link.
    proof: String,
}

/// Returns the stored file of a message by a link.
///
/// `media_url` of a message is such a link, valid for 15 minutes. It needs no token. On AWS `media_url` leads elsewhere.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/files/{id}",
    params(("id" = String, Path, description = "Id of the message"), FileLinkQuery),
    responses((status = 200, content_type = "*/*", description = "The bytes of the file"), BadRequest)
))]
pub async fn get_linked_file(
    State(api): State<Api>,
    PathParam(id): PathParam<String>,
    QueryParams(link): QueryParams<FileLinkQuery>,
) -> Result<Response, HttpProblem> {
    let id = parse_message_id(&id)?;
    serve_file(message_file::open_linked_file(&api.deps, &id, link.until, &link.proof).await?)
}

fn serve_file(found: Option<MessageFileContent>) -> Result<Response, HttpProblem> {
    let file = found.ok_or_else(|| HttpProblem::not_found("the message has no stored file"))?;
    let bytes = match file.source {
        FileSource::Url(url) => return Ok(Redirect::temporary(&url).into_response()),
        FileSource::Bytes(bytes) => bytes,
    };
    let headers = [
        (header::CONTENT_TYPE, file.mime_type),
        (header::CONTENT_LENGTH, file.length.to_string()),
        (header::CONTENT_DISPOSITION, file.disposition),
        // Whatever the file holds, a browser runs nothing of it.
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox".to_owned(),
        ),
    ];
    Ok((headers, Body::from_stream(bytes.into_stream())).into_response())
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
