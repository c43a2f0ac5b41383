//! Where the file of a message can be read.

use recado_domain::message::{FileLoss, FileState, Message};

/// Returns the URL of a message's file: of the stored bytes, or else the provider's. `None` if the bytes are not here and the
/// provider named the file by an id, or if the tenant keeps the file no longer.
pub(super) fn media_url(message: &Message, file_url: Option<String>) -> Option<String> {
    if message.file.as_ref().is_some_and(|file| file.stored().is_some()) {
        return file_url.or_else(|| Some(format!("/v1/messages/{}/media", message.message_id())));
    }
    let expired = FileState::Lost {
        reason: FileLoss::Expired,
    };
    if message.file.as_ref().is_some_and(|file| file.state == expired) {
        return None;
    }
    let content = message.present_content();
    let source = content.media_file()?.source.as_ref()?;
    (source.starts_with("https://") || source.starts_with("http://")).then(|| source.clone())
}
