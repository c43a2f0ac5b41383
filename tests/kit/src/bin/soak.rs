//! Long runs of a built `recado`: crashes under load (`crashes`), and one customer's trouble beside another's replies
//! (`isolation`). Each prints one line of what it found and ends with 1 if that must not be.

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};
use recado_testkit::chance::seed;
use recado_testkit::soak::{crashes, isolation};
use std::path::PathBuf;
use std::time::Duration;

/// See the module.
#[derive(Debug, Parser)]
#[command(name = "soak", about)]
struct Command {
    /// The binary.
    #[arg(long, global = true, default_value = "target/release/recado")]
    binary: PathBuf,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Load, `kill -9`, and then the audit.
    Crashes(Crashes),
    /// Reply times of one instance, with and without trouble at others.
    Isolation(Isolation),
}

#[derive(Debug, Args)]
struct Crashes {
    #[arg(long, default_value_t = 10_000)]
    messages: usize,
    #[arg(long, default_value_t = 500)]
    conversations: usize,
    #[arg(long, default_value_t = 5)]
    instances: usize,
    #[arg(long, default_value_t = 10)]
    kills: u32,
    /// How long writing the messages takes.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The provider fails, too.
    #[arg(long)]
    storm: bool,
}

#[derive(Debug, Args)]
struct Isolation {
    /// Messages of the quiet instance that are timed.
    #[arg(long, default_value_t = 100)]
    timed: usize,
    /// Messages that flood another tenant's instance.
    #[arg(long, default_value_t = 2_000)]
    flood: usize,
    /// Contacts of the instance whose provider hangs.
    #[arg(long, default_value_t = 40)]
    hung: usize,
    /// Messages a second that the troubled instances may send.
    #[arg(long, default_value_t = 1.0)]
    rate: f64,
    /// By how many per cent the quiet instance's median may grow …
    #[arg(long, default_value_t = 10.0)]
    percent: f64,
    /// … or by how many milliseconds.
    #[arg(long, default_value_t = 50.0)]
    milliseconds: f64,
}

fn main() -> Result<()> {
    let command = Command::parse();
    let binary = command.binary.canonicalize()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match command.what {
        What::Crashes(wanted) => runtime.block_on(run_crashes(&binary, &wanted)),
        What::Isolation(wanted) => runtime.block_on(run_isolation(&binary, &wanted)),
    }
}

async fn run_crashes(binary: &std::path::Path, wanted: &Crashes) -> Result<()> {
    let plan = crashes::Plan {
        seed: seed(),
        instances: wanted.instances,
        contacts: wanted.conversations,
        messages: wanted.messages,
        over: Duration::from_secs(wanted.seconds),
        kills: wanted.kills,
        storm: wanted.storm,
        patience: Duration::from_secs(300),
    };
    let outcome = crashes::run(binary, &plan).await;
    let (wrote, settled) = (outcome.wrote.as_secs_f64(), outcome.settled.as_secs_f64());
    println!(
        "killed {} times, wrote for {wrote:.1} s, settled in {settled:.1} s: {}",
        outcome.kills, outcome.balance
    );
    let (counted, recorded) = (outcome.counted, outcome.recorded);
    println!("by the metrics {counted:?}\nby the records {recorded:?}");
    ensure!(outcome.balance.holds(), "the audit does not pass");
    if wanted.kills == 0 {
        ensure!(
            counted == recorded,
            "the metrics counted something else than the records hold"
        );
    } else {
        ensure!(
            counted.is_within(&recorded),
            "the metrics counted more than the records hold"
        );
    }
    ensure!(outcome.wrong.is_empty(), "wrong requests: {:?}", outcome.wrong);
    if !wanted.storm {
        ensure!(
            outcome.balance.answered == wanted.messages,
            "not everything was answered"
        );
        ensure!(outcome.balance.duplicates == 0, "something was sent twice");
    }
    Ok(())
}

async fn run_isolation(binary: &std::path::Path, wanted: &Isolation) -> Result<()> {
    let plan = isolation::Plan {
        timed: wanted.timed,
        every: Duration::from_millis(50),
        flood: wanted.flood,
        hung: wanted.hung,
        rate: wanted.rate,
    };
    let compared = isolation::compare(binary, &plan).await;
    println!("{compared}");
    let more = compared.more().as_secs_f64();
    ensure!(
        compared.ratio() <= 1.0 + wanted.percent / 100.0 || more * 1000.0 <= wanted.milliseconds,
        "the quiet instance's replies took longer than {} % or {} ms more",
        wanted.percent,
        wanted.milliseconds
    );
    Ok(())
}
