//! Random histories. The gate is a fixed range, `RECADO_SEEDS` of them (1,000), and every seed that once broke a promise
//! (`seeds.txt`); after it a fresh range is played, `RECADO_FRESH_SEEDS` of them (50), of which a violation is reported and
//! fails nothing. `RECADO_SEED` names one history, which is played with its trace.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "this is test code: whatever is not as it should be fails the test"
)]

use recado_simulation::Outcome;
use recado_simulation::embedded::history;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seeds that once broke a promise, one a line; what follows them is a remark.
const KEPT: &str = include_str!("seeds.txt");

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

fn told(seed: u64, outcome: &Outcome) -> String {
    format!("RECADO_SEED={seed} replays it: {}", outcome.violations.join("; "))
}

fn kept() -> Vec<u64> {
    let lines = KEPT.lines().filter(|line| !line.starts_with('#'));
    let seeds = lines.filter_map(|line| line.split_whitespace().next());
    seeds
        .map(|seed| seed.parse().expect("a line begins with a seed"))
        .collect()
}

#[derive(Default)]
struct Totals {
    crashes: u64,
    stalls: u64,
    steps: u64,
    broken: Vec<String>,
}

/// Plays `seeds`, several at once.
fn play(seeds: &[u64]) -> Totals {
    let (next, totals) = (AtomicUsize::new(0), Mutex::new(Totals::default()));
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = history(*seed, None, false);
                    let mut totals = totals.lock().unwrap();
                    totals.crashes += outcome.counters.crashes;
                    totals.stalls += outcome.counters.stalls;
                    totals.steps += outcome.steps;
                    if !outcome.violations.is_empty() {
                        totals.broken.push(told(*seed, &outcome));
                    }
                }
            });
        }
    });
    totals.into_inner().unwrap()
}

#[test]
fn no_history_breaks_a_promise() {
    if let Some(seed) = number("RECADO_SEED") {
        let outcome = history(seed, None, true);
        assert!(
            outcome.violations.is_empty(),
            "{}\n{}",
            outcome.trace.join("\n"),
            told(seed, &outcome)
        );
        return;
    }
    let seeds: Vec<u64> = (0..number("RECADO_SEEDS").unwrap_or(1_000))
        .chain(kept())
        .collect();
    let Totals {
        crashes,
        stalls,
        steps,
        broken,
    } = play(&seeds);
    let count = seeds.len() as u64;
    println!("{count} histories, {steps} steps, {crashes} crashes, {stalls} stalls");
    // Histories in which nothing goes wrong show nothing.
    assert!(
        crashes > count && stalls > count / 10,
        "{crashes} crashes, {stalls} stalls"
    );
    assert!(
        broken.is_empty(),
        "{} histories:\n{}",
        broken.len(),
        broken[..broken.len().min(10)].join("\n")
    );
    fresh();
}

/// Plays histories that nobody has seen. A broken promise is written to the standard error and to a file, and fails nothing:
/// what was green yesterday is not red today without a change. Its seed belongs into `seeds.txt`.
fn fresh() {
    let count = number("RECADO_FRESH_SEEDS").unwrap_or(50);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let start = now.as_secs().saturating_mul(1_000);
    let seeds: Vec<u64> = (start..start + count).collect();
    let broken = play(&seeds).broken;
    eprintln!(
        "fresh seeds {start} to {}: {} broke a promise",
        start + count,
        broken.len()
    );
    if broken.is_empty() {
        return;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fresh-seeds-{start}.txt"));
    let all = broken.join("\n");
    eprintln!("{all}\nWritten to {}.", path.display());
    std::fs::write(&path, all + "\n").expect("the target folder is written");
}

#[test]
fn a_history_replays_exactly() {
    for seed in [3, 4, 17] {
        let (first, second) = (history(seed, None, true), history(seed, None, true));
        assert!(first.steps > 50);
        assert_eq!(first.trace, second.trace, "seed {seed}");
    }
}
