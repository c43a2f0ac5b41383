//! Reads documents as an installation takes them: of a PDF document it takes the text.

use crate::command_environment::ReadPdf;
use anyhow::{Result, bail};
use recado_domain::media_type::MediaType;
use std::fs;
use std::path::Path;

/// The largest document that an installation takes, in bytes.
const DOCUMENT_MAX: u64 = 4 * 1024 * 1024;

/// The largest PDF document whose text is read, in bytes.
pub(super) const PDF_MAX: u64 = 32 * 1024 * 1024;

/// The document as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentContent {
    pub(super) bytes: Vec<u8>,
    /// The type that a server named.
    pub(super) content_type: Option<String>,
    /// Words about what of the document is left out.
    pub(super) warning: Option<String>,
}

/// Reads a file. One that is too large is not read.
pub(super) async fn read_local_document(path: &Path, read_pdf: ReadPdf) -> Result<DocumentContent> {
    let size = fs::metadata(path)?.len();
    let most = if is_named_as_pdf(path) {
        PDF_MAX
    } else {
        DOCUMENT_MAX
    };
    if size > most {
        bail!(
            "the file has {}, and {} are read at most: split it",
            format_mebibytes(size),
            format_mebibytes(most)
        );
    }
    let bytes = fs::read(path)?;
    if bytes.is_empty() {
        bail!("the file is empty");
    }
    if is_named_as_pdf(path) && MediaType::from_file(&bytes, None) != Some(MediaType::Pdf) {
        bail!("the file is named as a PDF document and is none, or is damaged");
    }
    prepare_content(bytes, None, read_pdf).await
}

/// Returns the document as it is sent: of a PDF document its text.
pub(super) async fn prepare_content(
    bytes: Vec<u8>,
    content_type: Option<String>,
    read_pdf: ReadPdf,
) -> Result<DocumentContent> {
    let mut content = DocumentContent {
        bytes,
        content_type,
        warning: None,
    };
    if MediaType::from_file(&content.bytes, None) == Some(MediaType::Pdf) {
        let read = read_pdf(content.bytes).await?;
        content.bytes = read.markdown.into_bytes();
        content.content_type = Some("text/markdown".to_owned());
        content.warning = describe_unread_pages(&read.unread);
    }
    let size = content.bytes.len() as u64;
    if size > DOCUMENT_MAX {
        bail!(
            "the document has {}, and {} are taken at most: split it",
            format_mebibytes(size),
            format_mebibytes(DOCUMENT_MAX)
        );
    }
    Ok(content)
}

fn describe_unread_pages(pages: &[usize]) -> Option<String> {
    let numbers: Vec<String> = pages.iter().map(usize::to_string).collect();
    (!pages.is_empty()).then(|| {
        format!(
            "these pages cannot be read and are left out: {}",
            numbers.join(", ")
        )
    })
}

fn is_named_as_pdf(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("pdf"))
}

/// Writes a size in MiB, rounded up to tenths. So a size above a limit is never written as the limit.
fn format_mebibytes(bytes: u64) -> String {
    let tenths = (bytes * 10).div_ceil(1024 * 1024);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_in_mebibytes_and_above_a_limit_as_more_than_it() {
        assert_eq!(format_mebibytes(DOCUMENT_MAX), "4.0 MiB");
        assert_eq!(format_mebibytes(DOCUMENT_MAX + 1), "4.1 MiB");
    }

    #[test]
    fn pages_that_were_not_read_are_told() {
        assert_eq!(describe_unread_pages(&[]), None);
        let told = describe_unread_pages(&[3, 7]).unwrap();
        assert!(told.ends_with("3, 7"), "{told}");
    }
}
