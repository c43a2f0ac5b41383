//! Reads the text of documents beside the models, on a thread of its own: a long document takes the processor for a while.

use recado_documents::{DocumentError, TextLimits, extract_text};
use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;
use recado_pipeline::ports::ReadDocument;

/// Reads the text of a document. A library that panics at a file ends the reading of that file only.
pub(crate) async fn read_document_text(
    bytes: Vec<u8>,
    media_type: MediaType,
) -> Result<ReadDocument, TextGap> {
    let reading =
        tokio::task::spawn_blocking(move || extract_text(&bytes, media_type, &TextLimits::default()));
    match reading.await {
        Ok(Ok(read)) => Ok(ReadDocument {
            text: read.text,
            is_cut: read.is_cut,
        }),
        Ok(Err(DocumentError::NoText)) => Err(TextGap::OtherType),
        Ok(Err(DocumentError::TooLarge)) => Err(TextGap::TooLarge),
        Ok(Err(DocumentError::Unreadable)) | Err(_) => Err(TextGap::Unreadable),
    }
}
