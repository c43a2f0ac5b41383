//! The text of a stored file: what is said in a recording, or what a document reads.

use super::{FIRST_LOOK, FileLoss, FileState, MessageFile, StoredFile, WAITS};
use crate::content::MediaKind;
use crate::file_text::FileTextSource;
use crate::ids::AgentId;
use crate::millis::{self, add_duration};
use crate::model_use::TokenUsage;
use crate::retention::RetentionPeriod;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Maximum number of characters of a file's text that are kept.
pub const FILE_TEXT_CHARS_MAX: usize = 20_000;

/// The states of a file's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum FileText {
    /// The text was not read yet.
    Waiting {
        /// Time from which `reconcile` has the text read.
        #[serde(with = "millis")]
        next_at: Timestamp,
        /// Number of attempts that were begun.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        attempts: u32,
    },
    /// The text is here.
    Found(FoundText),
    /// The text will never come.
    Missing {
        /// The reason.
        reason: TextGap,
    },
}

/// The text of a file as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundText {
    /// The way in which the text was found.
    pub source: FileTextSource,
    /// The text; empty if nobody speaks, or if the document has none.
    pub text: String,
    /// `true` if the file has more text than is kept.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub is_cut: bool,
    /// Name of the model that transcribed; `None` if no model was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The use of the model that transcribed; `None` if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Box<TranscriptUse>>,
}

/// The use of a model for the words of one recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptUse {
    /// The agent of the instance.
    pub agent: AgentId,
    /// The day, in UTC.
    pub day: Date,
    /// Time for which the tenant keeps sums of what models used, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<RetentionPeriod>,
    /// Length of the recording in milliseconds; 0 if the model's API does not tell it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub audio_millis: u64,
    /// Tokens; none if the model's API does not tell them.
    #[serde(flatten)]
    pub tokens: TokenUsage,
}

impl FoundText {
    /// Keeps a text up to [`FILE_TEXT_CHARS_MAX`] characters.
    pub fn within_limit(
        source: FileTextSource,
        mut text: String,
        is_cut: bool,
        model: Option<String>,
    ) -> Self {
        let end = text.char_indices().nth(FILE_TEXT_CHARS_MAX).map(|(end, _)| end);
        if let Some(end) = end {
            text.truncate(end);
        }
        Self {
            source,
            text,
            is_cut: is_cut || end.is_some(),
            model,
            used: None,
        }
    }
}

/// The reasons for which a file has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TextGap {
    /// The installation has no server that transcribes recordings.
    NotConfigured,
    /// The file is larger than those whose text is read.
    TooLarge,
    /// The file is damaged or encrypted, or was refused.
    Unreadable,
    /// Files of this type have no text that can be read.
    OtherType,
    /// The attempts failed too often.
    TooManyAttempts,
    /// A version of Recado that this one does not know gave the reason.
    #[serde(other)]
    Unknown,
}

impl TextGap {
    /// Returns the word for the reason in logs.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the words for people and the model that stand in place of the text.
    pub fn describe_gap(self) -> &'static str {
        match self {
            Self::NotConfigured => "not transcribed: no transcription is set up",
            Self::TooLarge => "not read: the file is too large",
            Self::Unreadable => "not read: the file cannot be opened",
            Self::OtherType => "a file of this type cannot be shown",
            Self::TooManyAttempts => "not read: it failed too often",
            Self::Unknown => "not read",
        }
    }
}

impl MessageFile {
    /// Records that the bytes are stored. A text that the file may have is waited for.
    pub fn record_stored(&mut self, kind: MediaKind, stored: StoredFile, now: Timestamp) {
        let source = choose_text_source(kind, &stored.mime_type);
        self.text = source.map(|_| FileText::Waiting {
            next_at: add_duration(now, FIRST_LOOK),
            attempts: 0,
        });
        self.state = FileState::Stored(stored);
    }

    /// Returns the time from which `reconcile` has the bytes fetched, the text read or the bytes deleted. `None`: nothing is left
    /// to do.
    pub fn next_work_time(&self) -> Option<Timestamp> {
        let end = self.kept_until.filter(|_| self.stored().is_some());
        let times = [self.next_fetch_time(), self.next_reading_time(), end];
        times.into_iter().flatten().min()
    }

