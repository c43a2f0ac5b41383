//! Counts and hashes the bytes of a file while they pass from the provider to the store.

use futures::stream::{self, Stream, StreamExt};
use recado_domain::message::FileLoss;
use recado_ports::ports::{FileBytes, FileError};
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of bytes by which the type of a file is found.
const BEGINNING: usize = 64 * 1024;

/// The bytes of a file, counted and hashed while they pass.
pub(super) struct Measured {
    pieces: Pin<Box<dyn Stream<Item = Result<Vec<u8>, FileError>> + Send>>,
    /// First bytes, which were read already and are passed on first.
    beginning: Vec<u8>,
    /// `true` if all pieces were read.
    ended: bool,
    bytes: u64,
    bytes_max: u64,
    hash: Sha256,
    /// SHA-256 that the bytes must have.
    expected: Option<String>,
    /// Number of bytes and their SHA-256, once all have passed.
    pub(super) result: Arc<Mutex<Option<(u64, String)>>>,
}

impl Measured {
    pub(super) fn new(bytes: FileBytes, bytes_max: u64, expected: Option<String>) -> Self {
        Self {
            pieces: bytes.into_stream(),
            beginning: Vec::new(),
            ended: false,
            bytes: 0,
            bytes_max,
            hash: Sha256::new(),
            expected,
            result: Arc::default(),
        }
    }

    /// Returns the pieces. They end with an error if they are none, too many, or not the expected ones.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Vec<u8>, FileError>> + Send {
        stream::try_unfold(self, |mut measured| async move {
            let next = measured.read_next_piece().await?;
            Ok(next.map(|piece| (piece, measured)))
        })
    }

    /// Reads the first bytes, by which the type of the file is found.
    pub(super) async fn read_beginning(&mut self) -> Result<&[u8], FileError> {
        while self.beginning.len() < BEGINNING {
            let Some(piece) = self.read_further_piece().await? else {
                break;
            };
            self.beginning.extend(piece);
        }
        Ok(&self.beginning)
    }

    async fn read_next_piece(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        if self.beginning.is_empty() {
            return self.read_further_piece().await;
        }
        Ok(Some(std::mem::take(&mut self.beginning)))
    }

    async fn read_further_piece(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        if self.ended {
            return Ok(None);
        }
        let Some(piece) = self.pieces.next().await else {
            self.ended = true;
            return self.finish_measuring().map(|()| None);
        };
        let piece = piece?;
        self.bytes += piece.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(FileError::Lost(FileLoss::TooLarge));
        }
        self.hash.update(&piece);
        Ok(Some(piece))
    }

    fn finish_measuring(&mut self) -> Result<(), FileError> {
        if self.bytes == 0 {
            return Err(FileError::Unavailable { why: "it is empty" });
        }
        let sha256 = hex::encode(std::mem::take(&mut self.hash).finalize());
        if self.expected.as_ref().is_some_and(|expected| *expected != sha256) {
            return Err(FileError::Unavailable {
                why: "its bytes are not those that were announced",
            });
        }
        *lock_unpoisoned(&self.result) = Some((self.bytes, sha256));
        Ok(())
    }
}

pub(super) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
