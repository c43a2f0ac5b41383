//! Reads the text of documents as their readers see them: Word, Excel, `PowerPoint`, the Open Document Format, web pages, tables and plain
//! text, and the pages of PDF documents.
//!
//! The files come from strangers. So each is read in time that grows with its size, within [`TextLimits`]: each part of an archive is
//! unpacked and read once at most, a small archive that unpacks to gigabytes ends at the limit, and nothing that a document names is
//! fetched or expanded. Where it can be, a document is read in a process of its own (`process`).
//!
//! Web pages are read without a library: one that builds a tree of a page takes more time than the page is long. So are spreadsheets: no
//! library tells what a number format shows.

mod html;
#[cfg(feature = "archives")]
mod open_document;
#[cfg(feature = "archives")]
mod package;
#[cfg_attr(not(feature = "pdf"), path = "pdf_left_out.rs")]
mod pdf;
mod plain;
mod process;
#[cfg(feature = "archives")]
mod sheet;
#[cfg(feature = "archives")]
mod slides;
#[cfg(feature = "archives")]
mod story;
mod table;
mod text;
#[cfg(feature = "archives")]
mod word;
#[cfg(feature = "archives")]
mod xml;

pub use process::{ReadingLimits, print_document};
use recado_domain::media_type::MediaType;
use serde::{Deserialize, Serialize};
use text::TextBuilder;

/// The limits within which a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimits {
    /// Largest file that is read, in bytes.
    pub bytes: usize,
    /// Largest size of the parts of an archive that are read, unpacked, in bytes.
    pub unpacked_bytes: u64,
    /// Maximum number of characters that are looked at for the text, whether they are kept or not.
    pub looks: usize,
    /// Maximum number of characters of the text; the rest is cut off.
    pub chars: usize,
}

impl Default for TextLimits {
    fn default() -> Self {
        ReadingPurpose::Message.limits()
    }
}

/// The purpose for which a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingPurpose {
    /// A contact sent it: the model reads the text beside the message.
    Message,
    /// The document becomes knowledge: a text with the marks of Markdown, to be split into blocks.
    Knowledge,
}

impl ReadingPurpose {
    /// Returns the limits of such a reading.
    pub fn limits(self) -> TextLimits {
        match self {
            Self::Message => TextLimits {
                bytes: 20_000_000,
                unpacked_bytes: 30_000_000,
                looks: 20_000_000,
                chars: 20_000,
            },
            Self::Knowledge => TextLimits {
                bytes: 20_000_000,
                unpacked_bytes: 60_000_000,
                looks: 60_000_000,
                chars: 2_000_000,
            },
        }
    }
}

/// A document that is to be read, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingTask {
    /// The type of the document.
    pub media_type: MediaType,
    /// The charset that a server named with a text.
    pub charset: Option<String>,
    /// The purpose of the text.
    pub purpose: ReadingPurpose,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentText {
    /// The text; empty if the document has none.
    pub text: String,
    /// `true` if the document has more text than the limit allows.
    pub is_cut: bool,
}

/// The content of a document that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadContent {
    /// One text.
    Text(DocumentText),
    /// The texts of the pages of a PDF document, in their order; `None` for a page that cannot be read.
    Pages(Vec<Option<String>>),
}

/// The reason why the text of a document was not read. Each is permanent: the same file would be refused again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentError {
    /// Files of this type have no text that can be read.
    #[error("files of this type have no text that can be read")]
    NoText,
    /// The program was built without the reader of this type.
    #[error("this program was built without the reader of these documents: build it with --features full")]
    LeftOut,
    /// The file is too large, packed or unpacked.
    #[error("the document is too large")]
    TooLarge,
    /// A password is needed to read it.
    #[error("the document is encrypted")]
    Encrypted,
    /// The file is damaged, or it is encrypted.
    #[error("the document cannot be opened")]
    Unreadable,
}

