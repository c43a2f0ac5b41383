//! Turns that run side by side in one invocation: those that hold files, or that were tried before, run one at a time.

use crate::media::{PNG, picture, setup};
use crate::world::{FileAnswer, Setup, beside};
use futures::FutureExt;
use recado_domain::wake_up::TurnsJob;
use recado_pipeline::ports::Conversations;
use recado_pipeline::{ExclusiveTurns, Verdict, handle_turns_message};
use recado_testkit::ports::succeed;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Three contacts whose turns are due: two sent a picture, the third a text.
async fn begin() -> (Setup, Vec<TurnsJob>) {
    let mut setup = setup().await;
    setup.world.deps_mut().exclusive_turns = ExclusiveTurns::one_at_a_time();
    let (second, third) = (setup.fixture.other_contact(), setup.fixture.other_contact());
    for (contact, id) in [(&setup.fixture, "A"), (&second, "B")] {
        setup.file_comes(FileAnswer::Gives(PNG, "image/png"));
        setup.sends(contact, id, &picture()).await;
    }
    setup.message(&third, "C", "oi", false).await;
    setup.pass(5);
    let jobs = setup.due_turns().await;
    assert_eq!(jobs.len(), 3);
    (setup, jobs)
}

async fn run(world: &crate::world::World, job: &TurnsJob) -> Verdict {
    let body = serde_json::to_string(job).unwrap();
    handle_turns_message(world, &body, 1, None).await
}

/// The verdicts on the turns of the second picture and of the text while the model reads the first picture.
async fn run_meanwhile(setup: &Setup, jobs: &[TurnsJob]) -> Vec<Verdict> {
    let verdicts: Arc<Mutex<Vec<Verdict>>> = Arc::default();
    let (world, told) = (beside(&setup.world), verdicts.clone());
    let others = jobs[1..].to_vec();
    setup.world.llm.meanwhile.set(async move {
        for job in &others {
            let verdict = run(&world, job).await;
            told.lock().unwrap().push(verdict);
        }
    });
    assert_eq!(run(&setup.world, &jobs[0]).await, Verdict::Done);
    let verdicts = verdicts.lock().unwrap();
    verdicts.clone()
}

#[tokio::test]
async fn a_turn_with_files_waits_for_another_one_and_a_turn_without_files_does_not() {
    let (setup, jobs) = begin().await;
    assert_eq!(
        run_meanwhile(&setup, &jobs).await,
        [Verdict::RETRY_SOON, Verdict::Done],
        "the picture comes back, the text is answered"
    );
    assert_eq!(run(&setup.world, &jobs[1]).await, Verdict::Done);
    assert_eq!(setup.world.llm.shown.lock().unwrap().len(), 1, "with its file");
}

#[tokio::test]
async fn turns_with_files_run_side_by_side_where_memory_is_not_limited() {
    let (mut setup, jobs) = begin().await;
    setup.world.deps_mut().exclusive_turns = ExclusiveTurns::default();
    assert_eq!(run_meanwhile(&setup, &jobs).await, [Verdict::Done, Verdict::Done]);
}

#[tokio::test]
async fn a_turn_whose_earlier_attempt_did_not_end_waits_without_a_counted_attempt() {
    let (setup, jobs) = begin().await;
    let attempts = async || {
        let read = succeed(
            setup
                .world
                .store
                .find_conversation(jobs[2].conversation().unwrap()),
        )
        .await;
        read.unwrap().attempts.count
    };
    let model = &setup.world.llm;
    model.ends.store(true, Ordering::SeqCst);
    let ended = AssertUnwindSafe(run(&setup.world, &jobs[2])).catch_unwind();
    assert!(ended.await.is_err());
    model.ends.store(false, Ordering::SeqCst);
    setup.pass(600);
    assert_eq!(run_meanwhile(&setup, &jobs).await, [Verdict::RETRY_SOON; 2]);
    assert_eq!(attempts().await, 1, "the one that did not end");
    assert_eq!(run(&setup.world, &jobs[2]).await, Verdict::Done);
}
