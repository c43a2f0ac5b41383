//! Reads the text of documents: Word, Excel, `PowerPoint`, web pages and plain text; PDF documents in a process of its own (`pdf`).
//!
//! The files come from strangers. So each is read in time that grows with its size, within [`TextLimits`]: a small archive
//! that unpacks to gigabytes ends at the limit, and nothing that a document names is fetched or expanded.

mod html;
#[cfg(feature = "archives")]
mod office;
#[cfg(feature = "archives")]
mod package;
mod pdf;
mod plain;
#[cfg(feature = "archives")]
mod sheet;
mod table;
mod text;

pub use pdf::{PdfLimits, PdfText, print_pdf_text};
use recado_domain::media_type::MediaType;
use text::TextBuilder;

/// The limits within which a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimits {
    /// Largest file that is read, in bytes.
    pub bytes: usize,
    /// Largest size of the parts of an archive that are read, unpacked, in bytes.
    pub unpacked_bytes: u64,
    /// Maximum number of characters of the text; the rest is cut off.
    pub chars: usize,
}

impl Default for TextLimits {
    fn default() -> Self {
        Self {
            bytes: 20_000_000,
            unpacked_bytes: 30_000_000,
            chars: 20_000,
        }
    }
}

/// The form in which a text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextForm {
    /// As a person reads it.
    Plain,
    /// With the marks of Markdown.
    Markdown,
}

/// The text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentText {
    /// The text; empty if the document has none.
    pub text: String,
    /// `true` if the document has more text than the limit allows.
    pub is_cut: bool,
}

/// The reason why the text of a document was not read. Each is permanent: the same file would be refused again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Files of this type have no text that can be read.
    #[error("files of this type have no text that can be read")]
    NoText,
    /// The program was built without the reader of this type.
    #[error("this program was built without the readers of office documents: build it with --features full")]
    LeftOut,
    /// The file is too large, packed or unpacked.
    #[error("the document is too large")]
    TooLarge,
    /// The file is damaged, or it is encrypted.
    #[error("the document cannot be opened")]
    Unreadable,
}

/// Reads the text of a document of this type.
pub fn extract_text(
    bytes: &[u8],
    media_type: MediaType,
    limits: &TextLimits,
) -> Result<DocumentText, DocumentError> {
    read_document(bytes, media_type, limits, TextForm::Plain)
}

/// Reads the text of a document of this type as Markdown, to be split into blocks: the headings of a web page are headings and its
/// navigation is left out; each row of a CSV file is a paragraph that repeats the names of its columns.
pub fn extract_markdown(
    bytes: &[u8],
    media_type: MediaType,
    limits: &TextLimits,
) -> Result<DocumentText, DocumentError> {
    read_document(bytes, media_type, limits, TextForm::Markdown)
}

fn read_document(
    bytes: &[u8],
    media_type: MediaType,
    limits: &TextLimits,
    form: TextForm,
) -> Result<DocumentText, DocumentError> {
    if !media_type.has_readable_text() {
        return Err(DocumentError::NoText);
    }
    if bytes.len() > limits.bytes {
        return Err(DocumentError::TooLarge);
    }
    let mut text = TextBuilder::with_char_limit(limits.chars);
    match (media_type, form) {
        (MediaType::Html, TextForm::Markdown) => {
            text.keep_lines_unmarked();
            html::read_page_sections(&plain::decode_plain_text(bytes), &mut text);
            return Ok(text.into_document_text());
        }
        (MediaType::Csv, TextForm::Markdown) => {
            text.keep_lines_unmarked();
            table::read_table_rows(&plain::decode_plain_text(bytes), &mut text);
            return Ok(text.into_document_text());
        }
        _ => {}
    }
    match media_type {
        MediaType::Docx | MediaType::Pptx | MediaType::Xlsx => {
            read_archived_text(bytes, media_type, limits, &mut text)?;
        }
        MediaType::Html => html::read_page_text(&plain::decode_plain_text(bytes), &mut text),
        _ => text.append_text_run(&plain::decode_plain_text(bytes)),
    }
    Ok(text.into_document_text())
}

/// Reads the text of a document that lies in an archive.
#[cfg(feature = "archives")]
fn read_archived_text(
    bytes: &[u8],
    media_type: MediaType,
    limits: &TextLimits,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    use package::{ReadParts, open_counted_package};

    match media_type {
        MediaType::Docx => {
            office::read_word_document(&mut open_counted_package(bytes, ReadParts::Xml, limits)?, text)
        }
        MediaType::Pptx => {
            office::read_presentation(&mut open_counted_package(bytes, ReadParts::Xml, limits)?, text)
        }
        _ => {
            open_counted_package(bytes, ReadParts::All, limits)?;
            sheet::read_spreadsheet(bytes, text)
        }
    }
}

/// Refuses a document that lies in an archive: this program has no reader for it.
#[cfg(not(feature = "archives"))]
fn read_archived_text(
    _: &[u8],
    _: MediaType,
    _: &TextLimits,
    _: &mut TextBuilder,
) -> Result<(), DocumentError> {
    Err(DocumentError::LeftOut)
}

#[cfg(test)]
#[cfg(feature = "archives")]
mod tests;
