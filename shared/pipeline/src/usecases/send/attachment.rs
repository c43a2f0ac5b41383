//! Inserts the bytes of an upload in place of its id just before a provider sends the message.

use crate::Deps;
use crate::ports::{OutgoingMessage, PortResult};
use crate::steps::upload::{self, FoundUpload, StoredUpload};
use recado_domain::message::Outgoing;

/// Reads the upload that the message sends. This happens before the attempt begins, so that a failure of the store does
/// not cost an attempt. Returns `None` if the message sends no upload, or if the upload is gone: then the provider's
/// adapter gives the message up.
pub(super) async fn read_upload(deps: &impl Deps, message: &Outgoing) -> PortResult<Option<StoredUpload>> {
    match upload::find_upload(deps, &message.instance, &message.content).await? {
        FoundUpload::Stored(upload) => Ok(Some(upload)),
        FoundUpload::NotNamed | FoundUpload::Missing => Ok(None),
    }
}

/// Replaces the id of an upload in `outgoing` by the bytes of `file`, if there is a file.
pub(super) fn insert_upload(outgoing: OutgoingMessage, file: Option<StoredUpload>) -> OutgoingMessage {
    match file {
        None => outgoing,
        Some(file) => OutgoingMessage {
            content: upload::inline_upload(outgoing.content, file),
            ..outgoing
        },
    }
}
