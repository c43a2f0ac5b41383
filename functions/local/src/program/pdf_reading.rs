//! The hidden command `recado read-pdf`, which the reader of PDF documents runs as a process of its own.

use anyhow::Result;
use clap::Args;
use futures::future::BoxFuture;
use recado_cli::PdfReading;
use recado_documents::{PdfLimits, print_pdf_text};

/// The limits within which the text of a PDF document is read for the command line.
const PDF_LIMITS: PdfLimits = PdfLimits {
    memory_mib: 1024,
    seconds: 60,
};

/// Reads the text of a PDF document from standard input and prints it as JSON, a text for each page.
#[derive(Debug, Clone, Args)]
pub(crate) struct PdfReadingArguments {
    /// Memory of the process at most, in MiB.
    #[arg(long)]
    memory_mib: u64,
    /// Time of the processor at most, in seconds.
    #[arg(long)]
    seconds: u64,
}

/// Reads a document from standard input, and prints its text.
pub(crate) fn run_pdf_reading(arguments: &PdfReadingArguments) -> Result<()> {
    print_pdf_text(PdfLimits {
        memory_mib: arguments.memory_mib,
        seconds: arguments.seconds,
    })?;
    Ok(())
}

/// Reads the text of a PDF document for the command line, in a process of its own.
pub(crate) fn read_pdf_beside(bytes: Vec<u8>) -> BoxFuture<'static, Result<PdfReading>> {
    Box::pin(async move {
        let read = recado_ai::read_pdf_beside(&bytes, PDF_LIMITS).await?;
        Ok(PdfReading {
            markdown: read.markdown,
            unread: read.unread,
        })
    })
}
