//! Has the text of PDF documents read, each by a process of its own.

use recado_documents::{PdfLimits, PdfText};
use recado_knowledge::write_markdown_section;
use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

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
    BrokenOff(PdfLimits),
    /// The process did not run.
    #[error("the process that reads PDF documents did not run")]
    NoProcess(#[from] io::Error),
    /// A password is needed to read it.
    #[error("the PDF document is encrypted: remove its password first")]
    Encrypted,
    /// The program was built without the reader.
    #[error("this program was built without the reader of PDF documents: build it with --features full")]
    LeftOut,
    /// It is damaged.
    #[error("the PDF document is damaged")]
    Damaged,
    /// Its pages have no text.
    #[error("the PDF document has no text: pages that are pictures are not read")]
    NoText,
}

/// Reads the text of a document in a process of its own, within limits. That process is this program with the arguments of
/// [`PdfLimits::to_arguments`].
pub async fn read_pdf_beside(bytes: &[u8], limits: PdfLimits) -> Result<PdfContent, PdfFailure> {
    let reading = timeout(
        Duration::from_secs(limits.seconds),
        run_reading_process(bytes, limits),
    );
    let read = reading.await.map_err(|_| PdfFailure::TooSlow(limits.seconds))??;
    let text = serde_json::from_slice(&read.stdout).ok();
    match text.filter(|_| read.status.success()) {
        Some(PdfText::Pages(pages)) => join_page_texts(&pages),
        Some(PdfText::Encrypted) => Err(PdfFailure::Encrypted),
        Some(PdfText::Damaged) => Err(PdfFailure::Damaged),
        Some(PdfText::LeftOut) => Err(PdfFailure::LeftOut),
        None => Err(PdfFailure::BrokenOff(limits)),
    }
}

async fn run_reading_process(bytes: &[u8], limits: PdfLimits) -> io::Result<Output> {
    let mut reader = Command::new(std::env::current_exe()?);
    reader.args(limits.to_arguments());
    // It needs nothing of the environment, which holds keys.
    reader.env_clear().kill_on_drop(true);
    reader
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = reader.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A process that ended early did not take all; its exit status tells why.
        let _ = input.write_all(bytes).await;
    }
    child.wait_with_output().await
}

/// Joins the pages to one text, each with its number as the heading.
fn join_page_texts(pages: &[Option<String>]) -> Result<PdfContent, PdfFailure> {
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
