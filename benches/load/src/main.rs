//! Posts webhooks over kept connections and measures their acknowledgements.
//!
//! With `--rate`, requests are due at fixed times, whatever the server does. A latency counts from the time at which its
//! request was due, not from the time at which a free connection sent it. So a server that stalls is charged with every
//! request that it kept from being sent (no coordinated omission). Without `--rate`, each connection posts as soon as its
//! last answer came: that shows the most that the server takes, and its latencies only at that load.

mod latencies;
mod request;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use latencies::summarize;
use request::{Connection, RequestTemplate};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Posts webhooks over kept connections, and prints as JSON what came of it.
#[derive(Debug, Parser)]
struct Arguments {
    /// Address of the server.
    #[arg(long)]
    address: SocketAddr,
    /// File with a whole HTTP request. `@@NUMBER@@@@@@@@` becomes 16 hexadecimal digits of its own in each request, `@CONTACT`
    /// the 8 digits of a contact.
    #[arg(long)]
    template: PathBuf,
    /// Number of connections.
    #[arg(long, default_value_t = 32)]
    connections: u64,
    /// Duration of the measurement, in seconds.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Requests a second; without it as many as the server takes.
    #[arg(long)]
    rate: Option<u64>,
    /// Number of contacts that write in turns.
    #[arg(long, default_value_t = 500)]
    contacts: u64,
    /// Number of the first request, so that a second run repeats none of the first.
    #[arg(long, default_value_t = 0)]
    first: u64,
}

/// An answer that came.
struct Answer {
    status: u16,
    latency: Duration,
}

/// The plan that all connections follow.
struct Plan {
    began: Instant,
    until: Instant,
    /// Time between two requests; `None`: as many as the server takes.
    gap: Option<Duration>,
    next: AtomicU64,
}

impl Plan {
    /// Takes the next request. Returns its number and the time at which it is due; `None` at the end.
    fn take_next(&self) -> Option<(u64, Instant)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let due = match self.gap {
            Some(gap) => self.began + mul_duration(gap, number),
            None => Instant::now(),
        };
        (due < self.until).then_some((number, due))
    }
}

fn mul_duration(gap: Duration, times: u64) -> Duration {
    let nanoseconds = u64::try_from(gap.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(nanoseconds.saturating_mul(times))
}

fn run_connection(
    plan: &Plan,
    template: &RequestTemplate,
    arguments: &Arguments,
    mut connection: Connection,
) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    while let Some((number, due)) = plan.take_next() {
        if let Some(wait) = due.checked_duration_since(Instant::now()) {
            thread::sleep(wait);
        }
        let number = arguments.first + number;
        let status = connection.post(template, number, number % arguments.contacts.max(1))?;
        answers.push(Answer {
            status,
            latency: due.elapsed(),
        });
    }
    Ok(answers)
}

fn run_load(arguments: &Arguments) -> Result<Value> {
    let request = std::fs::read(&arguments.template)
        .with_context(|| format!("cannot read {}", arguments.template.display()))?;
    let template = RequestTemplate::parse(request)?;
    ensure!(arguments.connections > 0, "no connection, no request");
    ensure!(arguments.rate != Some(0), "no rate, no request");
    // Connected before the measurement begins.
    let connections: Vec<Connection> = (0..arguments.connections)
        .map(|_| Connection::open(arguments.address))
        .collect::<Result<_>>()?;
    let began = Instant::now() + Duration::from_millis(50);
    let plan = Plan {
        began,
        until: began + Duration::from_secs(arguments.seconds),
        gap: arguments
            .rate
            .map(|rate| Duration::from_nanos(1_000_000_000 / rate)),
        next: AtomicU64::new(0),
    };
    let started = Barrier::new(connections.len());
    let answers: Vec<Result<Vec<Answer>>> = thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .map(|connection| {
                let (plan, template, started) = (&plan, &template, &started);
                let work = move || {
                    started.wait();
                    thread::sleep(plan.began.saturating_duration_since(Instant::now()));
                    run_connection(plan, template, arguments, connection)
                };
                Builder::new().stack_size(128 * 1024).spawn_scoped(scope, work)
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(answers)) => answers,
                Ok(Err(_)) => Err(anyhow::anyhow!("a connection's thread panicked")),
                Err(error) => Err(error).context("no thread for a connection"),
            })
            .collect()
    });
    let seconds = plan.began.elapsed().as_secs_f64();
    let answers: Vec<Answer> = answers
        .into_iter()
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    Ok(json!({ "seconds": seconds, "rate": arguments.rate, "answers": summarize(&answers, seconds) }))
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    println!("{}", run_load(&arguments)?);
    Ok(())
}
