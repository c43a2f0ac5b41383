//! Fetches files from Evolution: by the URL of its own store, or in Base64 through its API.

use super::send::EvolutionEndpoint;
use crate::wire::file_download::{DownloadClients, download_file, file_unavailable};
use crate::wire::http_exchange::{ANSWER_TOO_LARGE, HttpExchange, RawResponse, build_url, receive_response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::message::FileLoss;
use recado_ports::ports::{FetchedFile, FileBytes, FileError, FileRequest};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// Number of bytes of an answer beside the Base64 of the file.
const AROUND_FILE: u64 = 64 * 1024;

/// Fetches a file. `mediaUrl` leads to Evolution's own store and expires; whatever is wrong with it, Evolution is asked for
/// the file itself.
pub(crate) async fn fetch_file(
    at: &EvolutionEndpoint<'_>,
    clients: DownloadClients<'_>,
    file: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    let url = file
        .media
        .source
        .as_deref()
        .filter(|source| source.starts_with("http"));
    let downloaded = match url {
        None => None,
        Some(url) => match clients.build_request(url, at.base, file) {
            Ok(request) => Some(download_file(request, file).await),
            Err(refused) => Some(Err(refused)),
        },
    };
    match (downloaded, file.provider_message_id) {
        (Some(Ok(fetched)), _) => Ok(fetched),
        (Some(Err(error @ FileError::Lost(FileLoss::TooLarge))), _) | (Some(Err(error)), None) => Err(error),
        (_, Some(id)) => fetch_base64_file(at, id, file).await,
        (None, None) => Err(FileError::Lost(FileLoss::Gone)),
    }
}

/// Fetches the file of the message `id` with `chat/getBase64FromMediaMessage`.
async fn fetch_base64_file(
    at: &EvolutionEndpoint<'_>,
    id: &str,
    file: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    let path = ["chat", "getBase64FromMediaMessage", at.instance.as_str()];
    let url = build_url(at.base, &path).ok_or(file_unavailable("its base URL is not an HTTP URL"))?;
    let request = at.http.post(url).header("apikey", at.key.expose_secret());
    let request = request.json(&json!({"message": {"key": {"id": id}}, "convertToMp4": false}));
    // Base64 needs four characters for three bytes.
    let most = file.bytes_max / 3 * 4 + AROUND_FILE;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    match receive_response(request, file.within, most).await {
        Ok(answer) => parse_base64_answer(&answer),
        Err(HttpExchange::ResponseLost {
            why: ANSWER_TOO_LARGE,
            ..
        }) => Err(FileError::Lost(FileLoss::TooLarge)),
        Err(HttpExchange::NotSent(why) | HttpExchange::ResponseLost { why, .. }) => {
            Err(file_unavailable(why))
        }
        Err(HttpExchange::Response(_)) => Err(file_unavailable("no answer")),
    }
}

/// Evolution's answer with a file, or `null`. It is not parsed into values of its own: the file would be in memory twice.
#[derive(Deserialize)]
struct Base64Answer<'a> {
    #[serde(borrow)]
    base64: Option<Cow<'a, str>>,
    mimetype: Option<String>,
}

fn parse_base64_answer(answer: &RawResponse) -> Result<FetchedFile, FileError> {
    match answer.status {
        200..=299 => {}
        401 | 403 => return Err(FileError::Credentials),
        // Any failure is a 400: the message is not in its database yet, or WhatsApp did not give the file.
        _ => return Err(file_unavailable("Evolution answered with an error")),
    }
    let parsed = serde_json::from_slice::<Option<Base64Answer<'_>>>(&answer.body);
    let parsed = parsed
        .ok()
        .flatten()
        .ok_or(file_unavailable("its answer holds no file"))?;
    let base64 = parsed
        .base64
        .as_deref()
        .ok_or(file_unavailable("its answer holds no file"))?;
    // Some versions put the head of a data URL before it.
    let base64 = base64.rsplit_once("base64,").map_or(base64, |(_, base64)| base64);
    let bytes = STANDARD.decode(base64.trim());
    let bytes = bytes.map_err(|_| file_unavailable("its answer holds no Base64"))?;
    Ok(FetchedFile {
        bytes: FileBytes::from_bytes(bytes),
        mime_type: parsed.mimetype,
        sha256: None,
    })
}
