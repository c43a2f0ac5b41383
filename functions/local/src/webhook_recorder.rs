//! Writes webhooks on a thread of its own, so that a recording never delays the messages. Webhooks that it cannot keep
//! up with are left out, and the log says so.

use anyhow::{Context, Result};
use jiff::Timestamp;
use recado_http::ReceivedWebhook;
use recado_machine::record::{FORMAT_VERSION, RecordMode, RecordedWebhook, Redaction, remove_credentials};
use serde_json::Value;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

/// The number of webhooks that wait to be written at most.
const WAITING_MAX: usize = 1000;

/// The number of bytes that one process writes at most: a forgotten recording must not fill the disk.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// A handle to the thread that records webhooks.
#[derive(Debug, Clone)]
pub(crate) struct WebhookRecorder {
    queue: SyncSender<ReceivedWebhook>,
}

impl WebhookRecorder {
    /// Starts a recorder that writes to `folder`. A missing folder is created, readable by its owner only. `None` if
    /// the mode is off.
    pub(crate) fn start_recording(folder: &Path, mode: RecordMode) -> Result<Option<Self>> {
        if mode == RecordMode::Off {
            return Ok(None);
        }
        let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        created.with_context(|| format!("cannot make {}", folder.display()))?;
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let mut writer = RecordWriter {
            folder: folder.to_owned(),
            mode,
            hour: None,
            written: 0,
        };
        thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || writer.write_until_closed(&waiting))
            .context("cannot start the thread that records")?;
        Ok(Some(Self { queue }))
    }

    /// Hands a webhook to the recorder, or leaves it out; never waits.
    pub(crate) fn record_webhook(&self, webhook: ReceivedWebhook) {
        match self.queue.try_send(webhook) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                tracing::warn!("a webhook was not recorded: too many wait to be written");
            }
            Err(TrySendError::Disconnected(_)) => tracing::debug!("the recording has ended"),
        }
    }
}

/// The file of one hour, with the replacements within it.
struct HourlyFile {
    name: String,
    file: File,
    redaction: Redaction,
}

struct RecordWriter {
    folder: PathBuf,
    mode: RecordMode,
    hour: Option<HourlyFile>,
    written: u64,
}

impl RecordWriter {
    fn write_until_closed(&mut self, waiting: &Receiver<ReceivedWebhook>) {
        while let Ok(webhook) = waiting.recv() {
            if self.written >= BYTES_MAX {
                tracing::warn!("the recording stops: it has reached 1 GiB");
                return;
            }
            if let Err(error) = self.write_webhook(&webhook) {
                tracing::warn!(error = %error, "a webhook was not recorded");
            }
        }
    }

    fn write_webhook(&mut self, webhook: &ReceivedWebhook) -> Result<()> {
        // The body of a webhook that was answered 200 is JSON.
        let mut body: Value = serde_json::from_slice(&webhook.body).context("not JSON")?;
        let (mode, at) = (self.mode, webhook.at);
        let hour = self.current_hourly_file(at)?;
        if mode == RecordMode::Redacted {
            body = hour.redaction.redact_body(body);
        } else {
            remove_credentials(&mut body);
        }
        let line = RecordedWebhook {
            recado_record: FORMAT_VERSION,
            at: Some(at),
            provider: webhook.provider,
            redacted: mode == RecordMode::Redacted,
            body,
        };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        hour.file.write_all(text.as_bytes())?;
        self.written += u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    fn current_hourly_file(&mut self, at: Timestamp) -> Result<&mut HourlyFile> {
        // Each process has its own file for each hour: the replaced numbers are consistent within one file only.
        let name = format!("{}-{}", at.strftime("webhooks-%Y-%m-%dT%H"), std::process::id());
        let open = match self.hour.take().filter(|hour| hour.name == name) {
            Some(hour) => hour,
            None => HourlyFile {
                file: self.open_file(&name)?,
                name,
                redaction: Redaction::default(),
            },
        };
        Ok(self.hour.insert(open))
    }

    fn open_file(&self, name: &str) -> Result<File> {
        fs::create_dir_all(&self.folder)?;
        let file = self.folder.join(name).with_extension("jsonl");
        let options = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&file);
        options.with_context(|| format!("cannot write {}", file.display()))
    }
}
