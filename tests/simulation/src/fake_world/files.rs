//! The files that a provider gives.

use super::FileFate;
use super::provider::Edge;
use super::webhooks::holds_file;
use recado_domain::config::InstanceConfig;
use recado_domain::content::MediaKind;
use recado_domain::event::{EventKind, derive_event_id, webhook_file_key};
use recado_pipeline::ports::{FetchedFile, FileBytes, FileError, FileRequest};

impl Edge {
    /// Gives the file of a message, as the line says, late or not at all.
    pub(super) async fn give_file(
        &self,
        bound: &InstanceConfig,
        request: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        self.injector.step("fetch_file").await;
        let fate = self
            .fake_world
            .line(&bound.instance.id, |line| line.files.pop_front())
            .flatten();
        let takes_ms = if fate == Some(FileFate::Late) { 30_000 } else { 300 };
        self.injector.common.simulation.sleep(takes_ms).await;
        self.injector.step("fetch_file").await;
        if fate == Some(FileFate::Fails) || self.was_in_webhook(bound, request) {
            return Err(FileError::Unavailable { why: "503" });
        }
        let (bytes, mime_type) = match request.media.media {
            MediaKind::Voice => (&b"OggS\0\x02"[..], "audio/ogg"),
            _ => (&b"\x89PNG\r\n\x1a\n"[..], "image/png"),
        };
        Ok(FetchedFile {
            bytes: FileBytes::from_bytes(bytes.to_vec()),
            mime_type: Some(mime_type.to_owned()),
            sha256: None,
        })
    }

    /// Whether the file is stored because the webhook of its message held it. Then nobody else has it.
    fn was_in_webhook(&self, bound: &InstanceConfig, request: &FileRequest<'_>) -> bool {
        let (Some(id), Some(external)) = (request.provider_message_id, bound.instance.resolve_external_id())
        else {
            return false;
        };
        let event = derive_event_id(bound.instance.provider, &external, EventKind::Message, id);
        let key = webhook_file_key(&event);
        let is_held = request.media.source.as_deref().is_some_and(holds_file);
        is_held && !self.injector.common.witness().unkept_files.contains(&key)
    }
}
