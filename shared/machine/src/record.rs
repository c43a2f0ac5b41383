//! Recordings of raw webhooks, to be replayed later: `RECADO_RECORD` while serving, `recado record redact` afterwards.
//!
//! A recording is a folder with a file of JSON lines for each hour; each line is a webhook that was answered 200. No
//! recording holds credentials, redacted or not. The provider's proof is not recorded either: it is not in the body.

mod recorded_webhook;
mod redact;

pub use recorded_webhook::{FORMAT_VERSION, RecordedWebhook, read_recording};
pub use redact::{Redaction, remove_credentials};

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The part of a webhook that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordMode {
    /// Nothing is recorded.
    Off,
    /// The structure of the webhook, with replaced names, texts and numbers.
    Redacted,
    /// The whole body, without credentials.
    Full,
}

/// Lists the file itself, or the files of a folder (`.json` and `.jsonl`), in the order of their names.
pub fn list_recordings(from: &Path) -> Result<Vec<PathBuf>> {
    if from.is_file() {
        return Ok(vec![from.to_owned()]);
    }
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let kind = path.extension().and_then(|extension| extension.to_str());
        if path.is_file() && matches!(kind, Some("json" | "jsonl")) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("{} holds no .json and no .jsonl", from.display());
    }
    Ok(files)
}
