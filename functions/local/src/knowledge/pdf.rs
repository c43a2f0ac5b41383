//! Has the text of PDF documents read, each by a process of its own.

use super::pdf_reading::PdfText;
use anyhow::{Context, Result, bail};
use recado_knowledge::write_markdown_section;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Longest time to read a document, in seconds.
const SECONDS_MAX: u64 = 60;

/// Memory of the process that reads a document, in MiB.
const MEMORY_MIB: u64 = 1024;

/// The text of a document that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PdfContent {
    /// The text as Markdown: each page is a section, `page 12`.
    pub(super) markdown: String,
    /// The pages that cannot be read.
    pub(super) unread: Vec<usize>,
}

/// Reads the text of a document in a process of its own, within a time and a size of memory.
pub(super) async fn read_pdf_beside(bytes: &[u8]) -> Result<PdfContent> {
    let reading = timeout(Duration::from_secs(SECONDS_MAX), run_reading_process(bytes));
    let Ok(read) = reading.await else {
        bail!("reading the PDF document takes more than {SECONDS_MAX} seconds");
    };
    let read = read.context("the process that reads PDF documents did not run")?;
    if !read.status.success() {
        bail!(
            "the PDF document is damaged, or reading it takes more than {SECONDS_MAX} seconds or {MEMORY_MIB} MiB of memory"
        );
    }
    let text =
        serde_json::from_slice(&read.stdout).context("the process that reads PDF documents broke off")?;
    match text {
        PdfText::Pages(pages) => join_page_texts(&pages),
        PdfText::Encrypted => bail!("the PDF document is encrypted: remove its password first"),
        PdfText::Damaged => bail!("the PDF document is damaged"),
    }
}

async fn run_reading_process(bytes: &[u8]) -> std::io::Result<Output> {
    let (memory, seconds) = (MEMORY_MIB.to_string(), SECONDS_MAX.to_string());
    let mut reader = Command::new(std::env::current_exe()?);
    reader.args(["read-pdf", "--memory-mib", &memory, "--seconds", &seconds]);
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
fn join_page_texts(pages: &[Option<String>]) -> Result<PdfContent> {
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
        bail!("the PDF document has no text: pages that are pictures are not read");
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
