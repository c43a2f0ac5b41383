//! Measures snapshots of 10,000 and of 100,000 blocks: how long they take to load, to search and to change, their memory, and how
//! many of the exact five nearest vectors are found. `cargo run --release -p recado-knowledge-search --example sizes` takes some minutes and 3
//! GB of memory; with `-- 10000`, only the snapshot of so many blocks is measured.

#![expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]

use recado_domain::Timestamp;
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{
    KnowledgeBlock, KnowledgeLimits, KnowledgeSnapshot, KnowledgeSource, MadeVectors, SourceId,
};
use recado_knowledge_search::{KnowledgeIndex, SplitSettings, analyze_document, search_vector_rows};
use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, Instant};

const LIMITS: KnowledgeLimits = KnowledgeLimits {
    blocks: KnowledgeLimits::BLOCKS_MAX,
    vectors: KnowledgeLimits::BLOCKS_MAX,
};
const BLOCKS_OF_DOCUMENT: usize = 100;
const DIMENSIONS: usize = 1_536;
const TOPICS: usize = 300;
const QUESTIONS: usize = 200;

/// Numbers that are the same in each run (xorshift).
struct SampleRng(u64);

impl SampleRng {
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

/// Returns the median, the 99th percentile and the longest of some times.
fn summarize(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| milliseconds(times[(times.len() - 1) * percent / 100]);
    format!("{} (median), {} (p99), {} (longest)", at(50), at(99), at(100))
}

/// Returns a line of the process's state in MiB: `VmRSS`, the memory that it holds, or `VmHWM`, the most that it held.
fn read_memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|known| known.strip_prefix(line));
    let kib = found.and_then(|found| {
        found
            .trim_matches([':', ' ', '\t'])
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) / 1024
}

/// Makes a snapshot of invented documents without vectors.
fn build_snapshot(blocks: usize, rng: &mut SampleRng) -> Result<KnowledgeSnapshot, Box<dyn Error>> {
    let began = Instant::now();
    let agent = AgentId::parse("bench")?;
    let mut parts = Vec::new();
    for number in 0..blocks.div_ceil(BLOCKS_OF_DOCUMENT) {
        let title = format!("document-{number}.md");
        let texts: Vec<String> = (0..BLOCKS_OF_DOCUMENT)
            .map(|block| format!("# Part {block}\n{}\n", rng.text(90)))
            .collect();
        let text = texts.concat();
        let document = analyze_document(&title, &text, SplitSettings::default());
        let id = SourceId::of_title(&agent, &title);
        let of_document = document.blocks.into_iter().map(|block| block.into_block_of(&id));
        let of_document: Vec<KnowledgeBlock> = of_document.collect();
        let source = KnowledgeSource {
            id,
            title,
            content_hash: String::new(),
            bytes: text.len() as u64,
            added_at: Timestamp::UNIX_EPOCH,
            blocks: of_document.len(),
            is_cut: false,
            words: document.words,
            analysis: document.analysis,
        };
        parts.push((source, of_document));
    }
    let snapshot = KnowledgeSnapshot::default().with_changes(LIMITS, &[], parts)?;
    let took = milliseconds(began.elapsed());
    println!("{} blocks: split and analyzed in {took}", snapshot.blocks.len());
    Ok(snapshot)
}

/// Measures the file of a snapshot: its size, and how long it takes to load, with its memory.
fn measure_load(what: &str, snapshot: &KnowledgeSnapshot) -> Result<KnowledgeIndex, Box<dyn Error>> {
    let bytes = snapshot.to_bytes()?;
    println!("{what}: a file of {:.1} MB", bytes.len() as f64 / 1e6);
    let before = read_memory("VmRSS");
    let mut loads = Vec::new();
    let mut index = None;
    for _ in 0..5 {
        drop(index.take());
        let began = Instant::now();
        index = Some(KnowledgeIndex::from_bytes(&bytes)?);
        loads.push(began.elapsed());
    }
    println!("load: {}", summarize(loads));
    println!(
        "memory of the index: {} MiB",
        read_memory("VmRSS").saturating_sub(before)
    );
    index.ok_or_else(|| "no index".into())
}

