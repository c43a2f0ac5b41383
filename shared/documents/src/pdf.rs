//! Reads the pages of a PDF document by the library `pdf-extract`.

use crate::DocumentError;
use pdf_extract::{Document, Error, PlainTextOutput, output_doc_page};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reads the text of a document page by page, until there are `chars` characters. A page at which the library fails or panics has no text.
pub(crate) fn extract_pdf_pages(bytes: &[u8], chars: usize) -> Result<Vec<Option<String>>, DocumentError> {
    let document = load_pdf_document(bytes)?;
    let read_page = |number: u32| {
        let mut text = String::new();
        let mut output = PlainTextOutput::new(&mut text);
        let read = catch_unwind(AssertUnwindSafe(|| {
            output_doc_page(&document, &mut output, number)
        }));
        matches!(read, Ok(Ok(()))).then_some(text)
    };
    let (mut pages, mut read) = (Vec::new(), 0);
    for number in document.get_pages().into_keys() {
        // One character more says that there is more.
        if read > chars {
            break;
        }
        let page = read_page(number);
        let page = page.map(|text| text.chars().take(chars + 1).collect::<String>());
        read += page.as_ref().map_or(0, |text| text.chars().count());
        pages.push(page);
    }
    if pages.iter().all(Option::is_none) {
        return Err(DocumentError::Unreadable);
    }
    Ok(pages)
}

/// Loads a document, also one that is encrypted with an empty password, as all programs open it.
fn load_pdf_document(bytes: &[u8]) -> Result<Document, DocumentError> {
    let loaded = catch_unwind(|| Document::load_mem(bytes));
    let mut document = match loaded {
        Ok(Ok(document)) => document,
        Ok(Err(error)) => return Err(classify_load_error(&error)),
        Err(_) => return Err(DocumentError::Unreadable),
    };
    if document.is_encrypted() {
        let decrypted = catch_unwind(AssertUnwindSafe(|| document.decrypt("")));
        if !matches!(decrypted, Ok(Ok(()))) {
            return Err(DocumentError::Encrypted);
        }
    }
    Ok(document)
}

fn classify_load_error(error: &Error) -> DocumentError {
    match error {
        Error::Decryption(_) | Error::InvalidPassword | Error::UnsupportedSecurityHandler(_) => {
            DocumentError::Encrypted
        }
        _ => DocumentError::Unreadable,
    }
}
