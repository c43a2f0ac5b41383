//! Reads the texts of stored files: what is said in recordings, and what documents say. Each is read once and kept with its
//! message.

use crate::file_record::{ChangedFile, LEASE_MARGIN, change_file_record, work_within};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::content::Media;
use recado_domain::file_text::FileTextSource;
use recado_domain::media_type::MediaType;
use recado_domain::message::{FileText, FoundText, Message, MessageFile, TextGap, TranscriptUse};
use recado_domain::millis::add_duration;
use recado_domain::usage::resolve_usage_day;
use recado_pipeline::Deps;
use recado_ports::ports::{
    DocumentToRead, FileError, PortResult, ReadingFailure, Recording, RecordingUse, TranscriptionError,
};

/// Largest document whose text is read, in bytes. A larger one is not brought into memory.
const DOCUMENT_BYTES_MAX: u64 = 20_000_000;

/// Time that is left at the end of a reading to record what came of it.
const RECORD_MARGIN: SignedDuration = SignedDuration::from_secs(2);

/// Shortest time for which the reading of a document is begun.
const DOCUMENT_TIME_MIN: SignedDuration = SignedDuration::from_secs(2);

/// The reason why a text was not read and may be read later.
struct ReadLater {
    why: String,
    after: Option<SignedDuration>,
}

/// The result of reading the text of a file.
enum Reading {
    /// The text, and what its transcription used.
    Found(FoundText, Option<RecordingUse>),
    /// The file has no text, for good.
    Missing(TextGap),
    /// The text may be read later.
    Later(ReadLater),
}

impl Reading {
    fn later(why: String) -> Self {
        Self::Later(ReadLater { why, after: None })
    }
}

/// Has the texts of files read for at most `within`. Returns the messages that changed.
pub(crate) async fn read_texts_within(
    deps: &Deps,
    bound: &InstanceConfig,
    messages: Vec<Message>,
    within: SignedDuration,
) -> Vec<Message> {
    let until = add_duration(deps.system().now(), within - RECORD_MARGIN);
    let read = |message| read_message_text(deps, bound, message, until);
    work_within(deps, messages, within, read).await
}

/// Returns the messages whose files are stored and may be read now.
pub(crate) fn list_unread_files<'a>(
    messages: impl Iterator<Item = &'a Message>,
    now: Timestamp,
) -> Vec<Message> {
    let waits = |message: &&Message| {
        let file = message.file.as_ref();
        file.is_some_and(|file| file.may_be_read(now))
    };
    messages.filter(waits).cloned().collect()
}

/// Reads the text of a message's file, and records it. The attempt is counted before the file is opened. The reading of a document ends at
/// `until`, so that its end is always recorded. Returns the changed message; `None` if nothing was to be read, or the message is gone.
async fn read_message_text(
    deps: &Deps,
    bound: &InstanceConfig,
    message: Message,
    until: Timestamp,
) -> PortResult<Option<Message>> {
    let Some((media, file)) = message.content.media_file().zip(message.file.as_ref()) else {
        return Ok(None);
    };
    let Some((source, stored)) = file.text_source(media.media).zip(file.stored()) else {
        return Ok(None);
    };
    let (media, bytes) = (media.clone(), stored.bytes);
    let simulated = deps.providers().is_simulated(&bound.instance).await;
    let now = deps.system().now();
    let is_document = source == FileTextSource::Document;
    let gap = if is_document && file.was_reading_cut_off(now) {
        // It may have taken the process down with it, and would do so again.
        Some(TextGap::Unreadable)
    } else {
        find_text_gap(deps, source, bytes, simulated)
    };
    if let Some(reason) = gap {
        let misses =
            |file: &mut MessageFile| file.may_be_read(now) && settle(file, &Reading::Missing(reason), now);
        return Ok(find_changed(change_file_record(deps, message, misses).await?));
    }
    if is_document && until.duration_since(now) < DOCUMENT_TIME_MIN {
        return Ok(None);
    }
    let leased = add_duration(now, deps.settings().file_timeout + LEASE_MARGIN);
    let begins = |file: &mut MessageFile| file.begin_next_reading(now, leased);
    let ChangedFile::Written(message) = change_file_record(deps, message, begins).await? else {
        return Ok(None);
    };
    let waits = message.file.as_ref().and_then(MessageFile::next_reading_time);
    if waits.is_none() {
        return Ok(Some(message));
    }
    let mut read = match source {
        FileTextSource::Transcript => read_recording(deps, &message, &media, simulated).await?,
        FileTextSource::Document => read_document(deps, &message, &media, until).await?,
    };
    if let Reading::Found(found, Some(used)) = &mut read {
        found.used = Some(Box::new(TranscriptUse {
            agent: bound.agent.id.clone(),
            day: resolve_usage_day(deps.system().now()),
            kept: bound.tenant.retention.usage,
            audio_millis: used.audio_millis,
            tokens: used.tokens,
        }));
    }
    log_reading(&message, &read);
    let now = deps.system().now();
    let settles = |file: &mut MessageFile| settle(file, &read, now);
    Ok(find_changed(change_file_record(deps, message, settles).await?))
}

