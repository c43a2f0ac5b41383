//! Fetches pages that the command line or a list names.

use super::contents::{DocumentContent, PDF_MAX, prepare_content};
use crate::command_environment::ReadPdf;
use anyhow::Result;
use recado_http_client::{FetchLimits, GuardedClient, HostReach, UrlRefusal};
use std::time::Duration;

/// The limits of one page. A server may take this long, since nobody waits for it but the command.
const LIMITS: FetchLimits = FetchLimits {
    time: Duration::from_secs(30),
    bytes: PDF_MAX,
    redirects: 5,
};

/// Returns `true` for the URL of a page, which no file is looked for.
pub(super) fn is_page_url(named: &str) -> bool {
    let scheme = named.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        ["http", "https"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known))
    })
}

/// Lists the URLs in a file: one on each line. Empty lines and those that begin with `#` are left out.
pub(super) fn list_page_urls(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Builds the client for pages: of public hosts alone, unless private ones are allowed.
pub(super) fn build_page_client(allow_private: bool) -> Result<GuardedClient> {
    Ok(GuardedClient::new(HostReach::from_permission(allow_private))?)
}

/// Fetches a page, with the type that its server names.
pub(super) async fn fetch_page_content(
    client: &GuardedClient,
    url: &str,
    read_pdf: ReadPdf,
) -> Result<DocumentContent> {
    let fetched = client.fetch_page(url, LIMITS).await.map_err(explain_refusal)?;
    prepare_content(fetched.bytes, fetched.content_type, read_pdf).await
}

/// Adds to a refusal how a private address is allowed.
fn explain_refusal(error: recado_http_client::FetchError) -> anyhow::Error {
    use recado_http_client::{FetchError, RequestFailure};
    match error {
        FetchError::Refused(UrlRefusal::Private) | FetchError::NoAnswer(RequestFailure::PrivateAddress) => {
            anyhow::anyhow!("{error}; --allow-private allows it")
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_stand_on_lines_of_their_own_and_files_are_none() {
        assert_eq!(
            list_page_urls("# pages\n\n https://a.example/x \nhttps://b.example\n"),
            ["https://a.example/x", "https://b.example"]
        );
        assert!(is_page_url("HTTPS://a.example") && is_page_url("http://a"));
        assert!(!is_page_url("prices.md") && !is_page_url("file:///etc/passwd") && !is_page_url("https/x"));
    }
}
