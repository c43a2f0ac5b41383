//! A set of bursts, played through the real turn-taking in virtual time, with a model that takes 0.8 s: how many are answered once, before
//! how many a reply leaves too soon, and how long their authors wait.
//!
//! `RECADO_BURSTS=FILE` plays another file of the same form. Each line is a burst: a list of messages, alone or under
//! `messages`, with `gap_ms` since the message before, `text` and `kind` (`text`, `audio`, `image` …). A line may also be a
//! single message; then a `gap_ms` of 0, or none, begins a burst.

use crate::played_lines::{Line, MODEL_MS, list_messages, millis_between, play_lines};
use crate::world::Setup;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::reason::Reason;
use recado_pipeline::Settings;
use recado_testkit::builders::Fixture;
use serde_json::Value;
use std::fmt::Write as _;

const OWN: &str = include_str!("../../bursts/bursts.jsonl");

/// Bursts that were written later than the rules for most of them, each once.
const LATER: &str = include_str!("../../bursts/later.jsonl");

/// A pause from which on the next message begins a burst of its own: the longest wait of a burst.
const APART_MS: i64 = 20_000;

/// Longest pause of an author who writes on at once, in milliseconds.
const QUICK_MS: i64 = 2_000;

#[derive(Debug)]
struct Said {
    gap_ms: i64,
    content: Content,
}

#[derive(Debug)]
struct Burst {
    what: String,
    messages: Vec<Said>,
}

fn said(message: &Value) -> Said {
    let text = message["text"].as_str().unwrap_or_default().to_owned();
    let file = |media| {
        let caption = (!text.is_empty()).then(|| text.clone());
        Content::Media(Media {
            caption,
            ..Media::from_kind(media)
        })
    };
    let content = match message["kind"].as_str().unwrap_or("text") {
        "audio" => file(MediaKind::Audio),
        "voice" => file(MediaKind::Voice),
        "image" | "photo" => file(MediaKind::Image),
        "video" => file(MediaKind::Video),
        "document" => file(MediaKind::Document),
        "sticker" => file(MediaKind::Sticker),
        _ => Content::from_text(text),
    };
    Said {
        gap_ms: message["gap_ms"].as_i64().unwrap_or_default(),
        content,
    }
}

fn read(file: &str) -> Vec<Burst> {
    let mut bursts: Vec<Burst> = Vec::new();
    for line in file.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).unwrap();
        let what = value["what"].as_str().unwrap_or("burst").to_owned();
        let list = value.as_array().or_else(|| value["messages"].as_array());
        if let Some(messages) = list {
            let messages = messages.iter().map(said).collect();
            bursts.push(Burst { what, messages });
            continue;
        }
        let message = said(&value);
        match bursts.last_mut() {
            Some(burst) if message.gap_ms > 0 => burst.messages.push(message),
            _ => bursts.push(Burst {
                what,
                messages: vec![message],
            }),
        }
    }
    bursts
}

/// What came of a burst.
#[derive(Debug, Clone)]
struct Played {
    what: String,
    /// Each of its parts was answered once.
    is_once: bool,
    /// A reply left before the last message of a part.
    is_early: bool,
    /// Its author never paused for more than 2 s within a part.
    is_quick: bool,
    /// Time from the last message that each part's reply answers to this reply, in milliseconds.
    waits: Vec<i64>,
}

/// The part of `all` for which `holds` is true, in per cent.
fn share(all: &[Played], holds: impl Fn(&Played) -> bool) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap());
    let held = all.iter().filter(|played| holds(played)).count();
    100.0 * number(held) / number(all.len())
}

fn sort_waits(all: &[Played], of: impl Fn(&str) -> bool) -> Vec<i64> {
    let of = all.iter().filter(|played| of(&played.what));
    let mut waits: Vec<i64> = of.flat_map(|played| played.waits.clone()).collect();
    waits.sort_unstable();
    waits
}

/// Prints the figures of some bursts, and holds their bars.
fn assert_bars(name: &str, part: &[Played]) {
    let quick: Vec<Played> = part.iter().filter(|played| played.is_quick).cloned().collect();
    let once = share(part, |played| played.is_once);
    let [early, quick_early] = [part, &quick].map(|part| share(part, |played| played.is_early));
    let waits = sort_waits(part, |_| true);
    let median = waits[waits.len() / 2];
    let single = sort_waits(part, |what| what == "single_question")
        .last()
        .copied()
        .unwrap_or_default();
    let mut figures = format!("{name}: {} bursts, {once:.1} % answered once", part.len());
    write!(
        figures,
        ", {early:.1} % early ({quick_early:.1} % of {} with pauses up to 2 s), median wait {median} ms",
        quick.len()
    )
    .unwrap();
    write!(figures, ", single questions {single} ms at most").unwrap();
    println!("{figures}");
    assert!(once >= 99.0 && quick_early <= 1.0, "{figures}");
    assert!(median < 2_800 && single < 3_000, "{figures}");
}