fn find_changed(changed: ChangedFile) -> Option<Message> {
    match changed {
        ChangedFile::Written(message) | ChangedFile::Same(message) => Some(message),
        ChangedFile::Gone => None,
    }
}

/// Returns the reason for which a text cannot be read, where it is known without the bytes.
fn find_text_gap(deps: &Deps, source: FileTextSource, bytes: u64, simulated: bool) -> Option<TextGap> {
    match source {
        FileTextSource::Transcript => deps
            .llm()
            .explain_refusal(bytes, simulated)
            .and_then(|why| why.text_gap()),
        FileTextSource::Document => (bytes > DOCUMENT_BYTES_MAX).then_some(TextGap::TooLarge),
    }
}

/// Records what came of a reading. Returns `false` if another worker read the text meanwhile.
fn settle(file: &mut MessageFile, read: &Reading, now: Timestamp) -> bool {
    if !matches!(file.text, Some(FileText::Waiting { .. })) {
        return false;
    }
    file.is_under_way = false;
    match read {
        Reading::Found(found, _) => file.text = Some(FileText::Found(found.clone())),
        Reading::Missing(reason) => file.text = Some(FileText::Missing { reason: *reason }),
        Reading::Later(later) => {
            file.postpone_reading(now, later.after.map(|after| add_duration(now, after)));
        }
    }
    true
}

fn log_reading(message: &Message, read: &Reading) {
    let id = message.message_id();
    match read {
        Reading::Found(found, _) => {
            tracing::info!(message_id = %id, source = found.source.as_str(), "read the text of a file");
        }
        Reading::Missing(reason) => {
            tracing::warn!(message_id = %id, reason = reason.as_str(), "a file has no text");
        }
        Reading::Later(later) => {
            tracing::warn!(message_id = %id, error = %later.why, "the text of a file has to wait");
        }
    }
}

/// Opens a stored file and finds its type. The error is what came of the reading instead.
async fn open_file(
    deps: &Deps,
    message: &Message,
    media: &Media,
) -> PortResult<Result<(Vec<u8>, MediaType), Reading>> {
    let opened = match message.file_key() {
        Some(key) => deps.queues().open_file(&key).await?,
        None => None,
    };
    let Some(opened) = opened else {
        return Ok(Err(Reading::Missing(TextGap::Unreadable)));
    };
    let bytes = match opened.read_all().await {
        Ok(bytes) => bytes,
        Err(FileError::Store(error)) => return Err(error),
        Err(error) => return Ok(Err(Reading::later(error.to_string()))),
    };
    let media_type = MediaType::from_file(&bytes, media.file_name.as_deref());
    Ok(media_type
        .map(|media_type| (bytes, media_type))
        .ok_or(Reading::Missing(TextGap::OtherType)))
}

/// Opens a stored recording and has it transcribed.
async fn read_recording(
    deps: &Deps,
    message: &Message,
    media: &Media,
    simulated: bool,
) -> PortResult<Reading> {
    let (bytes, media_type) = match open_file(deps, message, media).await? {
        Ok(opened) => opened,
        Err(reading) => return Ok(reading),
    };
    if !media_type.is_transcribable() {
        return Ok(Reading::Missing(TextGap::OtherType));
    }
    let recording = Recording {
        bytes,
        media_type,
        simulated,
    };
    Ok(transcribe(deps, recording).await)
}

/// Opens a stored document and reads its text, at most until `until`.
async fn read_document(
    deps: &Deps,
    message: &Message,
    media: &Media,
    until: Timestamp,
) -> PortResult<Reading> {
    let (bytes, media_type) = match open_file(deps, message, media).await? {
        Ok(opened) => opened,
        Err(reading) => return Ok(reading),
    };
    if !media_type.has_readable_text() {
        return Ok(Reading::Missing(TextGap::OtherType));
    }
    let left = until.duration_since(deps.system().now());
    if !left.is_positive() {
        return Ok(Reading::later("no time was left to read it".to_owned()));
    }
    let document = DocumentToRead {
        tenant: &message.tenant,
        bytes,
        media_type,
        charset: None,
    };
    Ok(
        match deps.llm().read_document(document, left.unsigned_abs()).await {
            Ok(read) => {
                let found = FoundText::within_limit(FileTextSource::Document, read.text, read.is_cut, None);
                Reading::Found(found, None)
            }
            Err(ReadingFailure::Gap(reason)) => Reading::Missing(reason),
            Err(failure) => Reading::later(failure.to_string()),
        },
    )
}

async fn transcribe(deps: &Deps, recording: Recording) -> Reading {
    let error: TranscriptionError = match deps.llm().transcribe_recording(recording).await {
        Ok(told) => {
            let source = FileTextSource::Transcript;
            let found = FoundText::within_limit(source, told.text, false, Some(told.model));
            return Reading::Found(found, Some(told.used));
        }
        Err(error) => error,
    };
    match error.text_gap() {
        Some(reason) => Reading::Missing(reason),
        None => Reading::Later(ReadLater {
            after: error
                .retry_after()
                .and_then(|after| SignedDuration::try_from(after).ok()),
            why: error.to_string(),
        }),
    }
}
