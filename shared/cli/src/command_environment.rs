//! The settings of the machine that a command reads.

use anyhow::Result;
use futures::future::BoxFuture;
use recado_whatsapp::ProviderConfig;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The settings of the machine that commands read.
#[derive(Debug, Clone)]
pub struct CommandEnvironment {
    /// The address at which Recado listens on this machine, unless the data folder says otherwise.
    pub address: SocketAddr,
    /// The data folder.
    pub data: PathBuf,
    /// The base URL at which providers reach this machine.
    pub public_url: Option<String>,
    /// The providers' settings, such as their base URLs and API versions.
    pub providers: ProviderConfig,
    /// Reads the text of PDF documents.
    pub read_pdf: ReadPdf,
}

/// The text of a PDF document, and its pages that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfReading {
    /// The text as Markdown: each page is a section.
    pub markdown: String,
    /// The numbers of pages that cannot be read.
    pub unread: Vec<usize>,
}

/// Reads the text of a PDF document. An error says why it has none that can be used.
pub type ReadPdf = fn(Vec<u8>) -> BoxFuture<'static, Result<PdfReading>>;
