use super::*;
use crate::content::{Content, Media};
use crate::millis::from_unix_millis;

fn at(minutes: i64) -> Timestamp {
    from_unix_millis(1_760_000_000_000 + minutes * 60_000)
}

fn stored(mime_type: &str) -> MessageFile {
    let media = Media {
        source: Some("4711".to_owned()),
        ..Media::from_kind(MediaKind::Document)
    };
    let mut file = MessageFile::expect_from_content(&Content::Media(media), at(0)).unwrap();
    let stored = StoredFile {
        mime_type: mime_type.to_owned(),
        bytes: 8,
        sha256: "ab".to_owned(),
        refused: None,
    };
    file.record_stored(MediaKind::Document, stored, at(0));
    file
}

#[test]
fn a_reading_whose_end_nobody_recorded_is_known_as_cut_off_also_after_a_start() {
    let mut file = stored("text/csv");
    assert!(!file.was_reading_cut_off(at(0)), "nobody read it yet");
    assert!(file.begin_next_reading(at(0), at(2)));
    assert!(!file.was_reading_cut_off(at(1)), "it is being read");
    assert!(file.was_reading_cut_off(at(2)));
    assert!(file.free_work(at(1)) && file.was_reading_cut_off(at(1)));
    let mut postponed = stored("text/csv");
    assert!(postponed.begin_next_reading(at(0), at(2)));
    postponed.is_under_way = false;
    postponed.postpone_reading(at(0), None);
    assert!(!postponed.was_reading_cut_off(at(60)));
}

#[test]
fn a_stored_recording_waits_for_its_text_and_a_picture_for_nothing() {
    assert_eq!(stored("image/png").next_work_time(), None);
    let mut file = stored("audio/ogg");
    assert_eq!(
        (file.next_fetch_time(), file.next_work_time()),
        (None, Some(at(2)))
    );
    assert!(file.begin_next_reading(at(0), at(1)));
    assert!(!file.begin_next_reading(at(0), at(1)), "it is being read");
    assert_eq!(file.describe_gap(), Some("not read yet"));
    file.postpone_reading(at(0), Some(at(9)));
    assert_eq!(file.next_work_time(), Some(at(9)));
    assert!(file.put_off(at(20)));
    assert!(!file.may_be_read(at(19)) && file.may_be_read(at(20)));
    let text = "Oi".to_owned();
    file.text = Some(FileText::Found(FoundText::within_limit(
        FileTextSource::Transcript,
        text,
        false,
        None,
    )));
    assert!(!file.put_off(at(30)) && file.next_work_time().is_none());
    assert_eq!(file.describe_gap(), None);
}

#[test]
fn a_file_that_is_kept_no_longer_leaves_its_text() {
    let (mut picture, mut recording) = (stored("image/png"), stored("audio/ogg"));
    for file in [&mut picture, &mut recording] {
        file.kept_until = Some(at(60));
    }
    assert_eq!(picture.next_work_time(), Some(at(60)));
    assert_eq!(recording.next_work_time(), Some(at(2)), "its text is read first");
    recording.text = Some(FileText::Found(FoundText::within_limit(
        FileTextSource::Transcript,
        "Oi".to_owned(),
        false,
        None,
    )));
    assert_eq!(recording.next_work_time(), Some(at(60)));
    assert!(!recording.is_expired(at(59)) && recording.is_expired(at(60)));
    for file in [&mut picture, &mut recording] {
        file.record_expired();
        assert!(!file.is_expired(at(61)) && file.next_work_time().is_none());
    }
    assert_eq!(
        picture.describe_gap(),
        Some("not shown: the file is kept no longer")
    );
    assert_eq!(
        (recording.describe_gap(), recording.found_text().is_some()),
        (None, true)
    );
}

#[test]
fn a_text_that_fails_or_crashes_every_time_is_given_up() {
    let (mut failing, mut crashing, mut now) = (stored("audio/ogg"), stored("audio/ogg"), at(0));
    let mut readings = 0;
    while let Some(next_at) = failing.next_work_time() {
        now = now.max(next_at);
        assert!(failing.begin_next_reading(now, at(1_000_000)));
        failing.postpone_reading(now, None);
        readings += 1;
    }
    for minutes in 1..=20 {
        crashing.begin_next_reading(at(minutes * 5), at(minutes * 5));
    }
    assert_eq!(readings, 9);
    let missing = Some(FileText::Missing {
        reason: TextGap::TooManyAttempts,
    });
    assert_eq!((&failing.text, &crashing.text), (&missing, &missing));
}

#[test]
fn a_recording_is_transcribed_a_document_read_and_a_picture_looked_at() {
    use FileTextSource::{Document, Transcript};
    for (kind, mime_type, expected) in [
        (MediaKind::Voice, "audio/ogg", Some(Transcript)),
        (MediaKind::Audio, "video/mp4", Some(Transcript)),
        (MediaKind::Document, "audio/mpeg", Some(Transcript)),
        (MediaKind::Document, "text/csv", Some(Document)),
        (MediaKind::Document, "application/octet-stream", Some(Document)),
        (MediaKind::Document, "application/pdf", None),
        (MediaKind::Document, "image/png", None),
        (MediaKind::Image, "image/jpeg", None),
        (MediaKind::Video, "video/mp4", None),
    ] {
        assert_eq!(choose_text_source(kind, mime_type), expected, "{mime_type}");
    }
}

#[test]
fn a_long_text_is_kept_up_to_the_limit_and_says_so() {
    let keep = |text: &str| FoundText::within_limit(FileTextSource::Document, text.to_owned(), false, None);
    let exact = "é".repeat(FILE_TEXT_CHARS_MAX);
    assert_eq!((keep(&exact).text, keep(&exact).is_cut), (exact.clone(), false));
    let longer = keep(&format!("{exact}x"));
    assert_eq!((longer.text, longer.is_cut), (exact, true));
}
