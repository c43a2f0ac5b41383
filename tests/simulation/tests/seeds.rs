//! Random histories: `RECADO_SEEDS` of them (2,000), or the one that `RECADO_SEED` names, with its trace.

use recado_simulation::Outcome;
use recado_simulation::embedded::history;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

fn told(seed: u64, outcome: &Outcome) -> String {
    format!("RECADO_SEED={seed} replays it: {}", outcome.violations.join("; "))
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
    let (seeds, next) = (number("RECADO_SEEDS").unwrap_or(2_000), AtomicU64::new(0));
    let broken = Mutex::new(Vec::new());
    let totals = Mutex::new((0u64, 0u64, 0u64));
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let outcome = history(seed, None, false);
                    let mut totals = totals.lock().unwrap();
                    totals.0 += outcome.counters.crashes;
                    totals.1 += outcome.counters.stalls;
                    totals.2 += outcome.steps;
                    if !outcome.violations.is_empty() {
                        broken.lock().unwrap().push(told(seed, &outcome));
                    }
                }
            });
        }
    });
    let (crashes, stalls, steps) = *totals.lock().unwrap();
    println!("{seeds} histories, {steps} steps, {crashes} crashes, {stalls} stalls");
    // Histories in which nothing goes wrong show nothing.
    assert!(
        crashes > seeds && stalls > seeds / 10,
        "{crashes} crashes, {stalls} stalls"
    );
    let broken = broken.into_inner().unwrap();
    assert!(
        broken.is_empty(),
        "{} histories:\n{}",
        broken.len(),
        broken[..broken.len().min(10)].join("\n")
    );
}

#[test]
fn a_history_replays_exactly() {
    for seed in [3, 4, 17] {
        let (first, second) = (history(seed, None, true), history(seed, None, true));
        assert!(first.steps > 50);
        assert_eq!(first.trace, second.trace, "seed {seed}");
    }
}
