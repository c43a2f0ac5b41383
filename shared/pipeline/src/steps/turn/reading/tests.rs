use super::*;
use crate::steps::turn::transcript::tests::message as said;
use crate::steps::turn::transcript::{ShownFiles, build_transcript};
use proptest::prelude::*;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::file_text::FileTextSource;
use recado_domain::message::{FileState, FileText, FoundText, MessageFile, StoredFile};
use recado_domain::reason::Reason;
use recado_ports::settings::Settings;

/// A message of the contact.
fn asked(ordinal: u64, text: &str) -> Message {
    let written = i64::try_from(ordinal).unwrap();
    said(ordinal, Role::User, written, text)
}

fn replied(ordinal: u64) -> Message {
    said(
        ordinal,
        Role::Assistant,
        i64::try_from(ordinal).unwrap(),
        &format!("reply {ordinal}"),
    )
}

fn asked_all(ordinals: std::ops::RangeInclusive<u64>) -> Vec<Message> {
    ordinals
        .map(|ordinal| asked(ordinal, &format!("m{ordinal}")))
        .collect()
}

fn bounds() -> TurnReadLimits {
    Settings::default().turn_reads
}

fn read(reading: &TurnReading) -> Vec<u64> {
    reading
        .chosen_messages()
        .map(|message| message.ordinal.0)
        .collect()
}

fn of(answered: u64, upto: u64, known: &[Message], bounds: &TurnReadLimits) -> TurnReading {
    TurnReading::choose_messages(Ordinal(answered), Ordinal(upto), known.to_vec(), bounds)
}

#[test]
fn what_was_said_before_fills_what_is_left_the_newest_first() {
    let mut known = asked_all(1..=25);
    known[23] = replied(24);
    let reading = of(24, 25, &known, &bounds());
    assert_eq!(read(&reading), (6..=25).collect::<Vec<_>>());
    assert_eq!(reading.covers, Ordinal(25));
}

#[test]
fn of_more_than_it_can_read_a_turn_reads_and_covers_the_oldest() {
    let reading = of(5, 35, &asked_all(1..=35), &bounds());
    assert_eq!(read(&reading), (6..=25).collect::<Vec<_>>());
    assert_eq!(reading.covers, Ordinal(25));
}

#[test]
fn what_comes_after_the_turn_is_not_read() {
    let reading = of(2, 4, &asked_all(1..=6), &bounds());
    assert_eq!(read(&reading), [1, 2, 3, 4]);
    assert_eq!(reading.covers, Ordinal(4));
}

#[test]
fn what_wants_no_answer_takes_no_place_from_what_does() {
    let mut known = asked_all(1..=40);
    for message in &mut known[0..25] {
        message.unanswered = Some(Reason::Stale);
    }
    known[25].content = Content::Reaction {
        target: None,
        emoji: Some("👍".to_owned()),
    };
    let reading = of(0, 40, &known, &bounds());
    assert_eq!(reading.covers, Ordinal(40), "fourteen are owed");
    assert_eq!(read(&reading), (21..=40).collect::<Vec<_>>());
}

#[test]
fn long_messages_leave_room_for_fewer() {
    let long = "x".repeat(9_000);
    let known: Vec<Message> = (1..=10).map(|ordinal| asked(ordinal, &long)).collect();
    let reading = of(0, 10, &known, &bounds());
    assert_eq!(
        read(&reading),
        [1, 2, 3, 4],
        "8,000 characters and a line's end of each"
    );
    assert_eq!(reading.covers, Ordinal(4));
}

#[test]
fn one_message_is_read_however_long_it_is() {
    let known = [asked(1, &"x".repeat(100_000)), asked(2, "oi")];
    let bounds = TurnReadLimits {
        message_chars: 90_000,
        ..bounds()
    };
    let reading = of(0, 2, &known, &bounds);
    assert_eq!((read(&reading), reading.covers), (vec![1], Ordinal(1)));
    let turns = build_transcript(&reading, ShownFiles::default(), None);
    assert!(
        turns[0]
            .text
            .ends_with("x… [cut: the first 40000 of 100000 characters]")
    );
}

#[test]
fn nothing_behind_a_message_that_is_missing_is_covered() {
    let known = [asked(3, "c"), asked(5, "e"), asked(6, "f")];
    assert_eq!(of(2, 6, &known, &bounds()).covers, Ordinal(3));
    assert_eq!(of(1, 6, &known, &bounds()).covers, Ordinal(1), "nothing");
}

#[test]
fn an_edit_whose_first_words_are_not_read_is_said_anew() {
    let mut known = asked_all(1..=25);
    known[0].unanswered = Some(Reason::Stale);
    known[0].provider_message_id = Some("A".to_owned());
    known[24].content = Content::Edit {
        target: Some("A".to_owned()),
        content: Box::new(Content::from_text("sexta")),
    };
    let few = TurnReadLimits {
        messages: 2,
        ..bounds()
    };
    let reading = of(23, 25, &known, &few);
    assert_eq!(
        build_transcript(&reading, ShownFiles::default(), None)[0].text,
        "m24\n[edited] sexta"
    );
}

