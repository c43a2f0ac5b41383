//! Has PDF documents read for the command line, each by a process of its own. Joins the texts of pages.

use crate::reading_process::{ProcessFailure, read_in_process};
use recado_documents::{DocumentError, ReadContent, ReadingLimits, ReadingPurpose, ReadingTask};
use recado_domain::media_type::MediaType;
use recado_knowledge_search::write_markdown_section;

/// The text of a document that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfContent {
    /// The text as Markdown: each page is a section, `page 12`.
    pub markdown: String,
    /// The pages that cannot be read.
    pub unread: Vec<usize>,
}

/// The reason why a PDF document has no text that can be used.
#[derive(Debug, thiserror::Error)]
pub enum PdfFailure {
    /// Reading it took longer than the limit.
    #[error("reading the PDF document takes more than {0} seconds")]
    TooSlow(u64),
    /// The process that read it ended before its end.
    #[error(
        "the PDF document is damaged, or reading it takes more than {} seconds or {} MiB of memory",
        .0.seconds,
        .0.memory_mib
    )]
    BrokenOff(ReadingLimits),
    /// The process did not run.
    #[error("{0}")]
    NoProcess(String),
    /// A password is needed to read it.
    #[error("the PDF document is encrypted: remove its password first")]
    Encrypted,
    /// The program was built without the reader.
    #[error("this program was built without the reader of PDF documents: build it with --features full")]
    LeftOut,
    /// The file is damaged.
    #[error("the PDF document is damaged")]
    Damaged,
    /// The pages have no text.
    #[error("the PDF document has no text: pages that are pictures are not read")]
    NoText,
}

/// Reads the text of a document in a process of its own, within limits. That process is this program with the arguments of
/// [`ReadingLimits::to_arguments`].
///
/// # Errors
///
/// The reason why it has no text that can be used.
pub async fn read_pdf_beside(bytes: &[u8], limits: ReadingLimits) -> Result<PdfContent, PdfFailure> {
    let task = ReadingTask {
        media_type: MediaType::Pdf,
        charset: None,
        purpose: ReadingPurpose::Knowledge,
    };
    match read_in_process(bytes, &task, limits, limits.clock_time()).await {
        Ok(Ok(ReadContent::Pages(pages))) => join_page_texts(&pages),
        Ok(Err(DocumentError::Encrypted)) => Err(PdfFailure::Encrypted),
        Ok(Err(DocumentError::LeftOut)) => Err(PdfFailure::LeftOut),
        Ok(Ok(ReadContent::Text(_)) | Err(_)) => Err(PdfFailure::Damaged),
        Err(ProcessFailure::TooSlow) => Err(PdfFailure::TooSlow(limits.clock_time().as_secs())),
        Err(ProcessFailure::BrokenOff) => Err(PdfFailure::BrokenOff(limits)),
        Err(failure) => Err(PdfFailure::NoProcess(failure.to_string())),
    }
}

/// Joins the pages to one text, each with its number as the heading.
pub(crate) fn join_page_texts(pages: &[Option<String>]) -> Result<PdfContent, PdfFailure> {
    let mut content = PdfContent {
        markdown: String::new(),
        unread: Vec::new(),
    };
    for (number, page) in (1..).zip(pages) {
        match page.as_deref().map(str::trim) {
            Some("") => {}
            Some(text) => write_markdown_section(&mut content.markdown, &format!("page {number}"), text),
            None => content.unread.push(number),
        }
    }
    if content.markdown.is_empty() {
        return Err(PdfFailure::NoText);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_with_text_is_a_section_and_unread_ones_are_told() {
        let pages = ["\n\nOne.\n", " \n"].map(|text| Some(text.to_owned()));
        let content = join_page_texts(&[&pages[..], &[None, Some("# 4".to_owned())]].concat()).unwrap();
        assert_eq!(content.unread, [3]);
        assert_eq!(content.markdown, "# page 1\n\nOne.\n\n# page 4\n\n    # 4\n\n");
        let error = join_page_texts(&pages[1..]).unwrap_err().to_string();
        assert!(error.contains("no text"), "{error}");
    }
}
