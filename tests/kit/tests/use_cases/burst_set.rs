//! A set of bursts, played through the real turn-taking in virtual time: how many are answered once, and how long the
//! debounce lets their authors wait.
//!
//! `RECADO_BURSTS=FILE` plays another file of the same form. Each line is a burst: a list of messages, alone or under
//! `messages`, with `gap_ms` since the message before, `text` and `kind` (`text`, `audio`, `image` …). A line may also be a
//! single message; then a `gap_ms` of 0, or none, begins a burst.

use crate::world::Setup;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::conversation::Conversation;
use recado_domain::debounce::Debounce;
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use recado_pipeline::ports::Conversations;
use recado_pipeline::{Verdict, reply};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::Value;
use std::fmt::Write as _;

const OWN: &str = include_str!("../../bursts/bursts.jsonl");

/// Bursts that were written later than the rules for most of them, each once.
const LATER: &str = include_str!("../../bursts/later.jsonl");

/// A pause from which on the next message begins a burst of its own: the longest wait of a burst.
const APART_MS: i64 = 20_000;

/// How often the turn jobs are looked at.
const TICK_MS: i64 = 20;

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

/// What came of the bursts.
#[derive(Debug, Default)]
struct Played {
    /// Of each burst: whether each of its parts was answered once, and for how long its last messages waited, in
    /// milliseconds.
    bursts: Vec<(String, bool, Vec<i64>)>,
}

impl Played {
    fn once(&self) -> f64 {
        let number = |count: usize| f64::from(u32::try_from(count).unwrap());
        let once = self.bursts.iter().filter(|(_, once, _)| *once).count();
        100.0 * number(once) / number(self.bursts.len())
    }

    fn waits(&self, of: impl Fn(&str) -> bool) -> Vec<i64> {
        let of = self.bursts.iter().filter(|(what, ..)| of(what));
        let mut waits: Vec<i64> = of.flat_map(|(.., waits)| waits.clone()).collect();
        waits.sort_unstable();
        waits
    }

    fn part(&self, of: impl Fn(usize) -> bool) -> Self {
        let bursts = self.bursts.iter().enumerate();
        Self {
            bursts: bursts
                .filter(|(place, _)| of(*place))
                .map(|(_, burst)| burst.clone())
                .collect(),
        }
    }

    fn figures(&self, name: &str) -> String {
        let (all, single) = (self.waits(|_| true), self.waits(|what| what == "single_question"));
        let mut text = format!(
            "{name}: {} bursts, {:.1} % answered once",
            self.bursts.len(),
            self.once()
        );
        let middle = |waits: &[i64]| waits.get(waits.len() / 2).copied().unwrap_or_default();
        write!(text, ", median wait {} ms", middle(&all)).unwrap();
        write!(
            text,
            ", single questions {} ms at most",
            single.last().unwrap_or(&0)
        )
        .unwrap();
        text
    }
}

/// Plays all bursts side by side, each by a contact of its own.
async fn play(bursts: Vec<Burst>) -> Played {
    let mut setup = Setup::set(Fixture::new()).await;
    setup.world.settings.debounce = Debounce::Adaptive(setup.world.settings.debounce_bounds);
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    let (mut posts, mut contacts) = (Vec::new(), Vec::new());
    for (place, burst) in bursts.iter().enumerate() {
        contacts.push(setup.fixture.other_contact());
        let mut at = 0;
        for (number, said) in burst.messages.iter().enumerate() {
            at += said.gap_ms;
            posts.push((at, place, format!("W{place}-{number}"), said.content.clone()));
        }
    }
    posts.sort_by_key(|(at, ..)| *at);
    let end = posts.last().map_or(0, |(at, ..)| *at) + 2 * APART_MS;
    let (mut posts, mut elapsed) = (posts.into_iter().peekable(), 0);
    while elapsed <= end {
        while let Some((_, place, id, content)) = posts.next_if(|(at, ..)| *at <= elapsed) {
            setup.sends(&contacts[place], &id, &content).await;
        }
        for job in setup.due_turns().await {
            let body = serde_json::to_string(&job).unwrap();
            assert_eq!(
                reply::handle_turn_message(&setup.world, &body, 1, None).await,
                Verdict::Done
            );
        }
        setup.world.system.pass(TICK_MS);
        elapsed += TICK_MS;
    }
    let mut played = Played::default();
    for (burst, contact) in bursts.into_iter().zip(&contacts) {
        let thread = contact.thread();
        let latest = setup.world.store.find_latest_conversation(&thread);
        let id = succeed(latest).await.unwrap().id;
        let (conversation, messages) = succeed(setup.world.store.find_with_history(&id, 200))
            .await
            .unwrap();
        let (once, waits) = judge(&burst, &conversation, &messages);
        played.bursts.push((burst.what, once, waits));
    }
    played
}

