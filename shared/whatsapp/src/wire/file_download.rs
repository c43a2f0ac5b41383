//! Downloads files: checks where their URLs lead, and passes the bytes on piece by piece. Nothing is decompressed, and no
//! redirect is followed.

use crate::wire::http_exchange::{HttpExchange, HttpResponse};
use futures::stream;
use recado_domain::message::FileLoss;
use recado_http_client::{HostReach, judge_url};
use recado_ports::ports::{FetchedFile, FileBytes, FileError, FileRequest, SendOutcome};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, Url};

/// The clients that download from URLs which a provider names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DownloadClients<'a> {
    /// Client for the instance's own host.
    pub(crate) own: &'a Client,
    /// Client that connects to private addresses, too.
    pub(crate) private: &'a Client,
    /// Client that connects to public addresses only; `None`: no other host is asked.
    pub(crate) public: Option<&'a Client>,
}

impl DownloadClients<'_> {
    /// Begins a request to a `url` of the provider at `base`, by the client that may ask it. An answer or a webhook named the
    /// URL. No key is sent there, unless the host is the provider's own.
    pub(crate) fn build_request(
        &self,
        url: &str,
        base: &str,
        file: &FileRequest<'_>,
    ) -> Result<RequestBuilder, FileError> {
        if is_same_origin(url, base) {
            return Ok(self.own.get(url));
        }
        let forbidden = FileError::Lost(FileLoss::ForbiddenAddress);
        let (client, reach) = match (file.private_hosts, self.public) {
            (true, _) => (self.private, HostReach::Private),
            (false, Some(public)) => (public, HostReach::Public),
            (false, None) => return Err(forbidden),
        };
        let url = judge_url(url, reach).map_err(|_| forbidden)?;
        Ok(client.get(url))
    }
}

/// Returns `true` if both URLs have the same scheme, host and port.
pub(crate) fn is_same_origin(url: &str, base: &str) -> bool {
    let origin = |text: &str| Url::parse(text.trim()).ok().map(|url| url.origin());
    origin(url).is_some_and(|origin_of_url| origin(base) == Some(origin_of_url))
}

/// Sends `request`, and returns the file that it answers.
pub(crate) async fn download_file(
    request: RequestBuilder,
    file: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    let response = request.timeout(file.within).send().await;
    let response = response.map_err(|_| file_unavailable("no answer to the download"))?;
    match response.status().as_u16() {
        200..=299 => {}
        401 | 403 => return Err(FileError::Credentials),
        // The URL may be too old: the next attempt asks for a new one.
        404 | 410 => return Err(file_unavailable("its URL leads to nothing")),
        _ => return Err(file_unavailable("an error in answer to the download")),
    }
    if response
        .content_length()
        .is_some_and(|bytes| bytes > file.bytes_max)
    {
        return Err(FileError::Lost(FileLoss::TooLarge));
    }
    let mime_type = response.headers().get(CONTENT_TYPE);
    let mime_type = mime_type.and_then(|value| Some(value.to_str().ok()?.to_owned()));
    let pieces = stream::try_unfold(response, |mut response| async move {
        let piece = response.chunk().await;
        let piece = piece.map_err(|_| file_unavailable("the download broke off"))?;
        Ok(piece.map(|piece| (piece.to_vec(), response)))
    });
    Ok(FetchedFile {
        bytes: FileBytes::from_stream(pieces),
        mime_type,
        sha256: None,
    })
}

/// Returns the answer to a question about a file. `classify_answer` is the provider's own judgement of its error answers.
pub(crate) fn read_file_answer(
    exchange: HttpExchange,
    classify_answer: fn(&HttpResponse, u32) -> SendOutcome,
) -> Result<HttpResponse, FileError> {
    match exchange {
        HttpExchange::Response(answer) if answer.is_success() => Ok(answer),
        HttpExchange::Response(answer) if answer.status == 404 => Err(FileError::Lost(FileLoss::Gone)),
        HttpExchange::Response(answer) => Err(match classify_answer(&answer, 1) {
            SendOutcome::Credentials { .. } => FileError::Credentials,
            SendOutcome::Permanent { .. } | SendOutcome::Refused { .. } => FileError::Lost(FileLoss::Gone),
            _ => file_unavailable("it answered with an error"),
        }),
        HttpExchange::NotSent(why) | HttpExchange::ResponseLost { why, .. } => Err(file_unavailable(why)),
    }
}

/// Returns the id by which the provider knows the file. A message that names none has lost its file.
pub(crate) fn read_file_id<'a>(file: &FileRequest<'a>) -> Result<&'a str, FileError> {
    let id = file.media.source.as_deref();
    id.ok_or(FileError::Lost(FileLoss::Gone))
}

/// Makes the error of a fetch that may be repeated.
pub(crate) fn file_unavailable(why: &'static str) -> FileError {
    FileError::Unavailable { why }
}
