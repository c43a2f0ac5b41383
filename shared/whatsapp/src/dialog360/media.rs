//! Fetches files from 360dialog in two steps, as from Meta, but from its own host.

use super::errors::classify_answer;
use super::send::{Dialog360Endpoint, KEY_HEADER};
use crate::meta::media::FileLocation;
use crate::wire::file_download::{download_file, file_unavailable, read_file_answer, read_file_id};
use crate::wire::http_exchange::{build_url, send_request};
use recado_ports::ports::{FetchedFile, FileError, FileRequest};
use reqwest::Url;

/// Fetches a file by its id.
pub(crate) async fn fetch_file(
    at: &Dialog360Endpoint<'_>,
    file: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    let id = read_file_id(file)?;
    let url = build_url(at.base, &[id]).ok_or(file_unavailable("its base URL is not an HTTP URL"))?;
    let request = at.http.get(url).header(KEY_HEADER, at.key.expose_secret());
    let answer = read_file_answer(send_request(request, at.timeout).await, classify_answer)?;
    let location = FileLocation::from_answer(&answer, file)?;
    let url = media_url(at.base, &location.url).ok_or(file_unavailable("its answer holds no URL"))?;
    let request = at.http.get(url).header(KEY_HEADER, at.key.expose_secret());
    let fetched = download_file(request, file).await?;
    Ok(location.describe(fetched))
}

/// Returns the download URL of a file at 360dialog. `named` is the URL in the answer to `GET /{media_id}`: its host,
/// which only Meta's own token opens, is replaced by 360dialog's; path and query stay. So the key is sent only to
/// `base`, whatever the answer says. `None` if either URL is not an HTTP URL.
///
/// `\/` is decoded, because some answers are escaped twice.
pub fn media_url(base: &str, named: &str) -> Option<String> {
    let http = |url: &Url| matches!(url.scheme(), "http" | "https");
    let named = Url::parse(named.trim().replace("\\/", "/").as_str())
        .ok()
        .filter(http)?;
    let mut url = Url::parse(base.trim()).ok().filter(http)?;
    let path = format!("{}{}", url.path().trim_end_matches('/'), named.path());
    url.set_path(&path);
    url.set_query(named.query());
    Some(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://waba-v2.360dialog.io";

    #[test]
    fn metas_host_is_replaced_and_path_and_query_stay() {
        let named = "https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1&ext=2&hash=a%2Fb";
        let expected = "https://waba-v2.360dialog.io/whatsapp_business/attachments/?mid=1&ext=2&hash=a%2Fb";
        assert_eq!(media_url(BASE, named).as_deref(), Some(expected));
        let escaped = named.replace('/', "\\/");
        assert_eq!(media_url(BASE, &escaped).as_deref(), Some(expected));
        assert_eq!(
            media_url("http://127.0.0.1:9/d360/", "https://lookaside.fbsbx.com/a?b=c").as_deref(),
            Some("http://127.0.0.1:9/d360/a?b=c")
        );
    }

    #[test]
    fn the_key_goes_to_no_other_host_than_the_base() {
        for named in [
            "https://evil.example/x",
            "https://waba-v2.360dialog.io@evil.example/x",
            "https://evil.example:8443/x#y",
        ] {
            let url = media_url(BASE, named).unwrap();
            assert_eq!(
                Url::parse(&url).unwrap().origin(),
                Url::parse(BASE).unwrap().origin()
            );
            assert!(url.starts_with("https://waba-v2.360dialog.io/x"), "{url}");
        }
        for nothing in ["", "file:///etc/passwd", "lookaside.fbsbx.com/x"] {
            assert_eq!(media_url(BASE, nothing), None, "{nothing}");
        }
    }
}
