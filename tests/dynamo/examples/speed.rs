//! How many of the store's operations a second does, on one core: `cargo run --example speed`.

use futures::executor::block_on;
use recado_aws::OsSystem;
use recado_dynamo_simulation::{Dynamo, Hooks, Options, SimulationError};
use recado_pipeline::ports::{InboundWrite, Inbox, Overviews};
use recado_testkit::builders::{Fixture, far_ahead};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 2_000;

/// Prints how fast `each` was.
fn measure(what: &str, rounds: u32, mut each: impl FnMut()) {
    let began = Instant::now();
    for _ in 0..rounds {
        each();
    }
    let took = began.elapsed();
    let rate = f64::from(rounds) / took.as_secs_f64();
    println!(
        "{what:<40} {rate:>9.0}/s  {:>8.1} µs",
        took.as_secs_f64() * 1e6 / f64::from(rounds)
    );
}

fn main() -> Result<(), SimulationError> {
    let hooks = || Hooks::new(jiff::Timestamp::now);
    measure("a new database with the table", 200, || {
        black_box(Dynamo::new(hooks()).is_ok());
    });
    let dynamo = Dynamo::new(hooks())?;
    measure("a new store on it", 200, || {
        black_box(dynamo.store(OsSystem, &Options::default()));
    });
    let store = dynamo.store(OsSystem, &Options::default());
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let jobs: Vec<_> = (0..ROUNDS).map(|_| fixture.job()).collect();
    let messages: Vec<_> = jobs
        .iter()
        .map(|job| (fixture.inbound(&mut conversation, job), conversation.clone()))
        .collect();
    let mut next = jobs.iter();
    measure("a conditional put (an event)", ROUNDS, || {
        black_box(next.next().map(|job| block_on(store.record_event(job)).is_ok()));
    });
    let mut next = jobs.iter();
    measure("a strong get (an event)", ROUNDS, || {
        black_box(
            next.next()
                .map(|job| block_on(store.find_event(&job.event)).is_ok()),
        );
    });
    let mut next = jobs.iter().zip(&messages);
    measure("a transaction of 3 (an inbound message)", ROUNDS, || {
        let Some((job, (message, conversation))) = next.next() else {
            return;
        };
        let write = InboundWrite {
            event: &job.event,
            conversation,
            message,
            finish: None,
        };
        black_box(block_on(store.store_inbound(write)).is_ok());
    });
    let requests = dynamo.requests();
    let mut found = 0;
    measure("what is overdue (one reconcile)", 20, || {
        found = block_on(store.list_overdue(far_ahead(), 10)).map_or(0, |work| work.len());
    });
    println!(
        "  {} requests each, {found} found",
        (dynamo.requests() - requests) / 20
    );
    Ok(())
}
