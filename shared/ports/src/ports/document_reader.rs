use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;
use std::future::{Future, ready};

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDocument {
    /// The text; empty if the document has none.
    pub text: String,
    /// `true` if the document has more text than was read.
    pub is_cut: bool,
}

/// A reader of the text of documents.
pub trait DocumentReader: Send + Sync {
    /// Reads the text of a document of this type, within limits of time and memory. The error is for good: the same file
    /// would be refused again.
    fn read_document(
        &self,
        bytes: Vec<u8>,
        media_type: MediaType,
    ) -> impl Future<Output = Result<ReadDocument, TextGap>> + Send {
        drop((bytes, media_type));
        ready(Err(TextGap::OtherType))
    }
}
