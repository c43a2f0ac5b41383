//! The bytes of an upload, put in the place of its id just before a provider sends it.

use crate::Deps;
use crate::ports::{OutgoingMessage, PortResult};
use crate::upload::{self, StoredUpload};
use recado_domain::message::Message;

/// Reads the upload that the message sends, before its attempt begins: a store that fails costs none. `None` for every
/// other message, and for an upload that is gone, which the provider's edge gives up.
pub(super) async fn read_upload<W: Deps>(deps: &W, message: &Message) -> PortResult<Option<StoredUpload>> {
    let found = upload::find_upload(deps, &message.instance, &message.content).await?;
    Ok(found.flatten())
}

/// Puts it in.
pub(super) fn insert_upload(outgoing: OutgoingMessage, file: Option<StoredUpload>) -> OutgoingMessage {
    match file {
        None => outgoing,
        Some(file) => OutgoingMessage {
            content: upload::inline_upload(outgoing.content, file),
            ..outgoing
        },
    }
}
