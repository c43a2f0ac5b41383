//! Reads the pages of a PDF document by the library `pdf-extract`.

mod columns;

use crate::DocumentError;
use columns::{DrawnColumns, PlacedText};
use pdf_extract::{
    Document, Error, MediaBox, OutputDev, OutputError, PlainTextOutput, Transform, output_doc_page,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The greatest slope of a line that is taken for level.
const SLOPE_MAX: f64 = 0.01;

/// Reads the text of a document page by page, until there are `chars` characters. A page at which the library fails or panics has no text.
pub(crate) fn extract_pdf_pages(bytes: &[u8], chars: usize) -> Result<Vec<Option<String>>, DocumentError> {
    let document = load_pdf_document(bytes)?;
    let read_page = |number: u32| {
        let mut text = String::new();
        let mut output = PageOutput {
            plain: PlainTextOutput::new(&mut text),
            columns: DrawnColumns::default(),
        };
        let read = catch_unwind(AssertUnwindSafe(|| {
            output_doc_page(&document, &mut output, number)
        }));
        if !matches!(read, Ok(Ok(()))) {
            return None;
        }
        Some(output.columns.join_columns().unwrap_or(text))
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

/// Takes the text of a page as it is drawn, and the places of its characters.
struct PageOutput<'a> {
    plain: PlainTextOutput<&'a mut String>,
    columns: DrawnColumns,
}

impl OutputDev for PageOutput<'_> {
    fn begin_page(
        &mut self,
        number: u32,
        media: &MediaBox,
        art: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.plain.begin_page(number, media, art)
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.plain.end_page()
    }

    fn output_character(
        &mut self,
        place: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        match place_character(place, width * font_size + spacing, font_size, text) {
            Some(drawn) => self.columns.add_drawn_text(drawn),
            None => self.columns.mark_unclear(),
        }
        self.plain
            .output_character(place, width, spacing, font_size, text)
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.plain.begin_word()
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        self.plain.end_word()
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        self.plain.end_line()
    }
}

/// Returns a character with its place; `None` if it is turned or mirrored, or the place is no number.
fn place_character<'a>(
    place: &Transform,
    advance: f64,
    font_size: f64,
    text: &'a str,
) -> Option<PlacedText<'a>> {
    let drawn = PlacedText {
        text,
        start: place.m31,
        end: place.m31 + advance * place.m11,
        height: place.m32,
        size: font_size * place.m22,
    };
    let is_level = font_size * place.m11 > 0.0 && place.m12.abs() <= SLOPE_MAX * place.m11.abs();
    let are_numbers = [drawn.start, drawn.end, drawn.height, drawn.size]
        .into_iter()
        .all(f64::is_finite);
    (is_level && are_numbers && drawn.size > 0.0).then_some(drawn)
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
