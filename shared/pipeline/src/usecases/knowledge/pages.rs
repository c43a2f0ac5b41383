//! Adds web pages to an agent's knowledge, as many as one request has time for.

use super::KnowledgeError;
use super::change::{AddedSource, NewDocument, add_source_within};
use super::writing::ChangedKnowledge;
use futures::stream::{self, StreamExt};
use jiff::SignedDuration;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::AgentId;
use recado_domain::millis::add_duration;
use recado_ports::Deps;
use recado_ports::ports::{FetchedDocument, PageFailure};
use std::collections::BTreeSet;

/// Greatest number of pages of one request.
pub const PAGES_MAX: usize = 10;

/// The largest page, in bytes. All pages of a request are in memory together.
const PAGE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Number of pages that are fetched side by side.
const SIDE_BY_SIDE: usize = 5;

/// Longest time to fetch a page. The function `api` has 29 seconds for all, and so each part of them has its own.
const FETCH_TIMEOUT: SignedDuration = SignedDuration::from_secs(8);

/// The time in which pages are fetched.
const FETCH_WITHIN: SignedDuration = SignedDuration::from_secs(10);

/// The time in which the last page may begin to be added. Reading a PDF document may take 10 seconds more.
const BEGIN_WITHIN: SignedDuration = SignedDuration::from_secs(13);

/// The time in which vectors are made.
const VECTORS_WITHIN: SignedDuration = SignedDuration::from_secs(22);

/// A page with the source that it became.
#[derive(Debug)]
pub struct PageOutcome {
    /// The URL of the page.
    pub url: String,
    /// The source, or the reason why it was not added.
    pub added: Result<AddedSource, PageRefusal>,
}

/// The reason why a page was not added.
#[derive(Debug, thiserror::Error)]
pub enum PageRefusal {
    /// Nothing was fetched.
    #[error(transparent)]
    Fetch(#[from] PageFailure),
    /// The document was refused.
    #[error(transparent)]
    Document(#[from] KnowledgeError),
    /// The time of the request was over.
    #[error("there was no time left for this page: ask for it again")]
    NoTime,
}

/// Adds the documents at these URLs to the knowledge of an agent, in their order. The title of each is its URL. Those for which there
/// is no time are told: the same request adds them, since it finds the others unchanged.
pub async fn add_pages(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
    urls: &[String],
) -> Result<Vec<PageOutcome>, KnowledgeError> {
    let knowledge = ChangedKnowledge::begin(deps, caller, agent).await?;
    let begun = deps.system().now();
    let mut seen = BTreeSet::new();
    let urls = urls.iter().map(|url| url.trim().to_owned());
    let urls: Vec<String> = urls.filter(|url| seen.insert(url.clone())).collect();
    let fetched: Vec<(String, Result<FetchedDocument, PageRefusal>)> = stream::iter(urls)
        .map(|url| fetch_in_time(deps, url, add_duration(begun, FETCH_WITHIN)))
        .buffered(SIDE_BY_SIDE)
        .collect()
        .await;
    let mut outcomes = Vec::with_capacity(fetched.len());
    for (url, fetched) in fetched {
        let is_late = deps.system().now() >= add_duration(begun, BEGIN_WITHIN);
        let added = match fetched {
            Ok(_) if is_late => Err(PageRefusal::NoTime),
            Ok(page) => {
                let document = NewDocument {
                    title: url.clone(),
                    content_type: page.content_type,
                    bytes: page.bytes,
                };
                let vectors_until = Some(add_duration(begun, VECTORS_WITHIN));
                let added = add_source_within(deps, caller, &knowledge, document, vectors_until).await;
                added.map_err(PageRefusal::from)
            }
            Err(refusal) => Err(refusal),
        };
        outcomes.push(PageOutcome { url, added });
    }
    Ok(outcomes)
}

async fn fetch_in_time(
    deps: &Deps,
    url: String,
    until: Timestamp,
) -> (String, Result<FetchedDocument, PageRefusal>) {
    let left = until.duration_since(deps.system().now()).min(FETCH_TIMEOUT);
    if !left.is_positive() {
        return (url, Err(PageRefusal::NoTime));
    }
    let fetching = deps.llm().fetch_page(
        &url,
        deps.settings().private_pages,
        PAGE_BYTES_MAX,
        left.unsigned_abs(),
    );
    let fetched = fetching.await.map_err(PageRefusal::from);
    (url, fetched)
}