#[test]
fn what_was_taken_back_later_than_a_turn_reads_is_not_shown_by_it() {
    let mut known = asked_all(1..=30);
    known[2].provider_message_id = Some("A".to_owned());
    known[28].content = Content::Deletion {
        target: Some("A".to_owned()),
    };
    let reading = of(0, 30, &known, &bounds());
    assert_eq!(reading.covers, Ordinal(20));
    let text = &build_transcript(&reading, ShownFiles::default(), None)[0].text;
    assert!(text.contains("m2\n[message deleted]\nm4\n"), "{text}");
}

proptest! {
    #[test]
    fn what_is_covered_is_read_and_the_bounds_hold(
        sizes in proptest::collection::vec((0u8..4, 0usize..300), 1..60),
        answered in 0u64..60,
        messages in 1usize..12,
        message_chars in 20usize..200,
        transcript_chars in 20usize..600,
    ) {
        let known: Vec<Message> = (1..).zip(&sizes).map(|(ordinal, (kind, size))| match kind {
            0 => replied(ordinal),
            1 => Message { unanswered: Some(Reason::Stale), ..asked(ordinal, &"s".repeat(*size)) },
            _ => asked(ordinal, &format!("m{ordinal} {}", "x".repeat(*size))),
        }).collect();
        let newest = known.iter().rev().find(|message| wants_answer(message) && message.ordinal.0 > answered);
        prop_assume!(newest.is_some());
        let upto = newest.unwrap().ordinal.0;
        let bounds = TurnReadLimits { messages, message_chars, transcript_chars };
        let reading = of(answered, upto, &known, &bounds);
        prop_assert!(reading.covers.0 > answered && reading.covers.0 <= upto);
        let owed = known.iter().filter(|message| wants_answer(message));
        for message in owed.filter(|message| message.ordinal.0 > answered && message.ordinal <= reading.covers) {
            prop_assert!(read(&reading).contains(&message.ordinal.0), "{} is covered unread", message.ordinal);
        }
        prop_assert!(read(&reading).len() <= messages);
        let mark = "… [cut: the first 100 of 1000 characters]".chars().count();
        let shown: usize = build_transcript(&reading, ShownFiles::default(), None).iter().map(|turn| turn.text.chars().count()).sum();
        prop_assert!(shown <= transcript_chars + 1 + messages * mark, "{shown} characters");
    }
}

/// A document of the contact whose text has so many characters.
fn document(ordinal: u64, chars: usize) -> Message {
    let found = FoundText::within_limit(FileTextSource::Document, "d".repeat(chars), false, None);
    let stored = StoredFile {
        mime_type: "text/plain".to_owned(),
        bytes: 1,
        sha256: String::new(),
        refused: None,
    };
    Message {
        content: Content::Media(Media::from_kind(MediaKind::Document)),
        file: Some(MessageFile {
            state: FileState::Stored(stored),
            attempts: 1,
            is_under_way: false,
            from_webhook: false,
            is_blocked: false,
            kept_until: None,
            text: Some(FileText::Found(found)),
        }),
        ..asked(ordinal, "")
    }
}

/// Number of characters that a turn reads of the contact's documents.
fn document_chars(reading: &TurnReading) -> usize {
    let turns = build_transcript(reading, ShownFiles::default(), None);
    let texts = turns.iter().flat_map(|turn| turn.text.lines());
    texts
        .filter(|line| line.starts_with("ddd"))
        .map(|line| line.chars().take_while(|c| *c == 'd').count())
        .sum()
}

#[test]
fn the_texts_of_files_count_like_words_and_take_room_from_what_was_said_before() {
    let bounds = TurnReadLimits {
        messages: 20,
        message_chars: 100,
        transcript_chars: 300,
    };
    let mut known = asked_all(1..=8);
    for (place, ordinal) in [(2, 3), (4, 5), (6, 7)] {
        known[place] = document(ordinal, 100);
    }
    let reading = of(7, 8, &known, &bounds);
    assert_eq!(read(&reading), [4, 5, 6, 7, 8], "the third document does not fit");
    assert_eq!(document_chars(&reading), 200);
    // The text of a file that the turn itself reads leaves no room for the older.
    known[7] = document(8, 0);
    let mut reading = of(7, 8, &known, &bounds);
    assert_eq!(read(&reading), [4, 5, 6, 7, 8]);
    reading.replace_messages(vec![document(8, 100)]);
    assert_eq!(read(&reading), [6, 7, 8]);
    assert_eq!((reading.covers, document_chars(&reading)), (Ordinal(8), 200));
}
