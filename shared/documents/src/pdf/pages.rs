//! Reads the pages of a PDF document by the library `pdf-extract`.

use super::PdfText;
use pdf_extract::{Document, Error, PlainTextOutput, output_doc_page};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reads the text of a document page by page. A page at which the library fails or panics has no text.
pub(super) fn extract_pdf_pages(bytes: &[u8]) -> PdfText {
    let document = match load_pdf_document(bytes) {
        Ok(document) => document,
        Err(failed) => return failed,
    };
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    let read_page = |number: u32| {
        let mut text = String::new();
        let mut output = PlainTextOutput::new(&mut text);
        let read = catch_unwind(AssertUnwindSafe(|| {
            output_doc_page(&document, &mut output, number)
        }));
        matches!(read, Ok(Ok(()))).then_some(text)
    };
    let pages: Vec<Option<String>> = numbers.into_iter().map(read_page).collect();
    if pages.iter().all(Option::is_none) {
        return PdfText::Damaged;
    }
    PdfText::Pages(pages)
}

/// Loads a document, also one that is encrypted with an empty password, as all programs open it.
fn load_pdf_document(bytes: &[u8]) -> Result<Document, PdfText> {
    let loaded = catch_unwind(|| Document::load_mem(bytes));
    let mut document = match loaded {
        Ok(Ok(document)) => document,
        Ok(Err(error)) => return Err(classify_load_error(&error)),
        Err(_) => return Err(PdfText::Damaged),
    };
    if document.is_encrypted() {
        let decrypted = catch_unwind(AssertUnwindSafe(|| document.decrypt("")));
        if !matches!(decrypted, Ok(Ok(()))) {
            return Err(PdfText::Encrypted);
        }
    }
    Ok(document)
}

fn classify_load_error(error: &Error) -> PdfText {
    match error {
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => {
            PdfText::Encrypted
        }
        _ => PdfText::Damaged,
    }
}
