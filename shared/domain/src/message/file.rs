//! The file of a message: whether Recado has its bytes, and when it asks for them again.

mod correction;
mod refusal;
mod text;

use crate::content::Content;
use crate::ids::{MessageId, TenantId};
use crate::millis::{self, add_duration};
use crate::model_files::FileRefusal;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
pub use text::{FILE_TEXT_CHARS_MAX, FileText, FoundText, TextGap, TranscriptUse};

/// Time after which `reconcile` fetches a file that no turn has fetched.
const FIRST_LOOK: SignedDuration = SignedDuration::from_mins(2);

/// Waits after failed fetches. Providers keep a file for a week at most.
const WAITS: [SignedDuration; 8] = [
    SignedDuration::from_mins(1),
    SignedDuration::from_mins(5),
    SignedDuration::from_mins(30),
    SignedDuration::from_hours(2),
    SignedDuration::from_hours(6),
    SignedDuration::from_hours(24),
    SignedDuration::from_hours(48),
    SignedDuration::from_hours(72),
];

/// The file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFile {
    /// The facts that are known of the file's bytes.
    #[serde(flatten)]
    pub state: FileState,
    /// Number of fetches that were begun.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub attempts: u32,
    /// `true` while a worker fetches the file or reads its text. A worker that crashed leaves it so until the time of the next attempt.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub is_under_way: bool,
    /// `true` if the webhook held the bytes. Until they are stored they lie beside the large bodies.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub from_webhook: bool,
    /// `true` if the provider refuses downloads for a while, and the file waits for the end of that.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub is_blocked: bool,
    /// Time until which the bytes are kept, if it is before the end of the message.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<Timestamp>,
    /// Text of the file; `None` if the file is not stored, or if it is looked at, not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<FileText>,
}

/// The states of a message's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum FileState {
    /// The bytes are not here yet.
    Waiting {
        /// Time from which `reconcile` fetches the file.
        #[serde(with = "millis")]
        next_at: Timestamp,
    },
    /// The bytes are stored.
    Stored(StoredFile),
    /// The bytes will never come.
    Lost {
        /// The reason.
        reason: FileLoss,
    },
}

/// The bytes of a file as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// MIME type of the bytes.
    pub mime_type: String,
    /// Number of bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, in hexadecimal digits.
    pub sha256: String,
    /// The reason for which no model is shown the file; `None` if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<FileRefusal>,
}

/// The reasons for which a file never comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FileLoss {
    /// The file is larger than the installation takes.
    TooLarge,
    /// The provider does not have the file, or not any more.
    Gone,
    /// The file lies at an address that Recado must not ask.
    ForbiddenAddress,
    /// The fetches failed too often.
    TooManyAttempts,
    /// The tenant keeps files for a shorter time than messages, and it is over.
    Expired,
    /// A version of Recado that this one does not know gave the reason.
    #[serde(other)]
    Unknown,
}

impl FileLoss {
    /// Returns the word for the reason in the API and in logs.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the words for people and the model that stand in place of the file.
    fn describe_loss(self) -> &'static str {
        match self {
            Self::TooLarge => "not shown: the file is too large",
            Self::Expired => "not shown: the file is kept no longer",
            Self::Gone => "not shown: WhatsApp does not have the file any more",
            Self::ForbiddenAddress | Self::TooManyAttempts | Self::Unknown => {
                "not shown: the file could not be fetched"
            }
        }
    }
}

impl MessageFile {
    /// Returns the file that a message of this content has from its provider, not fetched yet. `None` if there is
    /// nothing to fetch. A file that may be looked at only once is not fetched.
    pub fn expect_from_content(content: &Content, now: Timestamp) -> Option<Self> {
        let Content::Media(media) = content else {
            return None;
        };
        let fetchable = media.source.is_some() && !media.view_once;
        fetchable.then(|| {
            Self::in_state(FileState::Waiting {
                next_at: add_duration(now, FIRST_LOOK),
            })
        })
    }

    /// Makes a file in this state that nobody tried to fetch.
    pub fn in_state(state: FileState) -> Self {
        Self {
            state,
            attempts: 0,
            is_under_way: false,
            from_webhook: false,
            is_blocked: false,
            kept_until: None,
            text: None,
        }
    }

    /// Returns the file of a message that was sent by the https URL of its file, not fetched yet. `None` if it names no such URL.
    pub fn expect_from_url(content: &Content, now: Timestamp) -> Option<Self> {
        let source = content.media_file()?.source.as_deref()?;
        let expected = Self::expect_from_content(content, now)?;
        source.starts_with("https://").then_some(expected)
    }

