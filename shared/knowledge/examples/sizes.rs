//! Measures large indexes: a snapshot of 10,000 blocks is built, loaded and searched, and 100,000 vectors of 1,536 numbers.
//! `cargo run --release -p recado-knowledge --example sizes`

#![expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]

use recado_domain::Timestamp;
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{KnowledgeBlock, KnowledgeSnapshot, KnowledgeSource, MadeVectors, SourceId};
use recado_knowledge::{KnowledgeIndex, SplitSettings, VectorIndex, analyze_document};
use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, Instant};

const BLOCKS: usize = 10_000;
const VECTORS: usize = 100_000;
const DIMENSIONS: usize = 1_536;
const QUESTIONS: usize = 100;

/// Numbers that are the same in each run (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % most
    }

    fn number(&mut self) -> f32 {
        f32::from(u16::try_from(self.roll(2_001)).unwrap_or(0)) / 1_000.0 - 1.0
    }

    /// A word; some are much more frequent than others, as in a language.
    fn word(&mut self) -> String {
        let most = 1 + self.roll(30_000);
        let rank = self.roll(most);
        let syllables = [
            "ba", "co", "di", "fu", "ge", "ha", "li", "mo", "nu", "pe", "ra", "so", "ti", "va",
        ];
        let mut word = String::new();
        let mut rest = rank + syllables.len();
        while rest > 0 {
            word.push_str(syllables[rest % syllables.len()]);
            rest /= syllables.len();
        }
        word
    }

    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }

    /// A vector near one of some hundred topics, as those of texts are.
    fn vector(&mut self, topics: &[Vec<f32>]) -> Vec<f32> {
        let topic = self.roll(topics.len());
        topics[topic].iter().map(|value| value + self.number()).collect()
    }
}

fn milliseconds(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1_000.0)
}

/// Returns the median and the longest of some times.
fn summarize(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    format!(
        "{} (median), {} (longest)",
        milliseconds(median),
        milliseconds(longest)
    )
}

/// Returns the memory that the process holds, in MiB.
fn held_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn measure_words(dice: &mut Dice) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let agent = AgentId::parse("bench")?;
    let mut parts = Vec::new();
    for number in 0..BLOCKS / 100 {
        let title = format!("document-{number}.md");
        let parts_of_text: Vec<String> = (0..100)
            .map(|block| format!("# Part {block}\n{}\n", dice.text(90)))
            .collect();
        let text = parts_of_text.concat();
        let document = analyze_document(&title, &text, SplitSettings::default());
        let id = SourceId::of_title(&agent, &title);
        let blocks: Vec<KnowledgeBlock> = document
            .blocks
            .into_iter()
            .map(|block| block.into_block_of(&id))
            .collect();
        let source = KnowledgeSource {
            id,
            title,
            content_hash: String::new(),
            bytes: text.len() as u64,
            added_at: Timestamp::UNIX_EPOCH,
            blocks: blocks.len(),
            is_cut: false,
            words: document.words,
        };
        parts.push((source, blocks));
    }
    let mut snapshot = KnowledgeSnapshot::default().with_changes(&[], parts)?;
    println!(
        "{} blocks: split and analyzed in {}",
        snapshot.blocks.len(),
        milliseconds(began.elapsed())
    );
    measure_snapshot("words alone", &snapshot, dice)?;
    let mut made = MadeVectors::begin_for_model("bench");
    for (hash, _) in snapshot.list_unembedded(None) {
        let vector: Vec<f32> = (0..DIMENSIONS).map(|_| dice.number()).collect();
        made.add_made_vector(hash, &vector)?;
    }
    snapshot
        .add_made_vectors(&made)
        .map_err(|gap| format!("the vectors do not fit: {}", gap.as_str()))?;
    drop(made);
    measure_snapshot("words and vectors", &snapshot, dice)
}

/// Measures the file of a snapshot: its size, how long it takes to load and to search, and its memory.
fn measure_snapshot(what: &str, snapshot: &KnowledgeSnapshot, dice: &mut Dice) -> Result<(), Box<dyn Error>> {
    let bytes = snapshot.to_bytes()?;
    println!("{what}: {:.1} MB", bytes.len() as f64 / 1e6);
    let has_vectors = snapshot.vectors.is_some();
    let before = held_memory();
    let mut loads = Vec::new();
    let mut index = None;
    for _ in 0..5 {
        drop(index.take());
        let began = Instant::now();
        index = Some(KnowledgeIndex::from_bytes(&bytes)?);
        loads.push(began.elapsed());
    }
    println!(
        "load: {}; {} MiB more",
        summarize(loads),
        held_memory().saturating_sub(before)
    );
    let index = index.ok_or("no index")?;
    let mut searches = Vec::new();
    for _ in 0..QUESTIONS {
        let question = dice.text(8);
        let vector: Option<Vec<f32>> = has_vectors.then(|| (0..DIMENSIONS).map(|_| dice.number()).collect());
        let began = Instant::now();
        let found = index.search(&question, vector.as_deref(), 5);
        searches.push(began.elapsed());
        if found.is_empty() {
            return Err("a question found nothing".into());
        }
    }
    println!("search: {}", summarize(searches));
    Ok(())
}

fn measure_vectors(dice: &mut Dice) -> Result<(), Box<dyn Error>> {
    let topics: Vec<Vec<f32>> = (0..300)
        .map(|_| (0..DIMENSIONS).map(|_| dice.number()).collect())
        .collect();
    let vectors: Vec<Vec<f32>> = (0..VECTORS).map(|_| dice.vector(&topics)).collect();
    let before = held_memory();
    let began = Instant::now();
    let index = VectorIndex::of_vectors(vectors.iter().map(Vec::as_slice))?;
    let built = milliseconds(began.elapsed());
    println!(
        "{VECTORS} vectors of {DIMENSIONS}: built in {built}; {} MiB more",
        held_memory().saturating_sub(before)
    );
    let (mut times, mut same) = (Vec::new(), 0);
    for _ in 0..QUESTIONS {
        let question = dice.vector(&topics);
        let began = Instant::now();
        let found: BTreeSet<usize> = index
            .search(&question, 5)?
            .iter()
            .map(|found| found.block)
            .collect();
        times.push(began.elapsed());
        same += list_nearest(&vectors, &question).intersection(&found).count();
    }
    println!(
        "search: {}; recall of the exact five: {:.3}",
        summarize(times),
        same as f64 / (QUESTIONS * 5) as f64
    );
    Ok(())
}

/// Returns the five nearest vectors, by comparing all exactly.
fn list_nearest(vectors: &[Vec<f32>], question: &[f32]) -> BTreeSet<usize> {
    let dot = |left: &[f32], right: &[f32]| -> f32 {
        left.iter().zip(right).map(|(left, right)| left * right).sum()
    };
    let mut scores: Vec<(f32, usize)> = vectors
        .iter()
        .enumerate()
        .map(|(number, vector)| (dot(vector, question) / dot(vector, vector).sqrt(), number))
        .collect();
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    scores.into_iter().take(5).map(|(_, number)| number).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    measure_words(&mut dice)?;
    measure_vectors(&mut dice)
}
