//! The steps of a turn, as its record and its end tell them.

use crate::world::{Setup, TEXT_MAX};
use recado_domain::ids::Ordinal;
use recado_domain::millis::add_millis;
use recado_domain::turn::{StepDuration, TurnStep};
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, OutboxStore, WriteOutcome};
use recado_testkit::builders::{Fixture, nonce};
use recado_testkit::ports::succeed;

/// Lets the next call of the model take so many milliseconds.
fn model_takes(setup: &Setup, milliseconds: i64) {
    let time = setup.world.system.clone();
    setup
        .world
        .llm
        .meanwhile
        .set(async move { time.pass(milliseconds) });
}

#[tokio::test]
async fn the_duration_of_each_step_stands_on_the_record_of_the_first_part() {
    let setup = Setup::set(Fixture::new()).await;
    let words = "palavra ".repeat(TEXT_MAX / 5);
    *setup.world.llm.says.lock().unwrap() = Some(words);
    model_takes(&setup, 900);
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.turns(&setup.fixture).await;
    let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
    let steps: Vec<_> = open
        .into_iter()
        .map(|part| part.out.unwrap().turn.unwrap().steps)
        .collect();
    assert_eq!(
        steps,
        [vec![StepDuration(TurnStep::Model, 900)], vec![]],
        "steps that take no time are left out"
    );
}

/// Runs the turn of the newest message, and returns the verdict with the number of the model's calls.
async fn run(setup: &Setup, ordinal: u64) -> (Verdict, usize) {
    let (_, verdict) = setup.run_turn_job(&setup.fixture, Some(ordinal)).await;
    (verdict, setup.world.llm.asked.lock().unwrap().len())
}

#[tokio::test]
async fn a_turn_of_an_earlier_message_leaves_the_answer_to_the_newest_ones() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.message(&setup.fixture, "W2", "tudo bem?", false).await;
    assert_eq!(run(&setup, 1).await, (Verdict::Done, 0));
    assert_eq!(run(&setup, 2).await, (Verdict::Done, 1));
    assert_eq!(
        run(&setup, 2).await,
        (Verdict::Done, 1),
        "nothing is owed any more"
    );
}

#[tokio::test]
async fn a_turn_that_meets_anothers_lease_comes_back_and_asks_no_model() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let thread = setup.fixture.thread();
    let latest = setup.world.store.find_latest_conversation(&thread);
    let mut conversation = succeed(latest).await.unwrap();
    let now = setup.now();
    conversation.acquire_lease(nonce(), Ordinal(1), now, add_millis(now, 95_000));
    conversation.rev += 1;
    let written = succeed(setup.world.store.update_conversation(&conversation, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
    let (verdict, asked) = run(&setup, 1).await;
    let after = recado_domain::SignedDuration::from_secs(3);
    assert_eq!((verdict, asked), (Verdict::Retry { after }, 0));
}
