//! The bytes of an upload, put in the place of its id just before a provider sends it.

use crate::World;
use crate::ports::{OutgoingMessage, PortResult};
use crate::upload::{self, Upload};
use recado_domain::message::Message;

/// Reads the upload that the message sends, before its attempt begins: a store that fails costs none. `None` for every
/// other message, and for an upload that is gone, which the provider's edge gives up.
pub(super) async fn read<W: World>(world: &W, message: &Message) -> PortResult<Option<Upload>> {
    let found = upload::of(world, &message.instance, &message.content).await?;
    Ok(found.flatten())
}

/// Puts it in.
pub(super) fn put_in(outgoing: OutgoingMessage, file: Option<Upload>) -> OutgoingMessage {
    match file {
        None => outgoing,
        Some(file) => OutgoingMessage {
            content: upload::put_in(outgoing.content, file),
            ..outgoing
        },
    }
}
