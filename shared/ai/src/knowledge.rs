//! Splits documents into blocks and searches them, on threads of their own: both take the processor for a while.

use recado_documents::{DocumentError, TextLimits, extract_markdown};
use recado_domain::knowledge::{FoundBlock, SnapshotName, SplitDocument};
use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;
use recado_knowledge::{KnowledgeIndex, KnowledgeShelf, SplitSettings, analyze_document};
use recado_pipeline::ports::{KnownVectors, LibraryError, SearchedQuestion};
use std::sync::Arc;

/// The limits within which a document of a business is read.
const LIMITS: TextLimits = TextLimits {
    bytes: 20_000_000,
    unpacked_bytes: 60_000_000,
    chars: 2_000_000,
};

/// Splits a document. A library that panics at a file ends the reading of that file only.
pub(crate) async fn split_into_blocks(
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
        Ok(Err(DocumentError::NoText)) => Err(TextGap::OtherType),
        Ok(Err(DocumentError::TooLarge)) => Err(TextGap::TooLarge),
        Ok(Err(DocumentError::Unreadable)) | Err(_) => Err(TextGap::Unreadable),
    }
}

/// Builds the index of a snapshot's file and keeps it on the shelf.
pub(crate) async fn load_index(
    shelf: &KnowledgeShelf,
    name: &SnapshotName,
    bytes: Vec<u8>,
) -> Result<(), LibraryError> {
    let built = tokio::task::spawn_blocking(move || KnowledgeIndex::from_bytes(&bytes)).await;
    let built = built.map_err(|error| LibraryError(error.to_string()))?;
    let built = built.map_err(|error| LibraryError(error.to_string()))?;
    shelf.keep_index(name.clone(), Arc::new(built));
    Ok(())
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
    let search = move || index.search(&text, vector.as_deref(), limit);
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
    })
}
