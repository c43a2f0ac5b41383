//! Reads the text of documents beside the models, on a thread of its own: a long document takes the processor for a while.

use recado_documents::{DocumentError, TextLimits, extract_text};
use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;
use recado_ports::ports::ReadDocument;
use tokio::sync::Semaphore;

/// Lets one document be read at a time. A spreadsheet of 170 KB can need 100 MB: its table of texts is in memory as a whole.
static READING: Semaphore = Semaphore::const_new(1);

/// Reads the text of a document. A library that panics at a file ends the reading of that file only.
pub(crate) async fn read_document_text(
    bytes: Vec<u8>,
    media_type: MediaType,
) -> Result<ReadDocument, TextGap> {
    // The permit goes with the reading, which nobody can end: who waits no longer must not let the next one begin.
    let Ok(permit) = READING.acquire().await else {
        return Err(TextGap::Unreadable);
    };
    let reading = tokio::task::spawn_blocking(move || {
        let _until_read = permit;
        extract_text(&bytes, media_type, &TextLimits::default())
    });
    match reading.await {
        Ok(Ok(read)) => Ok(ReadDocument {
            text: read.text,
            is_cut: read.is_cut,
        }),
        Ok(Err(DocumentError::NoText | DocumentError::LeftOut)) => Err(TextGap::OtherType),
        Ok(Err(DocumentError::TooLarge)) => Err(TextGap::TooLarge),
        Ok(Err(DocumentError::Unreadable)) | Err(_) => Err(TextGap::Unreadable),
    }
}
