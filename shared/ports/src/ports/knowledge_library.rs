use super::document_reader::{DocumentToRead, ReadingFailure};
use async_trait::async_trait;
use recado_domain::knowledge::{FoundBlocks, KnowledgeSnapshot, SnapshotName, SplitDocument};
use recado_domain::message::TextGap;
use std::time::Duration;

/// The vectors that a snapshot in memory has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownVectors {
    /// Name of the model that made them.
    pub model: String,
    /// Number of dimensions.
    pub dimensions: usize,
}

/// A question for which blocks are searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchedQuestion<'a> {
    /// The text.
    pub text: &'a str,
    /// Its vector, by the model and with the dimensions of the snapshot's; `None` to search by words alone.
    pub vector: Option<&'a [f32]>,
}

/// The reason why a snapshot cannot be searched.
#[derive(Debug, thiserror::Error)]
#[error("the snapshot cannot be searched: {0}")]
pub struct LibraryError(pub String);

/// A page that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedDocument {
    /// The document.
    pub bytes: Vec<u8>,
    /// The MIME type that the server names.
    pub content_type: Option<String>,
}

/// The reason why a page was not fetched, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PageFailure(pub String);

/// A library that splits documents into blocks, keeps the indexes of snapshots in memory and searches them.
#[async_trait]
pub trait KnowledgeLibrary: Send + Sync {
    /// Splits a document into blocks of at most `block_characters`. Its title counts among the words of each block.
    async fn split_document(
        &self,
        title: &str,
        document: DocumentToRead<'_>,
        block_characters: usize,
    ) -> Result<SplitDocument, ReadingFailure> {
        let _ = (title, document, block_characters);
        Err(TextGap::OtherType.into())
    }

    /// Fetches the document to which a URL leads, of at most `bytes_max` bytes. With `private_hosts` the URL may lead to this machine or
    /// into a private network; otherwise it must be a public host, and so must be all to which it redirects.
    async fn fetch_page(
        &self,
        url: &str,
        private_hosts: bool,
        bytes_max: u64,
        within: Duration,
    ) -> Result<FetchedDocument, PageFailure> {
        let _ = (url, private_hosts, bytes_max, within);
        Err(PageFailure("no pages are fetched here".to_owned()))
    }

    /// Finds the words of sources anew that an earlier version found in another way. The next file then has them
    /// ([`recado_domain::knowledge::KnowledgeSource::analysis`]).
    async fn renew_analysis(&self, snapshot: KnowledgeSnapshot) -> Result<KnowledgeSnapshot, LibraryError> {
        Ok(snapshot)
    }

    /// Returns `true` if the index of a snapshot is in memory.
    fn has_snapshot(&self, name: &SnapshotName) -> bool {
        let _ = name;
        false
    }

    /// Builds the index of a snapshot's file and keeps it in memory for a while.
    async fn load_snapshot(&self, name: &SnapshotName, bytes: Vec<u8>) -> Result<(), LibraryError> {
        drop(bytes);
        Err(LibraryError(format!("{} has no library", name.as_str())))
    }

    /// Returns the vectors that a snapshot has; `None` if it has none, or is not in memory.
    fn find_snapshot_vectors(&self, name: &SnapshotName) -> Option<KnownVectors> {
        let _ = name;
        None
    }

    /// Finds the blocks that answer a question best, at most `limit`, or all that the model is shown. Says nothing of the
    /// way of search. `None`: the index is not in memory.
    async fn search_snapshot(
        &self,
        name: &SnapshotName,
        question: SearchedQuestion<'_>,
        limit: usize,
    ) -> Option<FoundBlocks> {
        let _ = (name, question, limit);
        None
    }
}