    /// Returns the time from which `reconcile` fetches the file; `None` if nothing is to be fetched.
    pub fn next_fetch_time(&self) -> Option<Timestamp> {
        match self.state {
            FileState::Waiting { next_at } => Some(next_at),
            FileState::Stored(_) | FileState::Lost { .. } => None,
        }
    }

    /// Returns `true` if a worker may fetch the file now: nobody tried yet, or the next attempt is due.
    pub fn may_be_fetched(&self, now: Timestamp) -> bool {
        self.next_fetch_time()
            .is_some_and(|next_at| self.attempts == 0 || next_at <= now)
    }

    /// Returns the stored bytes' description; `None` if the bytes are not here.
    pub fn stored(&self) -> Option<&StoredFile> {
        match &self.state {
            FileState::Stored(stored) => Some(stored),
            FileState::Waiting { .. } | FileState::Lost { .. } => None,
        }
    }

    /// Returns `true` if the bytes are here, and are kept no longer at `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.stored().is_some() && self.kept_until.is_some_and(|until| until <= now)
    }

    /// Records that the bytes were deleted, because they are kept no longer. A text that was found in them stays with the
    /// message.
    pub fn record_expired(&mut self) {
        self.state = FileState::Lost {
            reason: FileLoss::Expired,
        };
        self.kept_until = None;
        if self.found_text().is_none() {
            self.text = None;
        }
    }

    /// Begins a fetch, which no other worker repeats before `until`. Returns `false` if the file may not be fetched now.
    /// After too many attempts the file is lost.
    pub fn begin_next_fetch(&mut self, now: Timestamp, until: Timestamp) -> bool {
        if !self.may_be_fetched(now) {
            return false;
        }
        if self.attempts as usize > WAITS.len() {
            self.state = FileState::Lost {
                reason: FileLoss::TooManyAttempts,
            };
            return true;
        }
        self.attempts += 1;
        self.is_under_way = true;
        self.is_blocked = false;
        self.state = FileState::Waiting { next_at: until };
        true
    }

    /// Begins a fetch anew that failed a moment ago, before its next time. Returns `false` if nothing is to be fetched, another worker
    /// fetches it, or the provider refuses downloads.
    pub fn begin_fetch_again(&mut self, until: Timestamp) -> bool {
        let next_at = self
            .next_fetch_time()
            .filter(|_| !self.is_under_way && !self.is_blocked);
        next_at.is_some_and(|next_at| self.begin_next_fetch(next_at, until))
    }

    /// Puts the next work off until `later`, if the file or its text is waited for. No attempt is counted.
    pub fn put_off(&mut self, later: Timestamp) -> bool {
        let Some(next_at) = self.next_attempt_mut() else {
            return false;
        };
        *next_at = later;
        self.is_under_way = false;
        true
    }

    /// Returns the time of the next attempt to fetch the file or to read its text. `None`: neither is waited for.
    fn next_attempt_mut(&mut self) -> Option<&mut Timestamp> {
        match (&mut self.state, &mut self.text) {
            (FileState::Waiting { next_at }, _)
            | (FileState::Stored(_), Some(FileText::Waiting { next_at, .. })) => Some(next_at),
            _ => None,
        }
    }

    /// Puts the fetch off until the provider allows downloads again. No attempt is counted. Returns `false` if the file waits for that
    /// already, or is not waited for.
    pub fn wait_for_downloads(&mut self, until: Timestamp) -> bool {
        let waits = FileState::Waiting { next_at: until };
        if self.next_fetch_time().is_none() || (self.is_blocked && self.state == waits) {
            return false;
        }
        self.is_blocked = true;
        self.is_under_way = false;
        self.state = waits;
        true
    }

    /// Records that a fetch failed and may be repeated. `not_before` is the earliest time for that, if the provider set
    /// one.
    pub fn postpone_fetch(&mut self, now: Timestamp, not_before: Option<Timestamp>) {
        self.is_under_way = false;
        let made = self.attempts as usize;
        let Some(wait) = WAITS.get(made.saturating_sub(1)) else {
            self.state = FileState::Lost {
                reason: FileLoss::TooManyAttempts,
            };
            return;
        };
        let next_at = add_duration(now, *wait);
        self.is_blocked = not_before.is_some_and(|earliest| earliest > next_at);
        self.state = FileState::Waiting {
            next_at: not_before.map_or(next_at, |earliest| next_at.max(earliest)),
        };
    }
}

/// Returns the key under which the bytes of a message's file are stored. It holds ids alone.
pub fn file_key(tenant: &TenantId, message: &MessageId) -> String {
    format!("{tenant}/{message}")
}

#[cfg(test)]
mod tests;