    /// Returns the time from which `reconcile` has the text read; `None` if it is not waited for.
    pub fn next_reading_time(&self) -> Option<Timestamp> {
        match (&self.state, &self.text) {
            (FileState::Stored(_), Some(FileText::Waiting { next_at, .. })) => Some(*next_at),
            _ => None,
        }
    }

    /// Returns `true` if a worker may read the text of the file now: nobody tried yet, or the next attempt is due.
    pub fn may_be_read(&self, now: Timestamp) -> bool {
        match (&self.state, &self.text) {
            (FileState::Stored(_), Some(FileText::Waiting { next_at, attempts })) => {
                *attempts == 0 || *next_at <= now
            }
            _ => false,
        }
    }

    /// Begins to read the text, which no other worker does before `until`. Returns `false` if it may not be read now.
    /// After too many attempts there is no text.
    pub fn begin_next_reading(&mut self, now: Timestamp, until: Timestamp) -> bool {
        if !self.may_be_read(now) {
            return false;
        }
        let made = self.reading_attempts();
        self.is_under_way = made as usize <= WAITS.len();
        self.text = Some(if made as usize > WAITS.len() {
            FileText::Missing {
                reason: TextGap::TooManyAttempts,
            }
        } else {
            FileText::Waiting {
                next_at: until,
                attempts: made + 1,
            }
        });
        true
    }

    /// Returns `true` if a reading was begun and nobody recorded its end: the process that read was ended with it.
    pub fn was_reading_cut_off(&self, now: Timestamp) -> bool {
        self.is_under_way && self.reading_attempts() > 0 && self.may_be_read(now)
    }

    /// Records that the text was not read, and may be read later: not before `not_before`, if that is known.
    pub fn postpone_reading(&mut self, now: Timestamp, not_before: Option<Timestamp>) {
        let attempts = self.reading_attempts();
        let wait = WAITS.get((attempts as usize).saturating_sub(1));
        self.text = Some(match wait {
            None => FileText::Missing {
                reason: TextGap::TooManyAttempts,
            },
            Some(wait) => {
                let next_at = add_duration(now, *wait);
                FileText::Waiting {
                    next_at: not_before.map_or(next_at, |earliest| next_at.max(earliest)),
                    attempts,
                }
            }
        });
    }

    fn reading_attempts(&self) -> u32 {
        match self.text {
            Some(FileText::Waiting { attempts, .. }) => attempts,
            _ => 0,
        }
    }

    /// Returns the way in which the text of the stored file is found. `None`: it is not stored or has no text.
    pub fn text_source(&self, kind: MediaKind) -> Option<FileTextSource> {
        choose_text_source(kind, &self.stored()?.mime_type)
    }

    /// Returns the text of the file; `None` if it is not here.
    pub fn found_text(&self) -> Option<&FoundText> {
        match &self.text {
            Some(FileText::Found(found)) => Some(found),
            _ => None,
        }
    }

    /// Returns the words that tell people and the model what is missing of the file, and why. `None` if nothing is.
    pub fn describe_gap(&self) -> Option<&'static str> {
        match (&self.state, &self.text) {
            (FileState::Stored(_), Some(FileText::Found(_)) | None)
            // What was read of it is there.
            | (FileState::Lost { reason: FileLoss::Expired }, Some(FileText::Found(_))) => None,
            (FileState::Waiting { .. }, _) if self.is_blocked => {
                Some("the file has not come yet: the provider refuses downloads for half an hour")
            }
            (FileState::Waiting { .. }, _) => Some("the file has not come yet"),
            (FileState::Lost { reason }, _) => Some(reason.describe_loss()),
            (FileState::Stored(_), Some(FileText::Waiting { .. })) => Some("not read yet"),
            (FileState::Stored(_), Some(FileText::Missing { reason })) => Some(reason.describe_gap()),
        }
    }
}

/// Returns the way in which the text of a file is found. `None`: the model sees the file itself, or it is a video.
fn choose_text_source(kind: MediaKind, mime_type: &str) -> Option<FileTextSource> {
    let is_recording = mime_type.starts_with("audio/") || matches!(kind, MediaKind::Audio | MediaKind::Voice);
    let is_looked_at = mime_type.starts_with("image/") || mime_type == "application/pdf";
    if is_recording {
        Some(FileTextSource::Transcript)
    } else if is_looked_at || mime_type.starts_with("video/") {
        None
    } else {
        Some(FileTextSource::Document)
    }
}

#[cfg(test)]
mod tests;