/// Reads a document in this process.
///
/// # Errors
///
/// The reason why it has no text that can be read.
pub fn read_document(bytes: &[u8], task: &ReadingTask) -> Result<ReadContent, DocumentError> {
    let limits = task.purpose.limits();
    if task.media_type == MediaType::Pdf && task.purpose == ReadingPurpose::Knowledge {
        return pdf::extract_pdf_pages(bytes, limits.chars).map(ReadContent::Pages);
    }
    let form = match task.purpose {
        ReadingPurpose::Message => TextForm::Plain,
        ReadingPurpose::Knowledge => TextForm::Markdown,
    };
    let charset = task.charset.as_deref();
    extract_document_text(bytes, (task.media_type, charset), &limits, form).map(ReadContent::Text)
}

/// Reads the text of a document of this type.
///
/// # Errors
///
/// The reason why it has no text that can be read.
pub fn extract_text(
    bytes: &[u8],
    media_type: MediaType,
    limits: &TextLimits,
) -> Result<DocumentText, DocumentError> {
    extract_document_text(bytes, (media_type, None), limits, TextForm::Plain)
}

/// Reads the text of a document of this type as Markdown, to be split into blocks: the headings of a text, the titles of slides and the
/// names of sheets are headings, the navigation of a web page is left out, and each row of a sheet or a CSV file is a paragraph that
/// repeats the names of its columns.
///
/// # Errors
///
/// The reason why it has no text that can be read.
pub fn extract_markdown(
    bytes: &[u8],
    media_type: MediaType,
    limits: &TextLimits,
) -> Result<DocumentText, DocumentError> {
    extract_document_text(bytes, (media_type, None), limits, TextForm::Markdown)
}

fn extract_document_text(
    bytes: &[u8],
    (media_type, charset): (MediaType, Option<&str>),
    limits: &TextLimits,
    form: TextForm,
) -> Result<DocumentText, DocumentError> {
    if !media_type.has_readable_text() {
        return Err(DocumentError::NoText);
    }
    if bytes.len() > limits.bytes {
        return Err(DocumentError::TooLarge);
    }
    let mut text = TextBuilder::with_limits(limits.chars, limits.looks);
    // The marks of a text that is Markdown itself stay as they are.
    if form == TextForm::Markdown && media_type != MediaType::Text {
        text.keep_lines_unmarked();
    }
    match (media_type, form) {
        (MediaType::Html, TextForm::Plain) => {
            html::read_page_text(&plain::decode_page(bytes, charset), &mut text);
        }
        (MediaType::Html, TextForm::Markdown) => {
            html::read_page_sections(&plain::decode_page(bytes, charset), &mut text);
        }
        (MediaType::Csv, TextForm::Plain) => {
            let table = plain::decode_plain_text(bytes, charset);
            text.append_text_run(table::split_separator_line(&table).1);
        }
        (MediaType::Csv, TextForm::Markdown) => {
            table::read_table_rows(&plain::decode_plain_text(bytes, charset), &mut text);
        }
        (MediaType::Text, _) => text.append_text_run(&plain::decode_plain_text(bytes, charset)),
        _ => read_archived_text(bytes, media_type, limits, form, &mut text)?,
    }
    Ok(text.into_document_text())
}

/// Reads the text of a document that lies in an archive.
#[cfg(feature = "archives")]
fn read_archived_text(
    bytes: &[u8],
    media_type: MediaType,
    limits: &TextLimits,
    form: TextForm,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let mut package = package::Package::open_archive(bytes, limits)?;
    match media_type {
        MediaType::Docx => word::read_word_document(&mut package, form, text),
        MediaType::Pptx => slides::read_presentation(&mut package, form, text),
        MediaType::Odt => open_document::read_text_document(&mut package, form, text),
        MediaType::Ods => open_document::read_open_spreadsheet(&mut package, form, text),
        _ => sheet::read_spreadsheet(&mut package, form, text),
    }
}

/// Refuses a document that lies in an archive: this program has no reader for it.
#[cfg(not(feature = "archives"))]
fn read_archived_text(
    _: &[u8],
    _: MediaType,
    _: &TextLimits,
    _: TextForm,
    _: &mut TextBuilder,
) -> Result<(), DocumentError> {
    Err(DocumentError::LeftOut)
}

#[cfg(test)]
#[cfg(feature = "archives")]
mod tests;
