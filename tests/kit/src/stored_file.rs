//! Stores the file of a message with its text, as a fetch and a reading do.

use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::file_text::FileTextSource;
use recado_domain::message::{FileText, FoundText, Message, StoredFile};
use recado_ports::ports::{FileBytes, Files, Store, WriteOutcome};

/// The file that is to be stored.
#[derive(Debug, Clone, Copy)]
pub struct GivenFile<'a> {
    /// Its bytes.
    pub bytes: &'a str,
    /// The way in which its text is found.
    pub source: FileTextSource,
    /// Its text.
    pub text: &'a str,
}

/// Stores the bytes under the message's key, and the text in the message's record.
pub async fn store_message_file(
    store: &dyn Store,
    files: &dyn Files,
    mut message: Message,
    given: GivenFile<'_>,
    now: Timestamp,
) -> Message {
    let key = message.file_key().unwrap();
    let stored = StoredFile {
        mime_type: "text/plain".to_owned(),
        bytes: given.bytes.len() as u64,
        sha256: "0".repeat(64),
        refused: None,
    };
    let bytes = FileBytes::from_bytes(given.bytes.as_bytes().to_vec());
    files.put_file(&key, &stored.mime_type, bytes).await.unwrap();
    let kind = message.content.media_file().unwrap().media;
    let file = message.file.as_mut().unwrap();
    file.record_stored(kind, stored, now);
    let found = FoundText::within_limit(given.source, given.text.to_owned(), false, None);
    file.text = Some(FileText::Found(found));
    message.rev += 1;
    let written = succeed(store.update_closed_message(&message, None)).await;
    assert_eq!(written, WriteOutcome::Written);
    message
}
