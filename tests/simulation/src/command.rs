//! The command line of the simulators: any number of seeds, in parallel, to be gone on with later.

use crate::history::Outcome;
use crate::mutation::Mutation;
use clap::Parser;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Plays histories of Recado's use cases and checks what they promise.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many histories.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed; a run that was ended says where to go on.
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// How many at once.
    #[arg(long, default_value_t = thread::available_parallelism().map_or(1, usize::from))]
    jobs: usize,
    /// End after so many seconds, whatever was reached.
    #[arg(long)]
    seconds: Option<u64>,
    /// Play this one seed and print what happened.
    #[arg(long, env = "RECADO_SEED")]
    replay: Option<u64>,
    /// Take this safeguard out of the protocol.
    #[arg(long, value_parser = named)]
    without: Option<Mutation>,
    /// At most so many violations are printed.
    #[arg(long, default_value_t = 20)]
    show: u64,
}

fn named(name: &str) -> Result<Mutation, String> {
    let mut all = Mutation::ALL.iter();
    all.find(|mutation| format!("{mutation:?}").eq_ignore_ascii_case(name))
        .copied()
        .ok_or_else(|| format!("no such safeguard; there are {:?}", Mutation::ALL))
}

/// What a run has found so far.
#[derive(Debug, Default)]
struct Progress {
    next: AtomicU64,
    played: AtomicU64,
    violated: AtomicU64,
    over: AtomicBool,
}

/// Reads the command line and plays with `play`: a seed, what is taken out, whether it is traced. Fails if any promise
/// was broken.
pub fn run(play: impl Fn(u64, Option<Mutation>, bool) -> Outcome + Sync) -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(seed) = arguments.replay {
        return replay(&play(seed, arguments.without, true), seed);
    }
    let (progress, began) = (Progress::default(), Instant::now());
    progress.next.store(arguments.start, Ordering::Relaxed);
    thread::scope(|scope| {
        for _ in 0..arguments.jobs.max(1) {
            scope.spawn(|| work(&arguments, &progress, began, &play));
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    let played = progress.played.load(Ordering::Relaxed);
    let violated = progress.violated.load(Ordering::Relaxed);
    let next = progress
        .next
        .load(Ordering::Relaxed)
        .min(arguments.start + arguments.seeds);
    println!(
        "seeds={played} violations={violated} histories_per_second={:.1} next_start={next}",
        count(played) / seconds.max(0.001)
    );
    if violated == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody plays 2^52 histories")]
fn count(number: u64) -> f64 {
    number as f64
}

fn work(
    arguments: &Arguments,
    progress: &Progress,
    began: Instant,
    play: &(impl Fn(u64, Option<Mutation>, bool) -> Outcome + Sync),
) {
    let limit = arguments.seconds.map(Duration::from_secs);
    while !progress.over.load(Ordering::Relaxed) {
        let seed = progress.next.fetch_add(1, Ordering::Relaxed);
        if seed >= arguments.start.saturating_add(arguments.seeds) {
            return;
        }
        let outcome = play(seed, arguments.without, false);
        let played = progress.played.fetch_add(1, Ordering::Relaxed) + 1;
        if !outcome.violations.is_empty() {
            let violated = progress.violated.fetch_add(1, Ordering::Relaxed) + 1;
            if violated <= arguments.show {
                report(seed, &outcome);
            }
        }
        if played.is_multiple_of(10_000) {
            eprintln!(
                "{played} played, up to seed {seed}, after {:.0} s",
                began.elapsed().as_secs_f64()
            );
        }
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            progress.over.store(true, Ordering::Relaxed);
        }
    }
}

fn report(seed: u64, outcome: &Outcome) {
    println!(
        "seed {seed}: {} broken; RECADO_SEED={seed} replays it",
        outcome.violations.len()
    );
    for violation in outcome.violations.iter().take(3) {
        println!("    {violation}");
    }
}

fn replay(outcome: &Outcome, seed: u64) -> ExitCode {
    for line in &outcome.trace {
        println!("{line}");
    }
    println!(
        "seeds=1 violations={} steps={} crashes={} stalls={} virtual_seconds={}",
        u8::from(!outcome.violations.is_empty()),
        outcome.steps,
        outcome.counters.crashes,
        outcome.counters.stalls,
        outcome.virtual_ms / 1_000
    );
    if outcome.violations.is_empty() {
        return ExitCode::SUCCESS;
    }
    report(seed, outcome);
    ExitCode::FAILURE
}
