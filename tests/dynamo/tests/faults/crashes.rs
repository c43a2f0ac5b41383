//! Callers that stop in the middle, and requests that overtake each other.

use futures::FutureExt;
use futures::executor::block_on;
use recado_dynamo_simulation::{Dynamo, Hooks, Operation, Options, Pause};
use recado_pipeline::ports::{Inbox, RecordEventOutcome};
use recado_testkit::builders::{BASE, Fixture};
use std::future::pending;

use crate::world::Virtual;

fn never(_: &Operation) -> Pause {
    Box::pin(pending())
}

/// How many records there are after a caller stopped where `hooks` hold it.
fn after_a_crash(hooks: Hooks) -> usize {
    let dynamo = Dynamo::new(hooks).unwrap();
    let store = dynamo.store(Virtual::default(), &Options::default());
    let job = Fixture::new().job();
    assert!(store.record_event(&job).now_or_never().is_none(), "it is held");
    assert_eq!(dynamo.requests(), 1);
    dynamo.records().unwrap().len()
}

#[test]
fn a_crash_on_the_way_there_leaves_nothing_and_one_on_the_way_back_leaves_all() {
    assert_eq!(after_a_crash(Hooks::new(|| BASE).before(never)), 0);
    assert_eq!(after_a_crash(Hooks::new(|| BASE).after(never)), 1);
}

#[test]
fn of_two_at_once_the_simulator_says_who_is_first() {
    for first in [1, 2] {
        let hooks = Hooks::new(|| BASE).before(move |operation| {
            let mut turns = u32::from(operation.number != first) * 3;
            Box::pin(futures::future::poll_fn(move |context| {
                if turns == 0 {
                    return std::task::Poll::Ready(());
                }
                turns -= 1;
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            }))
        });
        let dynamo = Dynamo::new(hooks).unwrap();
        let stores = [(); 2].map(|()| dynamo.store(Virtual::default(), &Options::default()));
        let job = Fixture::new().job();
        let both = futures::future::join(stores[0].record_event(&job), stores[1].record_event(&job));
        let (one, two) = block_on(both);
        let expected = match first {
            1 => (RecordEventOutcome::New, RecordEventOutcome::Pending),
            _ => (RecordEventOutcome::Pending, RecordEventOutcome::New),
        };
        assert_eq!((one.unwrap(), two.unwrap()), expected);
    }
}
