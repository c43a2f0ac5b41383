//! Reads the text of a PDF document in this process: the hidden command `recado read-pdf`, which `pdf` runs as a process of its own.
//!
//! At a damaged document the library may panic, run out of its stack or never end, and all of that must end the reading of that
//! document only. So the process limits its memory and its time before it reads.

use anyhow::Result;
use clap::Args;
use pdf_extract::{Document, Error, PlainTextOutput, output_doc_page};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write, stdin, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::thread;

/// Size of the stack on which a document is read, in bytes: documents nest their pages and their values.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Reads the text of a PDF document from standard input and prints it as JSON, a text for each page.
#[derive(Debug, Clone, Args)]
pub(crate) struct PdfReadingArguments {
    /// Memory of the process at most, in MiB.
    #[arg(long)]
    pub(super) memory_mib: u64,
    /// Time of the processor at most, in seconds.
    #[arg(long)]
    pub(super) seconds: u64,
}

/// The text of a document, or the reason why it has none that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PdfText {
    /// The texts of the pages, in their order; `None` for a page that cannot be read.
    Pages(Vec<Option<String>>),
    /// A password is needed to read it.
    Encrypted,
    /// The document is damaged, or is no PDF document.
    Damaged,
}

/// Reads a document within limits from standard input, and prints its text.
pub(crate) fn print_pdf_text(limits: &PdfReadingArguments) -> Result<()> {
    limit_this_process(limits)?;
    // A panic is one page's failure, and says nothing that a person could use.
    set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    stdin().lock().read_to_end(&mut bytes)?;
    let reading = thread::Builder::new().stack_size(STACK_BYTES);
    let read = reading.spawn(move || extract_pdf_pages(&bytes))?.join();
    let text = serde_json::to_vec(&read.unwrap_or(PdfText::Damaged))?;
    stdout().lock().write_all(&text)?;
    Ok(())
}

fn limit_this_process(limits: &PdfReadingArguments) -> Result<()> {
    let set = |resource, most: u64| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)
    };
    set(Resource::As, limits.memory_mib.saturating_mul(1024 * 1024))?;
    set(Resource::Cpu, limits.seconds)?;
    set(Resource::Core, 0)?;
    Ok(())
}

/// Reads the text of a document page by page. A page at which the library fails or panics has no text.
fn extract_pdf_pages(bytes: &[u8]) -> PdfText {
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
