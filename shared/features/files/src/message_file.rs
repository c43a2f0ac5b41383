//! Reads the stored file of a message.

use recado_domain::access::Caller;
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::load_identity_key;
use recado_pipeline::steps::message_view::build_disposition;
use recado_ports::ports::{FileBytes, PortResult};

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
    deps: &Deps,
    caller: &Caller,
    id: &MessageId,
) -> PortResult<Option<MessageFileContent>> {
    let message = deps.store().find_message(id).await?;
    match message.filter(|message| caller.scope.covers(&message.tenant)) {
        Some(message) => open_stored_file(deps, &message).await,
        None => Ok(None),
    }
}

/// Opens the stored file of a message for whoever has its link, which is valid until the second `until`. `None`: the link is over or
/// was not made here, or there is no file.
pub async fn open_linked_file(
    deps: &Deps,
    id: &MessageId,
    until: i64,
    proof: &str,
) -> PortResult<Option<MessageFileContent>> {
    if until <= deps.system().now().as_second() {
        return Ok(None);
    }
    let key = load_identity_key(deps).await?;
    if !key.proves_file_link(id, until, proof) {
        return Ok(None);
    }
    match deps.store().find_message(id).await? {
        Some(message) => open_stored_file(deps, &message).await,
        None => Ok(None),
    }
}

async fn open_stored_file(deps: &Deps, message: &Message) -> PortResult<Option<MessageFileContent>> {
    let stored = message.file.as_ref().and_then(|file| file.stored());
    let (Some(stored), Some(key)) = (stored, message.file_key()) else {
        return Ok(None);
    };
    let disposition = build_disposition(message, stored);
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
