//! The hidden command `recado read-pdf`, which the reader of PDF documents runs as a process of its own.

use anyhow::Result;
use clap::Args;
use recado_documents::{PdfLimits, print_pdf_text};

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
