//! Splits documents into blocks and searches them, on threads of their own: both take the processor for a while.

use crate::pdf::{PdfFailure, read_pdf_beside};
use recado_documents::{DocumentError, PdfLimits, TextLimits, extract_markdown};
use recado_domain::knowledge::{FoundBlock, SnapshotName, SplitDocument};
use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;
use recado_http_client::{FetchLimits, GuardedClients, HostReach};
use recado_knowledge::{KnowledgeShelf, SplitSettings, analyze_document};
use recado_ports::ports::{FetchedDocument, KnownVectors, LibraryError, PageFailure, SearchedQuestion};
use std::time::Duration;

/// The limits within which a document of a business is read.
const LIMITS: TextLimits = TextLimits {
    bytes: 20_000_000,
    unpacked_bytes: 60_000_000,
    chars: 2_000_000,
};

/// Maximum number of redirects to a page.
const REDIRECTS_MAX: usize = 5;

/// Splits a document. A library that panics at a file ends the reading of that file only. The text of a PDF document is read within
/// `pdf_limits`.
pub(crate) async fn split_into_blocks(
    title: String,
    bytes: Vec<u8>,
    media_type: MediaType,
    settings: SplitSettings,
    pdf_limits: PdfLimits,
) -> Result<SplitDocument, TextGap> {
    if media_type != MediaType::Pdf {
        return split_text_document(title, bytes, media_type, settings).await;
    }
    let read = match read_pdf_beside(&bytes, pdf_limits).await {
        Ok(read) => read,
        Err(PdfFailure::NoText) => return Ok(SplitDocument::default()),
        Err(failure) => {
            tracing::warn!(error = %failure, "a PDF document was not read");
            return Err(find_text_gap(&failure));
        }
    };
    let split = split_text_document(title, read.markdown.into_bytes(), MediaType::Text, settings).await?;
    Ok(SplitDocument {
        unread_pages: read.unread,
        ..split
    })
}

/// Returns the reason of a failure as the use cases know it.
fn find_text_gap(failure: &PdfFailure) -> TextGap {
    match failure {
        PdfFailure::TooSlow(_) => TextGap::TooLarge,
        PdfFailure::NoProcess(_) => TextGap::TooManyAttempts,
        PdfFailure::LeftOut => TextGap::OtherType,
        PdfFailure::BrokenOff(_) | PdfFailure::Encrypted | PdfFailure::Damaged | PdfFailure::NoText => {
            TextGap::Unreadable
        }
    }
}

async fn split_text_document(
    title: String,
    bytes: Vec<u8>,
    media_type: MediaType,
    settings: SplitSettings,
) -> Result<SplitDocument, TextGap> {
    let split = move || {
        let read = extract_markdown(&bytes, media_type, &LIMITS)?;
        Ok(SplitDocument {
            is_cut: read.is_cut,
            ..analyze_document(&title, &read.text, settings)
        })
    };
    match tokio::task::spawn_blocking(split).await {
        Ok(Ok(split)) => Ok(split),
        Ok(Err(DocumentError::NoText | DocumentError::LeftOut)) => Err(TextGap::OtherType),
        Ok(Err(DocumentError::TooLarge)) => Err(TextGap::TooLarge),
        Ok(Err(DocumentError::Unreadable)) | Err(_) => Err(TextGap::Unreadable),
    }
}

/// Builds the index of a snapshot's file and keeps it on the shelf, also if nobody waits any more: the next question finds it.
pub(crate) async fn load_index(
    shelf: &KnowledgeShelf,
    name: &SnapshotName,
    bytes: Vec<u8>,
) -> Result<(), LibraryError> {
    let (shelf, name) = (shelf.clone(), name.clone());
    let built = tokio::task::spawn_blocking(move || shelf.build_kept_index(&name, &bytes)).await;
    let built = built.map_err(|error| LibraryError(error.to_string()))?;
    built.map_err(|error| LibraryError(error.to_string()))
}

/// Searches a snapshot on the shelf; `None` if it is not there.
pub(crate) async fn search_index(
    shelf: &KnowledgeShelf,
    name: &SnapshotName,
    question: SearchedQuestion<'_>,
    limit: usize,
) -> Option<Vec<FoundBlock>> {
    let index = shelf.find_index(name)?;
    let (text, vector) = (question.text.to_owned(), question.vector.map(<[f32]>::to_vec));
    let stored = question.stored.to_vec();
    let search = move || index.search_with_stored(&text, vector.as_deref(), &stored, limit);
    let found = tokio::task::spawn_blocking(search).await;
    Some(found.unwrap_or_default())
}

/// Returns the vectors of a snapshot on the shelf.
pub(crate) fn find_index_vectors(shelf: &KnowledgeShelf, name: &SnapshotName) -> Option<KnownVectors> {
    let index = shelf.find_index(name)?;
    let vectors = index.find_block_vectors()?;
    Some(KnownVectors {
        model: vectors.model.clone(),
        dimensions: vectors.rows.count_dimensions(),
        has_stored: !vectors.stored.is_empty(),
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
    let reach = if private_hosts {
        HostReach::Private
    } else {
        HostReach::Public
    };
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
