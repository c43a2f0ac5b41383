//! Takes the place of `pdf` in a program without the reader of PDF documents.

use crate::DocumentError;

/// Says that no document is read.
pub(crate) fn extract_pdf_pages(_: &[u8], _: usize) -> Result<Vec<Option<String>>, DocumentError> {
    Err(DocumentError::LeftOut)
}
