//! Builds the indexes of documents and searches them, on threads of their own: both take the processor for a while.

use recado_domain::knowledge::{FoundBlocks, KnowledgeSnapshot, SnapshotName};
use recado_http_client::{FetchLimits, GuardedClients, HostReach};
use recado_knowledge_search::{KnowledgeIndexCache, renew_analysis};
use recado_ports::ports::{FetchedDocument, KnownVectors, LibraryError, PageFailure, SearchedQuestion};
use std::time::Duration;

/// Maximum number of redirects to a page.
const REDIRECTS_MAX: usize = 5;

/// Finds the words of sources anew that were found in an earlier way.
pub(crate) async fn renew_snapshot(
    mut snapshot: KnowledgeSnapshot,
) -> Result<KnowledgeSnapshot, LibraryError> {
    let renew = move || {
        renew_analysis(&mut snapshot);
        snapshot
    };
    let renewed = tokio::task::spawn_blocking(renew).await;
    renewed.map_err(|error| LibraryError(error.to_string()))
}

/// Builds the index of a snapshot's file and keeps it in the cache, also if nobody waits any more: the next question finds it.
pub(crate) async fn load_index(
    index_cache: &KnowledgeIndexCache,
    name: &SnapshotName,
    bytes: Vec<u8>,
) -> Result<(), LibraryError> {
    let (index_cache, name) = (index_cache.clone(), name.clone());
    let built = tokio::task::spawn_blocking(move || index_cache.build_kept_index(&name, &bytes)).await;
    let built = built.map_err(|error| LibraryError(error.to_string()))?;
    built.map_err(|error| LibraryError(error.to_string()))
}

/// Searches a snapshot in the cache; `None` if it is not there.
pub(crate) async fn search_index(
    index_cache: &KnowledgeIndexCache,
    name: &SnapshotName,
    question: SearchedQuestion<'_>,
    limit: usize,
) -> Option<FoundBlocks> {
    let index = index_cache.find_index(name)?;
    let (text, vector) = (question.text.to_owned(), question.vector.map(<[f32]>::to_vec));
    let search = move || index.find_shown_blocks(&text, vector.as_deref(), limit);
    let found = tokio::task::spawn_blocking(search).await;
    Some(found.unwrap_or_default())
}

/// Returns the vectors of a snapshot in the cache.
pub(crate) fn find_index_vectors(
    index_cache: &KnowledgeIndexCache,
    name: &SnapshotName,
) -> Option<KnownVectors> {
    let index = index_cache.find_index(name)?;
    let vectors = index.find_block_vectors()?;
    Some(KnownVectors {
        model: vectors.model.clone(),
        dimensions: vectors.rows.count_dimensions(),
    })
}

/// Fetches a page, with the type that its server names.
pub(crate) async fn fetch_document(
    clients: &GuardedClients,
    url: &str,
    private_hosts: bool,
    bytes_max: u64,
    within: Duration,
) -> Result<FetchedDocument, PageFailure> {
    let reach = HostReach::from_permission(private_hosts);
    let limits = FetchLimits {
        time: within,
        bytes: bytes_max,
        redirects: REDIRECTS_MAX,
    };
    let failed = |error: &dyn std::error::Error| PageFailure(error.to_string());
    let client = clients.client_for(reach).map_err(|error| failed(&error))?;
    let fetched = client
        .fetch_page(url, limits)
        .await
        .map_err(|error| failed(&error))?;
    Ok(FetchedDocument {
        bytes: fetched.bytes,
        content_type: fetched.content_type,
    })
}

#[cfg(test)]
mod tests;
