//! Fetches files from 360dialog in two steps, as from Meta, but from its own host; and the limit on failed downloads.

use super::errors::classify;
use super::send::{Dialog360Endpoint, KEY_HEADER};
use crate::meta::media::FileLocation;
use crate::wire::file_download::{download_file, file_unavailable, read_file_answer, read_file_id};
use crate::wire::http_exchange::{build_url, send_request};
use jiff::Timestamp;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::{FetchedFile, FileError, FileRequest};
use reqwest::Url;
use std::collections::VecDeque;

/// Fetches a file by its id.
pub(crate) async fn fetch_file(
    at: &Dialog360Endpoint<'_>,
    file: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    let id = read_file_id(file)?;
    let url = build_url(at.base, &[id]).ok_or(file_unavailable("its base URL is not an HTTP URL"))?;
    let request = at.http.get(url).header(KEY_HEADER, at.key.expose_secret());
    let answer = read_file_answer(send_request(request, at.timeout).await, classify)?;
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

/// A pause in the downloads of one number after many failures. 360dialog refuses all downloads of a number for 30
/// minutes after 20 failed within 60 minutes; so after 20 failures Recado asks for nothing in that time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MediaDownloadBlock {
    /// Times of the failures that count, oldest first; never more than [`Self::FAILURES`].
    failed: VecDeque<Timestamp>,
    until: Option<Timestamp>,
}

impl MediaDownloadBlock {
    /// Number of failures that block the downloads.
    pub const FAILURES: usize = 20;
    /// Period in which the failures must lie, in milliseconds.
    pub const WITHIN_MS: i64 = 60 * 60_000;
    /// Length of the block, in milliseconds.
    pub const BLOCKED_MS: i64 = 30 * 60_000;

    /// Returns the end of the block; `None` if downloads are allowed now.
    pub fn blocked_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.until.filter(|until| now < *until)
    }

    /// Records a download that was answered with an error. The caller does not ask again for a file that does not exist.
    pub fn record_failure(&mut self, now: Timestamp) {
        let since = add_millis(now, -Self::WITHIN_MS);
        self.failed.retain(|at| *at > since);
        self.failed.push_back(now);
        if self.failed.len() >= Self::FAILURES {
            self.failed.clear();
            self.until = Some(add_millis(now, Self::BLOCKED_MS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    const BASE: &str = "https://waba-v2.360dialog.io";

    fn at(minutes: i64) -> Timestamp {
        from_unix_millis(1_760_000_000_000 + minutes * 60_000)
    }

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

    #[test]
    fn twenty_failures_in_an_hour_stop_downloads_for_half_an_hour() {
        let mut block = MediaDownloadBlock::default();
        for minute in 0..19 {
            block.record_failure(at(minute));
            assert_eq!(block.blocked_until(at(minute)), None);
        }
        block.record_failure(at(19));
        assert_eq!(block.blocked_until(at(19)), Some(at(49)));
        assert_eq!(block.blocked_until(at(48)), Some(at(49)));
        assert_eq!(block.blocked_until(at(49)), None);
        block.record_failure(at(50));
        assert_eq!(block.blocked_until(at(50)), None, "the count begins anew");
    }

    #[test]
    fn failures_older_than_an_hour_do_not_count() {
        let mut block = MediaDownloadBlock::default();
        for failure in 0..100 {
            block.record_failure(at(failure * 4));
            assert_eq!(block.blocked_until(at(failure * 4)), None);
        }
    }
}
