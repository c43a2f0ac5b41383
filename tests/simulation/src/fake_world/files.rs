//! The files that a provider gives.

use super::provider::FakeServices;
use super::webhooks::holds_file;
use super::{CLOUD, FileBehaviour, SendBehaviours};
use recado_domain::config::InstanceConfig;
use recado_domain::content::MediaKind;
use recado_domain::event::{EventKind, derive_event_id, webhook_file_key};
use recado_pipeline::ports::{FetchedFile, FileBytes, FileError, FileRequest};

/// How often a provider is asked for files in vain while it refuses them: by workers that asked at the same time, because one before
/// them crashed before it counted.
const IN_VAIN_MAX: u32 = 20;

/// The failed downloads of one instance at its provider, which refuses all for half an hour after twenty within an hour.
#[derive(Debug, Default)]
pub(super) struct FailedDownloads {
    failed: Vec<i64>,
    refused_until: i64,
    in_vain: u32,
}

impl FailedDownloads {
    fn record_failure(&mut self, now: i64) {
        self.failed.retain(|at| *at > now - 3_600_000);
        self.failed.push(now);
        if self.failed.len() == 20 {
            self.failed.clear();
            self.refused_until = now + 1_800_000;
        }
    }
}

impl FakeServices {
    /// Gives the file of a message, as the line says, late or not at all.
    pub(super) async fn give_file(
        &self,
        bound: &InstanceConfig,
        request: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        self.injector.step("fetch_file").await;
        let behaviour = self
            .fake_world
            .line(&bound.instance.id, |line| line.files.pop_front())
            .flatten();
        let takes_ms = if behaviour == Some(FileBehaviour::Late) {
            30_000
        } else {
            300
        };
        self.injector.common.simulation.sleep(takes_ms).await;
        self.injector.step("fetch_file").await;
        let fails = behaviour == Some(FileBehaviour::Fails) || self.fails_by_chance(bound);
        if self.refuses_download(bound) || fails || self.was_in_webhook(bound, request) {
            let now = self.injector.common.simulation.elapsed_ms();
            self.fake_world
                .line(&bound.instance.id, |line| line.downloads.record_failure(now));
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

    /// Whether the host of files has no answer: one time in four while a random history is not calm.
    fn fails_by_chance(&self, bound: &InstanceConfig) -> bool {
        let is_random = self.fake_world.line(&bound.instance.id, |line| {
            line.behaviours != SendBehaviours::calm()
        });
        is_random == Some(true)
            && !self.injector.common.is_calm()
            && self.injector.common.simulation.chance(0.25)
    }

    /// Whether too many downloads failed before. Whoever goes on asking breaks a promise.
    fn refuses_download(&self, bound: &InstanceConfig) -> bool {
        let now = self.injector.common.simulation.elapsed_ms();
        let in_vain = self.fake_world.line(&bound.instance.id, |line| {
            let refuses = line.provider == CLOUD && now < line.downloads.refused_until;
            line.downloads.in_vain += u32::from(refuses);
            refuses.then_some(line.downloads.in_vain)
        });
        let in_vain = in_vain.flatten();
        if in_vain.is_some_and(|times| times > IN_VAIN_MAX) {
            let what = "a provider that refuses downloads is asked again and again";
            self.injector.common.broken(what.to_owned());
        }
        in_vain.is_some()
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
        is_held && !self.injector.common.observations().unkept_files.contains(&key)
    }
}
