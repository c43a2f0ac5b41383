//! Reads the stored file of a message.

use crate::Deps;
use crate::steps::file_disposition::build_disposition;
use recado_domain::access::Caller;
use recado_domain::ids::MessageId;
use recado_ports::ports::{Conversations, FileBytes, Files, PortResult};

/// The stored file of a message.
#[derive(Debug)]
pub struct MessageFileContent {
    /// MIME type of the bytes.
    pub mime_type: String,
    /// Number of bytes.
    pub length: u64,
    /// Value of the header `Content-Disposition` with which the file is served.
    pub disposition: String,
    /// The bytes, or where they are.
    pub source: FileSource,
}

/// The place from which a client reads a file.
#[derive(Debug)]
pub enum FileSource {
    /// A URL that can be used for some minutes.
    Url(String),
    /// The bytes themselves.
    Bytes(FileBytes),
}

/// Opens the stored file of a message. `None`: the message or its file does not exist, is not here yet, or is outside the
/// caller's scope.
pub async fn open_message_file(
    deps: &impl Deps,
    caller: &Caller,
    id: &MessageId,
) -> PortResult<Option<MessageFileContent>> {
    let message = deps.store().find_message(id).await?;
    let Some(message) = message.filter(|message| caller.scope.covers(&message.tenant)) else {
        return Ok(None);
    };
    let stored = message.file.as_ref().and_then(|file| file.stored());
    let (Some(stored), Some(key)) = (stored, message.file_key()) else {
        return Ok(None);
    };
    let disposition = build_disposition(&message, stored);
    let source = match deps.queues().sign_file_url(&key, &disposition).await? {
        Some(url) => FileSource::Url(url),
        None => match deps.queues().open_file(&key).await? {
            Some(bytes) => FileSource::Bytes(bytes),
            None => return Ok(None),
        },
    };
    Ok(Some(MessageFileContent {
        mime_type: stored.mime_type.clone(),
        length: stored.bytes,
        disposition,
        source,
    }))
}
