//! The hidden command `recado read-document`, which the server runs as a process of its own for each document.

use anyhow::Result;
use clap::Args;
use futures::future::BoxFuture;
use recado_cli::PdfReading;
use recado_documents::{ReadingLimits, print_document};

/// The limits within which the text of a PDF document is read for the command line.
const PDF_LIMITS: ReadingLimits = ReadingLimits {
    memory_mib: 1024,
    seconds: 60,
};

/// Reads one document from standard input and prints its text as JSON. The first line of the input says what is to be read.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadingArguments {
    /// Memory of the process at most, in MiB.
    #[arg(long)]
    memory_mib: u64,
    /// Time of the processor at most, in seconds.
    #[arg(long)]
    seconds: u64,
}

/// Reads a document from standard input, and prints its text.
pub(crate) fn run_document_reading(arguments: &ReadingArguments) -> Result<()> {
    print_document(ReadingLimits {
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
