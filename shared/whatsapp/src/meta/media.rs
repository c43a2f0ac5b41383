//! Fetches files from Meta in two steps: the URL of the file, which lives five minutes, and then its bytes.

use super::errors::classify_answer;
use super::send::MetaEndpoint;
use crate::wire::file_download::{
    download_file, file_unavailable, is_same_origin, read_file_answer, read_file_id,
};
use crate::wire::http_exchange::{HttpResponse, build_url, send_request};
use crate::wire::json::{get_text, parse_integer};
use recado_domain::message::FileLoss;
use recado_domain::web_url::WebUrl;
use recado_ports::ports::{FetchedFile, FileError, FileRequest};

/// Meta's domains that serve files. The token is sent to no other host.
const FILE_DOMAINS: [&str; 4] = ["fbsbx.com", "facebook.com", "fbcdn.net", "whatsapp.net"];

/// The answer to the question where a file is.
pub(crate) struct FileLocation {
    pub(crate) url: String,
    mime_type: Option<String>,
    sha256: Option<String>,
}

impl FileLocation {
    /// Reads the answer. A file that is too large is refused before it is downloaded.
    pub(crate) fn from_answer(answer: &HttpResponse, file: &FileRequest<'_>) -> Result<Self, FileError> {
        let text = |name| get_text(&answer.body, name).map(str::to_owned);
        let bytes = answer.body.get("file_size").and_then(parse_integer);
        if bytes.is_some_and(|bytes| u64::try_from(bytes).is_ok_and(|bytes| bytes > file.bytes_max)) {
            return Err(FileError::Lost(FileLoss::TooLarge));
        }
        let hash = text("sha256").map(|hash| hash.to_ascii_lowercase());
        Ok(Self {
            url: text("url").ok_or(file_unavailable("its answer holds no URL"))?,
            mime_type: text("mime_type"),
            sha256: hash.filter(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())),
        })
    }

    /// Adds what the answer told of the file to its bytes.
    pub(crate) fn describe(self, fetched: FetchedFile) -> FetchedFile {
        FetchedFile {
            mime_type: self.mime_type.or(fetched.mime_type),
            sha256: self.sha256,
            ..fetched
        }
    }
}

/// Fetches a file by its id.
pub(crate) async fn fetch_file(
    at: &MetaEndpoint<'_>,
    file: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    let id = read_file_id(file)?;
    let url = build_url(at.base, &[at.version, id]);
    let mut url = url.ok_or(file_unavailable("its base URL is not an HTTP URL"))?;
    url.query_pairs_mut()
        .append_pair("phone_number_id", at.phone_number_id.as_str());
    let request = at.http.get(url).bearer_auth(at.token.expose_secret());
    let answer = read_file_answer(send_request(request, at.timeout).await, classify_answer)?;
    let location = FileLocation::from_answer(&answer, file)?;
    if !may_have_token(&location.url, at.base) {
        return Err(file_unavailable("its URL leads to a host that is not Meta's"));
    }
    let request = at.http.get(&location.url).bearer_auth(at.token.expose_secret());
    let fetched = download_file(request, file).await?;
    Ok(location.describe(fetched))
}

/// Returns `true` if the token may be sent to `url`: over TLS to a domain of Meta's that serves files, or to `base` itself.
fn may_have_token(url: &str, base: &str) -> bool {
    if is_same_origin(url, base) {
        return true;
    }
    let is_metas = |host: &str| {
        FILE_DOMAINS.iter().any(|domain| {
            host.strip_suffix(domain)
                .is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
        })
    };
    WebUrl::parse(url).is_some_and(|url| url.https && is_metas(&url.host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_metas_file_hosts_alone() {
        let base = "https://graph.facebook.com";
        for url in [
            "https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1",
            "https://fbsbx.com/a",
            "https://graph.facebook.com/v24.0/a",
        ] {
            assert!(may_have_token(url, base), "{url}");
        }
        for url in [
            "http://lookaside.fbsbx.com/a",
            "https://fbsbx.com.evil.example/a",
            "https://evilfbsbx.com/a",
            "https://lookaside.fbsbx.com@evil.example/a",
            "https://127.0.0.1/a",
            "nothing",
        ] {
            assert!(!may_have_token(url, base), "{url}");
        }
        assert!(may_have_token("http://127.0.0.1:9/file", "http://127.0.0.1:9/"));
        assert!(!may_have_token("http://127.0.0.1:8/file", "http://127.0.0.1:9/"));
    }
}
