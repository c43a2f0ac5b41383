//! How many turns of a tenant run at once, where it limits them.

use crate::answers::first_answer;
use crate::interruptions::{Asks, interrupt};
use crate::world::Setup;
use futures::executor::block_on;
use recado_domain::answer::AnswerReason;
use recado_domain::ids::Nonce;
use recado_domain::millis::add_millis;
use recado_domain::turn_places::{PlaceAnswer, TurnPlaces};
use recado_domain::wake_up::TurnsJob;
use recado_pipeline::ports::{Conversations, WriteOutcome};
use recado_pipeline::records::turn_places::find_turn_places;
use recado_pipeline::table::{Versioned, write_record};
use recado_pipeline::{Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, nonce};
use recado_testkit::ports::succeed;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A tenant with this limit, whose contact wrote, and whose places are those.
async fn limited(limit: Option<u32>) -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.tenant.turns_at_once = limit.and_then(NonZeroU32::new);
    let setup = Setup::set(fixture).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(30);
    setup
}

/// Another turn of the tenant takes a place for 95 seconds. Returns its name.
async fn take_place_of_another(setup: &Setup) -> Nonce {
    let (other, nonce) = (Fixture::new().conversation(1).id, nonce());
    let mut places = stored(setup).await;
    let until = add_millis(setup.now(), 95_000);
    let taken = places
        .record
        .ask_for_place(NonZeroU32::MIN, (&other, &nonce), setup.now(), until);
    assert_eq!(taken, PlaceAnswer::Taken);
    save(setup, &mut places).await;
    nonce
}

async fn save(setup: &Setup, places: &mut Versioned<TurnPlaces>) {
    let written = succeed(write_record(&setup.world.store, places)).await;
    assert_eq!(written, WriteOutcome::Written);
}

async fn stored(setup: &Setup) -> Versioned<TurnPlaces> {
    let tenant = &setup.fixture.bound.tenant.id;
    succeed(find_turn_places(&setup.world.store, tenant)).await
}

fn asked(setup: &Setup) -> usize {
    setup.world.llm.asked.lock().unwrap().len()
}

#[tokio::test]
async fn a_turn_waits_uncounted_until_another_gives_its_place_back() {
    let setup = limited(Some(1)).await;
    let others = take_place_of_another(&setup).await;
    let (_, verdict) = setup.run_turn_job(&setup.fixture, None).await;
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert_eq!(asked(&setup), 0);
    let id = setup.latest_conversation().await.unwrap().id;
    let told = first_answer(&setup, &id).await;
    assert_eq!(told.reason, AnswerReason::TurnPlace, "its message says why");
    let waits = setup.latest_conversation().await.unwrap();
    assert_eq!(
        (waits.lease, waits.attempts.count),
        (None, 0),
        "waiting is no attempt"
    );
    let mut places = stored(&setup).await;
    assert!(places.record.give_place_back(&others));
    save(&setup, &mut places).await;
    setup.pass(1);
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), 1);
    let mut left = stored(&setup).await.record;
    let conversation = setup.latest_conversation().await.unwrap().id;
    let again = left.ask_for_place(
        NonZeroU32::MIN,
        (&conversation, &nonce()),
        setup.now(),
        setup.now(),
    );
    assert_eq!(again, PlaceAnswer::Taken, "the place was given back");
}

/// Runs the turn of a message while another worker writes its conversation between the place and the lease, so many times.
async fn run_turn_against_writes(setup: &Setup, times: usize) -> Verdict {
    let job = setup.turn_job(&setup.fixture, None).await;
    let (store, conversation) = (setup.world.store.clone(), job.conversation.clone());
    let left = AtomicUsize::new(times);
    let world = interrupt(&setup.world, move |asks| {
        if asks == Asks::Number && left.load(Relaxed) > 0 {
            left.fetch_sub(1, Relaxed);
            block_on(async {
                let mut other = succeed(store.find_conversation(&conversation)).await.unwrap();
                other.raise_revision();
                let written = succeed(store.update_conversation(&other, &[])).await;
                assert_eq!(written, WriteOutcome::Written);
            });
        }
    });
    let body = serde_json::to_string(&TurnsJob::Turn(job.clone())).unwrap();
    handle_turns_message(&world, &body, 1, None).await
}

#[tokio::test]
async fn a_turn_that_loses_its_lease_gives_its_place_back() {
    let setup = limited(Some(1)).await;
    let verdict = run_turn_against_writes(&setup, usize::MAX).await;
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert!(stored(&setup).await.is_stored(), "it had a place");
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), 1, "the next turn need not wait");
}

#[tokio::test]
async fn a_turn_that_loses_its_lease_begins_anew_at_once() {
    let setup = limited(None).await;
    let verdict = run_turn_against_writes(&setup, 1).await;
    assert_eq!(verdict, Verdict::Done);
    let conversation = setup.latest_conversation().await.unwrap();
    assert!(!conversation.owes_answer(), "{conversation:?}");
    assert_eq!(conversation.lease, None);
}

#[tokio::test]
async fn a_place_whose_worker_crashed_is_free_when_a_lease_would_be_over() {
    let setup = limited(Some(1)).await;
    take_place_of_another(&setup).await;
    setup.pass(94);
    let (_, verdict) = setup.run_turn_job(&setup.fixture, None).await;
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    setup.pass(1);
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), 1);
}

#[tokio::test]
async fn a_place_whose_process_was_killed_is_free_at_the_next_start() {
    let setup = limited(Some(1)).await;
    take_place_of_another(&setup).await;
    assert_eq!(setup.world.store.recover_after_crash().await.unwrap().records, 1);
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), 1);
}

#[tokio::test]
async fn a_place_that_was_taken_ahead_of_time_is_free_once_the_clock_is_set_back() {
    let setup = limited(Some(1)).await;
    let two_days = 2 * 86_400;
    setup.pass(two_days);
    take_place_of_another(&setup).await;
    setup.pass(-two_days);
    let (_, verdict) = setup.run_turn_job(&setup.fixture, None).await;
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert!(setup.world.store.adjust_to_set_back_clock().await.unwrap() > 0);
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), 1);
}

#[tokio::test]
async fn two_turns_may_run_where_two_are_allowed() {
    let setup = limited(Some(2)).await;
    take_place_of_another(&setup).await;
    setup.turns(&setup.fixture).await;
    assert_eq!(asked(&setup), 1);
}

#[tokio::test]
async fn without_a_limit_nothing_is_written_for_it() {
    let setup = limited(None).await;
    setup.turns(&setup.fixture).await;
    assert_eq!((asked(&setup), stored(&setup).await.is_stored()), (1, false));
}