/// Plays all bursts one after the other, each by a contact of its own.
async fn play_all(bursts: Vec<Burst>) -> Vec<Played> {
    let mut setup = Setup::set(Fixture::new()).await;
    setup.world.deps_mut().settings_mut().debounce = Settings::default().debounce;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    let mut played = Vec::new();
    for (place, burst) in bursts.into_iter().enumerate() {
        setup.fixture = setup.fixture.other_contact();
        let (mut lines, mut at) = (Vec::new(), setup.now());
        for (number, said) in burst.messages.iter().enumerate() {
            at = add_millis(at, said.gap_ms);
            lines.push(Line {
                at,
                id: format!("W{place}-{number}"),
                content: said.content.clone(),
            });
        }
        play_lines(&setup, MODEL_MS, lines).await;
        let conversation = setup.latest_conversation().await.unwrap();
        played.push(judge(burst, &conversation, &list_messages(&setup).await));
    }
    played
}

/// Judges what came of each part of a burst (what is not 20 s apart). What the reply to a part does not cover must say that it only
/// corrects the spelling of what it does.
fn judge(burst: Burst, conversation: &Conversation, messages: &[Message]) -> Played {
    let (asked, replies): (Vec<_>, Vec<_>) = messages.iter().partition(|message| message.out.is_none());
    assert_eq!(asked.len(), burst.messages.len());
    let mut pauses = burst.messages.iter().map(|said| said.gap_ms);
    let (mut played, mut answered) = (
        Played {
            is_quick: pauses.all(|pause| pause <= QUICK_MS || pause >= APART_MS),
            what: burst.what,
            is_once: true,
            is_early: false,
            waits: Vec::new(),
        },
        0,
    );
    for (number, message) in asked.iter().enumerate() {
        let next = burst.messages.get(number + 1);
        if next.is_some_and(|next| next.gap_ms < APART_MS) {
            continue;
        }
        // The last message of its part.
        let covers = |reply: &Message| reply.out.as_ref().unwrap().covers;
        let of_part: Vec<_> = replies
            .iter()
            .filter(|reply| covers(reply).0 > answered && covers(reply) <= message.ordinal)
            .collect();
        played.is_once &= of_part.len() == 1;
        played.is_early |= of_part.iter().any(|reply| reply.stored_at < message.stored_at);
        if let Some(reply) = of_part.last() {
            let part = asked[..=number].iter().filter(|said| said.ordinal.0 > answered);
            let mut read = part.clone().filter(|said| said.ordinal <= covers(reply));
            let newest = read.next_back().unwrap();
            played
                .waits
                .push(millis_between(newest.stored_at, reply.stored_at));
            let mut uncovered = part.filter(|said| said.ordinal > covers(reply));
            played.is_once &= uncovered.all(|said| {
                conversation.find_silence_reason(said.ordinal) == Some(Reason::SpellingCorrection)
            });
        }
        answered = message.ordinal.0;
    }
    played
}

#[tokio::test]
async fn of_a_set_of_bursts_nearly_all_are_answered_once_and_their_authors_hardly_wait() {
    let unseen = std::env::var("RECADO_BURSTS").ok();
    let file = unseen.as_ref().map(|path| std::fs::read_to_string(path).unwrap());
    let bursts = read(file.as_deref().unwrap_or(OWN));
    assert!(unseen.is_some() || bursts.len() >= 300, "{}", bursts.len());
    let played = play_all(bursts).await;
    for (number, burst) in played.iter().enumerate() {
        if !burst.is_once || burst.is_early {
            println!("line {}: {burst:?}", number + 1);
        }
    }
    // The words and waits were chosen by the lines of odd numbers, counted from 1; the even ones were held back.
    let half = |rest| -> Vec<Played> {
        let of = played.iter().enumerate().filter(|(place, _)| place % 2 == rest);
        of.map(|(_, burst)| burst.clone()).collect()
    };
    assert_bars("all", &played);
    if unseen.is_none() {
        assert_bars("odd lines", &half(0));
        assert_bars("even lines", &half(1));
    }
}

#[tokio::test]
async fn bursts_that_were_written_later_are_answered_once_too() {
    let played = play_all(read(LATER)).await;
    assert!(played.len() >= 100);
    assert_bars("written later", &played);
}
