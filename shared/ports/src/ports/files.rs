use super::{PortError, PortResult};
use async_trait::async_trait;
use futures::Stream;
use recado_domain::content::Media;
use recado_domain::message::FileLoss;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

/// A file that is to be fetched from a provider.
#[derive(Debug, Clone, Copy)]
pub struct FileRequest<'a> {
    /// The file as the message describes it.
    pub media: &'a Media,
    /// Provider's id of the message.
    pub provider_message_id: Option<&'a str>,
    /// Maximum number of bytes. A larger file is refused as soon as its size is known.
    pub bytes_max: u64,
    /// Maximum time for the fetch, to the last byte.
    pub within: Duration,
    /// `true` if the business sent the file by its URL: it is fetched from there, and the provider is not asked.
    pub was_sent: bool,
    /// `true` if a URL that the provider names may lead to this machine or into a private network.
    pub private_hosts: bool,
}

/// The bytes of a file, piece by piece. After an error nothing more comes.
pub struct FileBytes(Pin<Box<dyn Stream<Item = Result<Vec<u8>, FileError>> + Send>>);

impl FileBytes {
    /// Makes the bytes that `pieces` brings.
    pub fn from_stream(pieces: impl Stream<Item = Result<Vec<u8>, FileError>> + Send + 'static) -> Self {
        Self(Box::pin(pieces))
    }

    /// Makes the bytes of a file that is in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self::from_stream(futures::stream::iter([Ok(bytes)]))
    }

    /// Returns the pieces.
    pub fn into_stream(self) -> Pin<Box<dyn Stream<Item = Result<Vec<u8>, FileError>> + Send>> {
        self.0
    }

    /// Reads all pieces into memory.
    pub async fn read_all(self) -> Result<Vec<u8>, FileError> {
        use futures::TryStreamExt;
        self.0.try_concat().await
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileBytes")
    }
}

/// A file that a provider gives.
#[derive(Debug)]
pub struct FetchedFile {
    /// The bytes.
    pub bytes: FileBytes,
    /// MIME type that the provider names.
    pub mime_type: Option<String>,
    /// SHA-256 that the provider names, in lower-case hexadecimal digits.
    pub sha256: Option<String>,
}

/// The reason why a file's bytes did not come.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The provider did not give the file now. Trying again may help.
    #[error("the provider did not give the file: {why}")]
    Unavailable {
        /// Description of the failure, without personal data.
        why: &'static str,
    },
    /// The provider's key or token is missing or was refused.
    #[error("the provider's key or token is missing or was refused")]
    Credentials,
    /// The file will never come.
    #[error("the file cannot be fetched: {}", .0.as_str())]
    Lost(FileLoss),
    /// The store of the bytes failed.
    #[error(transparent)]
    Store(#[from] PortError),
}

/// A store of the bytes of files. Bytes are kept until they are deleted.
#[async_trait]
pub trait Files: Send + Sync {
    /// Stores `bytes` under `key` when all have come, and replaces what was stored there. If `bytes` ends with an error,
    /// that error is returned, and what was stored before stays.
    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError>;

    /// Returns the bytes under `key`; `None` if there are none.
    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>>;

    /// Deletes the bytes under `key`. Bytes that do not exist are no error.
    async fn delete_file(&self, key: &str) -> PortResult<()>;

    /// Returns a URL under which anybody can read the bytes for some minutes, with this header `Content-Disposition`. `None`:
    /// the store has no such URLs, and the API serves the bytes.
    async fn sign_file_url(&self, _key: &str, _disposition: &str) -> PortResult<Option<String>> {
        Ok(None)
    }
}