/// Returns whether each part of a burst (what is not 20 s apart) has one reply, and how long each part waited for it since its
/// last message before the reply. What the reply does not cover must say that it only corrects the spelling of what it does.
fn judge(burst: &Burst, conversation: &Conversation, messages: &[Message]) -> (bool, Vec<i64>) {
    let (asked, replies): (Vec<_>, Vec<_>) = messages.iter().partition(|message| message.out.is_none());
    assert_eq!(asked.len(), burst.messages.len());
    let (mut once, mut waits, mut answered) = (true, Vec::new(), 0);
    for (number, message) in asked.iter().enumerate() {
        let next = burst.messages.get(number + 1);
        if next.is_some_and(|next| next.gap_ms < APART_MS) {
            continue;
        }
        // The last message of its part.
        let covers = |reply: &Message| reply.out.as_ref().unwrap().covers;
        let mut of_part = replies
            .iter()
            .filter(|reply| covers(reply).0 > answered && covers(reply) <= message.ordinal);
        let (first, second) = (of_part.next(), of_part.next());
        once &= first.is_some() && second.is_none();
        if let Some(reply) = second.or(first) {
            let part = asked[..=number].iter().filter(|said| said.ordinal.0 > answered);
            let mut before = part.clone().filter(|said| said.stored_at <= reply.stored_at);
            let waited = reply
                .stored_at
                .duration_since(before.next_back().unwrap().stored_at);
            waits.push(i64::try_from(waited.as_millis()).unwrap());
            let mut uncovered = part.filter(|said| said.ordinal > covers(reply));
            once &= uncovered.all(|said| {
                conversation.find_silence_reason(said.ordinal) == Some(Reason::SpellingCorrection)
            });
        }
        answered = message.ordinal.0;
    }
    (once, waits)
}

#[tokio::test]
async fn of_a_set_of_bursts_nearly_all_are_answered_once_and_their_authors_hardly_wait() {
    let unseen = std::env::var("RECADO_BURSTS").ok();
    let file = unseen.as_ref().map(|path| std::fs::read_to_string(path).unwrap());
    let bursts = read(file.as_deref().unwrap_or(OWN));
    assert!(unseen.is_some() || bursts.len() >= 300, "{}", bursts.len());
    let played = play(bursts).await;
    // The words and waits were chosen by the lines of odd numbers, counted from 1; the even ones were held back.
    let parts = [
        ("all", played.part(|_| true)),
        ("odd lines", played.part(|place| place % 2 == 0)),
        ("even lines", played.part(|place| place % 2 == 1)),
    ];
    for (name, part) in &parts {
        println!("{}", part.figures(name));
    }
    for (number, (what, ..)) in played.bursts.iter().enumerate().filter(|(_, burst)| !burst.1) {
        println!("not answered once: line {}, {what}", number + 1);
    }
    for (name, part) in parts
        .iter()
        .filter(|(name, _)| unseen.is_none() || *name == "all")
    {
        let waits = part.waits(|_| true);
        assert!(part.once() >= 99.0, "{}", part.figures(name));
        assert!(waits[waits.len() / 2] < 2_000, "{}", part.figures(name));
        let single = part.waits(|what| what == "single_question");
        assert!(
            single.last().is_none_or(|wait| *wait < 1_000),
            "{}",
            part.figures(name)
        );
    }
}

#[tokio::test]
async fn bursts_that_were_written_later_are_answered_once_too() {
    let played = play(read(LATER)).await;
    let figures = played.figures("written later");
    println!("{figures}");
    let (waits, single) = (
        played.waits(|_| true),
        played.waits(|what| what == "single_question"),
    );
    assert!(played.bursts.len() >= 100 && played.once() >= 99.0, "{figures}");
    assert!(
        waits[waits.len() / 2] < 2_000 && *single.last().unwrap() < 1_000,
        "{figures}"
    );
}
