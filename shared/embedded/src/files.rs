//! The store of the bytes of files, as the use cases see it.

use crate::Embedded;
use crate::stored_files::{OpenedFile, PIECE, UnfinishedFile};
use crate::threads::lock_unpoisoned;
use async_trait::async_trait;
use futures::stream::{self, StreamExt};
use recado_ports::ports::{FileBytes, FileError, Files, PortResult};
use std::sync::{Arc, Mutex};

impl Embedded {
    /// Appends to an unfinished file on a thread that reads: the disk must delay neither the writer nor the executor.
    async fn append_piece(&self, unfinished: &Arc<Mutex<UnfinishedFile>>, piece: Vec<u8>) -> PortResult<()> {
        let unfinished = Arc::clone(unfinished);
        self.run_read("put_file", move |_| {
            lock_unpoisoned(&unfinished).append_to_file(&piece)
        })
        .await
    }
}

#[async_trait]
impl Files for Embedded {
    async fn put_file(&self, key: &str, _mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        let (files, key) = (self.file_store(), key.to_owned());
        let creates = move |_: &rusqlite::Connection| UnfinishedFile::create_for_key(&files, &key);
        let unfinished = Arc::new(Mutex::new(self.run_read("put_file", creates).await?));
        let mut pieces = bytes.into_stream();
        let mut ready = Vec::new();
        while let Some(piece) = pieces.next().await {
            ready.extend(piece?);
            if ready.len() >= PIECE {
                self.append_piece(&unfinished, std::mem::take(&mut ready)).await?;
            }
        }
        self.append_piece(&unfinished, ready).await?;
        let files = self.file_store();
        let completes = move |_: &rusqlite::Connection| lock_unpoisoned(&unfinished).complete_storing(&files);
        Ok(self.run_read("put_file", completes).await?)
    }

    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        let (files, key) = (self.file_store(), key.to_owned());
        let opened = self
            .run_read("open_file", move |_| OpenedFile::open_stored_file(&files, &key))
            .await?;
        let Some(opened) = opened else { return Ok(None) };
        let state = (self.clone(), Arc::new(Mutex::new(opened)));
        let pieces = stream::try_unfold(state, |(store, opened)| async move {
            let file = Arc::clone(&opened);
            let piece = store
                .run_read("open_file", move |_| lock_unpoisoned(&file).read_piece())
                .await?;
            Ok((!piece.is_empty()).then_some((piece, (store, opened))))
        });
        Ok(Some(FileBytes::from_stream(pieces)))
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        let (files, key) = (self.file_store(), key.to_owned());
        let deletes = move |_: &rusqlite::Connection| files.delete_bytes(&key);
        self.run_read("delete_file", deletes).await
    }
}