/// Measures searches as questions are searched for.
fn measure_searches(
    index: &KnowledgeIndex,
    topics: Option<&[Vec<f32>]>,
    rng: &mut SampleRng,
) -> Result<(), Box<dyn Error>> {
    let mut searches = Vec::new();
    for _ in 0..QUESTIONS {
        let question = rng.text(8);
        let vector = topics.map(|topics| rng.vector(topics));
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

/// Measures the search in the vectors alone, and how many of the exact five nearest it finds.
fn measure_recall(
    index: &KnowledgeIndex,
    vectors: &[Vec<f32>],
    topics: &[Vec<f32>],
    rng: &mut SampleRng,
) -> Result<(), Box<dyn Error>> {
    let rows = &index.find_block_vectors().ok_or("no vectors")?.rows;
    let (mut times, mut same) = (Vec::new(), 0);
    for _ in 0..QUESTIONS {
        let question = rng.vector(topics);
        let began = Instant::now();
        let found = search_vector_rows(rows, &question, 5)?;
        times.push(began.elapsed());
        let found: BTreeSet<usize> = found.iter().map(|found| found.block).collect();
        same += list_nearest(vectors, &question).intersection(&found).count();
    }
    println!(
        "search in {} vectors of {DIMENSIONS}: {}",
        vectors.len(),
        summarize(times)
    );
    println!(
        "recall@5 of the exact five: {:.3}",
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

/// Measures a change: the snapshot is read, one document leaves, and the next snapshot is made as a file.
fn measure_change(snapshot: KnowledgeSnapshot) -> Result<(), Box<dyn Error>> {
    let removed = snapshot.sources.first().map(|source| source.id.clone());
    let bytes = snapshot.to_bytes()?;
    drop(snapshot);
    let began = Instant::now();
    let present = KnowledgeSnapshot::from_bytes(&bytes)?;
    let next = present.with_changes(LIMITS, &removed.into_iter().collect::<Vec<_>>(), Vec::new())?;
    let written = next.to_bytes()?;
    let took = milliseconds(began.elapsed());
    println!("change: {took} for {:.1} MB", written.len() as f64 / 1e6);
    Ok(())
}

fn measure_size(blocks: usize, rng: &mut SampleRng) -> Result<(), Box<dyn Error>> {
    let mut snapshot = build_snapshot(blocks, rng)?;
    let index = measure_load("words alone", &snapshot)?;
    measure_searches(&index, None, rng)?;
    drop(index);
    let topics: Vec<Vec<f32>> = (0..TOPICS)
        .map(|_| (0..DIMENSIONS).map(|_| rng.number()).collect())
        .collect();
    let mut made = MadeVectors::begin_for_model("bench");
    let mut vectors = Vec::new();
    for (hash, _) in snapshot.list_unembedded(None) {
        let vector = rng.vector(&topics);
        made.add_made_vector(hash, &vector)?;
        vectors.push(vector);
    }
    snapshot
        .add_made_vectors(&made, LIMITS.vector_bytes())
        .map_err(|gap| format!("the vectors do not fit: {}", gap.as_str()))?;
    drop(made);
    let index = measure_load("words and vectors", &snapshot)?;
    measure_searches(&index, Some(&topics), rng)?;
    measure_recall(&index, &vectors, &topics, rng)?;
    drop((index, vectors));
    measure_change(snapshot)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut rng = SampleRng(0x9e37_79b9_7f4a_7c15);
    let wanted: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let sizes = if wanted.is_empty() {
        vec![10_000, 100_000]
    } else {
        wanted
    };
    for blocks in sizes {
        measure_size(blocks, &mut rng)?;
        println!();
    }
    println!(
        "memory at most, with the exact vectors: {} MiB",
        read_memory("VmHWM")
    );
    Ok(())
}
