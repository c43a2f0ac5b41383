use async_trait::async_trait;
use recado_domain::ids::TenantId;
use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;
use std::time::Duration;

/// A document that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentToRead<'a> {
    /// The tenant for which it is read. Few documents of one tenant are read at once, so that no tenant takes the time of another.
    pub tenant: &'a TenantId,
    /// The file.
    pub bytes: Vec<u8>,
    /// The type of the file.
    pub media_type: MediaType,
    /// The charset that a server named with a text.
    pub charset: Option<String>,
}

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDocument {
    /// The text; empty if the document has none.
    pub text: String,
    /// `true` if the document has more text than was read.
    pub is_cut: bool,
}

/// The reason why a document was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadingFailure {
    /// The document has no text that can be read, for good: the same file would be refused again. So it is with a document whose reading was cut off,
    /// because it took too much time or memory.
    #[error("the document has no text that can be read: {}", .0.as_str())]
    Gap(TextGap),
    /// Other documents are read now. This one was not looked at.
    #[error("other documents are read now")]
    Busy,
    /// Reading did not begin, or nobody waited for its end. It may be repeated.
    #[error("{0}")]
    Failed(String),
}

impl From<TextGap> for ReadingFailure {
    fn from(gap: TextGap) -> Self {
        Self::Gap(gap)
    }
}

/// A reader of the text of documents.
#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// Reads the text of a document, within limits of time and memory. Returns before `within` is over.
    async fn read_document(
        &self,
        document: DocumentToRead<'_>,
        within: Duration,
    ) -> Result<ReadDocument, ReadingFailure> {
        drop((document, within));
        Err(TextGap::OtherType.into())
    }
}
