use super::*;
use crate::content::{Media, MediaKind};
use crate::millis::from_unix_millis;

fn at(minutes: i64) -> Timestamp {
    from_unix_millis(1_760_000_000_000 + minutes * 60_000)
}

fn waiting() -> MessageFile {
    let media = Media {
        source: Some("4711".to_owned()),
        ..Media::from_kind(MediaKind::Image)
    };
    MessageFile::expect_from_content(&Content::Media(media), at(0)).unwrap()
}

#[test]
fn only_a_file_that_can_be_fetched_is_waited_for() {
    let media = |source: Option<&str>, view_once| {
        Content::Media(Media {
            source: source.map(str::to_owned),
            view_once,
            ..Media::from_kind(MediaKind::Video)
        })
    };
    assert!(MessageFile::expect_from_content(&media(Some("1"), false), at(0)).is_some());
    assert_eq!(MessageFile::expect_from_content(&media(None, false), at(0)), None);
    assert_eq!(
        MessageFile::expect_from_content(&media(Some("1"), true), at(0)),
        None
    );
    assert_eq!(
        MessageFile::expect_from_content(&Content::from_text("a"), at(0)),
        None
    );
}

#[test]
fn a_turn_fetches_at_once_and_a_second_worker_waits_for_the_first() {
    let mut file = waiting();
    assert_eq!(file.next_fetch_time(), Some(at(2)));
    assert!(file.begin_next_fetch(at(0), at(1)));
    assert!(
        !file.clone().begin_next_fetch(at(0), at(1)),
        "it is being fetched"
    );
    assert!(file.begin_next_fetch(at(1), at(2)), "the first worker crashed");
    assert_eq!(file.attempts, 2);
}

#[test]
fn a_fetch_that_failed_is_begun_anew_unless_somebody_fetches_or_nobody_may() {
    let mut file = waiting();
    assert!(file.begin_next_fetch(at(0), at(1)));
    assert!(!file.clone().begin_fetch_again(at(1)), "it is under way");
    file.postpone_fetch(at(0), None);
    assert!(!file.may_be_fetched(at(0)));
    let mut blocked = file.clone();
    assert!(blocked.wait_for_downloads(at(30)) && !blocked.begin_fetch_again(at(1)));
    assert!(file.begin_fetch_again(at(1)));
    assert_eq!(file.attempts, 2);
}

#[test]
fn failed_fetches_are_repeated_for_a_week_and_then_given_up() {
    let (mut file, mut now) = (waiting(), at(0));
    let mut fetches = 0;
    while let Some(next_at) = file.next_fetch_time() {
        now = now.max(next_at);
        assert!(file.begin_next_fetch(now, at(1_000_000)));
        file.postpone_fetch(now, None);
        fetches += 1;
    }
    assert_eq!(fetches, 9);
    assert_eq!(
        file.state,
        FileState::Lost {
            reason: FileLoss::TooManyAttempts
        }
    );
    let days = now.duration_since(at(0)).as_hours() / 24;
    assert!((6..=7).contains(&days), "{days}");
}

#[test]
fn workers_that_crash_at_every_fetch_give_it_up() {
    let (mut file, mut now) = (waiting(), at(0));
    for _ in 0..20 {
        now = add_duration(now, SignedDuration::from_mins(5));
        file.begin_next_fetch(now, now);
    }
    assert_eq!((file.attempts, file.next_fetch_time()), (9, None));
}

#[test]
fn a_provider_may_put_a_fetch_off() {
    let mut file = waiting();
    assert!(file.begin_next_fetch(at(0), at(1)));
    file.postpone_fetch(at(0), Some(at(30)));
    assert_eq!(file.next_fetch_time(), Some(at(30)));
}

#[test]
fn a_record_says_its_state_in_a_word() {
    let mut file = waiting();
    let json = serde_json::to_value(&file).unwrap();
    assert_eq!(
        json,
        serde_json::json!({"state": "waiting", "next_at": 1_760_000_120_000_i64})
    );
    file.state = FileState::Stored(StoredFile {
        mime_type: "image/png".to_owned(),
        bytes: 8,
        sha256: "ab".to_owned(),
        refused: None,
    });
    file.attempts = 1;
    let json = serde_json::to_value(&file).unwrap();
    let mut expected = serde_json::json!({"state": "stored", "mime_type": "image/png", "bytes": 8, "sha256": "ab",
        "attempts": 1});
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<MessageFile>(json).unwrap(), file);
    let found = FoundText::within_limit(
        crate::file_text::FileTextSource::Transcript,
        "Oi".to_owned(),
        false,
        None,
    );
    file.text = Some(FileText::Found(found));
    let json = serde_json::to_value(&file).unwrap();
    expected["text"] = serde_json::json!({"state": "found", "source": "transcript", "text": "Oi"});
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<MessageFile>(json).unwrap(), file);
}
