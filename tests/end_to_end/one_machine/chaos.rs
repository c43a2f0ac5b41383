//! Load, crashes and a failing provider at once; then the audit must pass.

use recado_testkit::chance::seed;
use recado_testkit::soak::crashes::{Outcome, Plan, run};
use std::path::Path;
use std::time::Duration;

async fn soak(plan: &Plan) -> Outcome {
    let outcome = run(Path::new(env!("CARGO_BIN_EXE_recado")), plan).await;
    println!(
        "killed {} times, wrote for {:.1} s, settled in {:.1} s: {}",
        outcome.kills,
        outcome.wrote.as_secs_f64(),
        outcome.settled.as_secs_f64(),
        outcome.balance
    );
    assert!(outcome.balance.holds(), "{}", outcome.balance);
    assert_eq!(outcome.balance.received, plan.messages);
    assert_eq!(outcome.wrong, Vec::<String>::new());
    outcome
}

#[tokio::test]
async fn killed_again_and_again_with_a_failing_provider_nothing_is_lost_and_no_repeat_is_hidden() {
    let outcome = soak(&Plan {
        seed: seed(),
        instances: 2,
        contacts: 20,
        messages: 160,
        over: Duration::from_secs(20),
        kills: 5,
        storm: true,
        patience: Duration::from_secs(150),
    })
    .await;
    // It stormed: some sends were repeated or given up.
    let troubled = outcome.balance.repeated + outcome.balance.dead_lettered;
    assert!(troubled > 0, "{}", outcome.balance);
}

#[tokio::test]
async fn killed_three_times_under_load_every_message_is_answered_exactly_once() {
    let outcome = soak(&Plan {
        seed: seed(),
        instances: 2,
        contacts: 50,
        messages: 500,
        over: Duration::from_secs(12),
        kills: 3,
        storm: false,
        patience: Duration::from_secs(150),
    })
    .await;
    let balance = outcome.balance;
    assert_eq!((balance.answered, balance.duplicates), (500, 0), "{balance}");
}
