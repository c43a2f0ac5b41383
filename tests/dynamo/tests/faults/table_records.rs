//! The table of records under faults: a write is made once or not at all, and what is said of it is true.

use crate::torn::{for_now, in_the_middle};
use crate::world::World;
use futures::executor::block_on;
use recado_dynamo_simulation::{Fault, Options};
use recado_pipeline::ports::PageRequest;
use recado_pipeline::table::{
    Condition, Kind, Partition, Query, Record, Refusal, SaveOutcome, StoredItem, Table, Version, Versioned,
    Write, find_by_index, find_record, list_records, save_record,
};
use recado_testkit::builders::at;
use recado_testkit::own_kinds::{Note, Slip};
use std::slice;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

fn slip(name: &str, text: &str) -> Slip {
    Slip::new(None, name, text)
}

/// Stores a slip, whatever is there. Returns its version.
fn put(world: &World, slip: &Slip) -> Version {
    let written = block_on(world.store.write(&[slip.put(Condition::Always)]));
    written.unwrap().unwrap()[0]
}

fn get(world: &World, name: &str) -> Option<StoredItem> {
    block_on(world.store.get(&slip(name, "").key())).unwrap()
}

/// Shows writes of each form, on a world each that holds what they change. The SDK tries each request so often.
fn each_form(attempts: u32, look: impl Fn(&World, &[Write])) {
    for form in 0..6 {
        let world = World::with_attempts(attempts);
        let changed = put(&world, &slip("changed", "before"));
        let gone = put(&world, &slip("gone", "before"));
        let new = slip("new", "after").put(Condition::Absent);
        let change = slip("changed", "after").put(Condition::Version(changed));
        let delete = |condition| Write::Delete(slip("gone", "").key(), condition);
        let check = Write::Check(slip("none", "").key(), Condition::Absent);
        let writes = match form {
            0 => vec![new],
            1 => vec![change],
            2 => vec![delete(Condition::Version(gone))],
            3 => vec![slip("changed", "after").put(Condition::Always)],
            4 => vec![delete(Condition::Always)],
            _ => vec![new, change, delete(Condition::Version(gone)), check],
        };
        look(&world, &writes);
    }
}

/// From here on `fault` happens to the next `times` requests that write.
fn fail_writes(world: &World, times: i64, fault: Fault) {
    let left = AtomicI64::new(times);
    world.fails(move |operation| {
        let fails = operation.verb.writes() && left.fetch_sub(1, Ordering::SeqCst) > 0;
        if fails { fault } else { Fault::None }
    });
}

fn assert_unavailable(world: &World, writes: &[Write]) {
    let error = block_on(world.store.write(writes)).unwrap_err();
    assert!(error.is_retryable(), "{error:?} of {writes:?}");
}

/// Asserts that writes were made. Returns the versions of what they put.
fn versions_of_made(world: &World, writes: &[Write]) -> Vec<Version> {
    let mut versions = Vec::new();
    for write in writes {
        let found = block_on(world.store.get(write.key())).unwrap();
        if let Write::Put(item, _) = write {
            let found = found.unwrap();
            assert_eq!(found.body, item.body);
            versions.push(found.version);
        } else {
            assert_eq!(found, None, "{write:?}");
        }
    }
    versions
}

/// Makes writes, and asserts that they are said to have been made, with the versions that are stored.
fn assert_made(world: &World, writes: &[Write]) {
    let versions = block_on(world.store.write(writes)).unwrap().unwrap();
    assert_eq!(versions, versions_of_made(world, writes), "{writes:?}");
}

#[test]
fn a_write_that_is_held_off_changes_nothing_and_is_made_later() {
    for fault in [Fault::ThrottleBefore, Fault::TransactionConflict] {
        each_form(1, |world, writes| {
            let before = world.dynamo.records().unwrap();
            fail_writes(world, i64::MAX, fault);
            assert_unavailable(world, writes);
            assert_eq!(world.dynamo.records().unwrap(), before, "{fault:?}");
            world.recovers();
            assert_made(world, writes);
        });
    }
}

#[test]
fn a_write_that_collides_is_repeated_until_it_does_not() {
    each_form(1, |world, writes| {
        let before = world.time.passed();
        fail_writes(world, 6, Fault::TransactionConflict);
        assert_made(world, writes);
        assert!(world.time.passed() > before, "it waited between its tries");
    });
}

#[test]
fn a_write_whose_answer_is_lost_is_unavailable_and_was_made() {
    each_form(1, |world, writes| {
        fail_writes(world, 1, Fault::FailAfter);
        assert_unavailable(world, writes);
        versions_of_made(world, writes);
    });
}

#[test]
fn a_write_that_the_sdk_repeats_after_lost_answers_counts_as_made_once() {
    for lost in [1, 2] {
        each_form(3, |world, writes| {
            fail_writes(world, lost, Fault::FailAfter);
            assert_made(world, writes);
        });
    }
}

#[test]
fn a_write_that_was_said_to_be_in_progress_and_was_made_counts_as_made_once() {
    for attempts in [1, 3] {
        each_form(attempts, |world, writes| {
            fail_writes(world, i64::from(attempts), Fault::StillInProgress);
            assert_made(world, writes);
        });
    }
}

#[test]
fn a_refusal_is_told_though_its_answer_was_lost() {
    for lost in [0, 1, 2] {
        let world = World::with_attempts(3);
        let old = put(&world, &slip("changed", "first"));
        put(&world, &slip("changed", "second"));
        put(&world, &slip("new", "the same"));
        let before = world.dynamo.records().unwrap();
        let change = slip("changed", "third").put(Condition::Version(old));
        let gone = Write::Delete(slip("none", "").key(), Condition::Version(old));
        let writes = [
            change.clone(),
            slip("new", "the same").put(Condition::Absent),
            slip("none", "text").put(Condition::Version(old)),
            Write::Delete(slip("changed", "").key(), Condition::Version(old)),
            Write::Delete(slip("new", "").key(), Condition::Absent),
            Write::Check(slip("new", "").key(), Condition::Absent),
        ];
        let refused_of = |writes: &[Write]| {
            fail_writes(&world, lost, Fault::FailAfter);
            block_on(world.store.write(writes)).unwrap().unwrap_err()
        };
        for write in &writes {
            assert_eq!(refused_of(slice::from_ref(write)), Refusal(vec![0]), "{write:?}");
        }
        // A lone request that finds nothing to delete the second time may have deleted it.
        if lost == 0 {
            assert_eq!(refused_of(slice::from_ref(&gone)), Refusal(vec![0]));
        }
        let together = [slip("more", "text").put(Condition::Absent), change, gone];
        assert_eq!(refused_of(&together), Refusal(vec![1, 2]), "{lost} lost");
        assert_eq!(world.dynamo.records().unwrap(), before);
    }
}

#[test]
fn a_write_over_what_another_wrote_in_between_is_refused_though_the_sdk_repeats_it() {
    let world = World::with_attempts(3);
    let first = put(&world, &slip("a", "first"));
    fail_writes(&world, 1, Fault::FailAfter);
    let own = slip("a", "second").put(Condition::Version(first));
    let own = block_on(world.store.write(&[own])).unwrap().unwrap()[0];
    world.recovers();
    let others = put(&world, &slip("a", "third"));
    assert_ne!(own, others);
    fail_writes(&world, 1, Fault::FailAfter);
    let late = [slip("a", "fourth").put(Condition::Version(own))];
    assert_eq!(block_on(world.store.write(&late)).unwrap(), Err(Refusal(vec![0])));
    assert_eq!(get(&world, "a").map(|found| found.version), Some(others));
}

#[test]
fn what_is_read_is_never_behind() {
    let world = World::new();
    world.fails(|_| Fault::StaleIndex(Duration::from_secs(60)));
    let all = Query::new(Partition::new(Slip::KIND, None), 10);
    for text in ["first", "second"] {
        let version = put(&world, &slip("a", text));
        let key = slip("a", "").key();
        let page = block_on(world.store.page(&all)).unwrap();
        let many = block_on(world.store.get_many(slice::from_ref(&key))).unwrap();
        let versions = [get(&world, "a").unwrap(), page.items[0].clone(), many[0].clone()];
        assert_eq!(versions.map(|item| item.version), [version; 3]);
        assert_eq!(block_on(world.store.count(&all)).unwrap(), 1);
    }
    let note = Note {
        number: Some("7".to_owned()),
        ..Note::new(None, "a")
    };
    let saved = block_on(save_record(&world.store, &mut Versioned::new(note.clone())));
    assert_eq!(saved.unwrap(), SaveOutcome::Saved);
    let found = block_on(find_by_index::<Note>(&world.store, &Note::number_key("7"))).unwrap();
    assert_eq!(found.map(|found| found.record), Some(note));
}

#[test]
fn what_is_due_is_listed_once_the_index_knows_it() {
    let (world, kind, second) = (World::new(), Kind::of::<Slip>(), Duration::from_secs(1));
    let due = || block_on(world.store.list_due(&kind, at(0), 10)).unwrap().len();
    let waiting = Slip {
        due: Some(at(-1_000)),
        ..slip("a", "text")
    };
    world.fails(move |_| Fault::StaleIndex(second));
    put(&world, &waiting);
    assert_eq!(due(), 0, "the index is behind");
    world.time.pass(second);
    assert_eq!(due(), 1);
    put(&world, &slip("a", "waits for nothing"));
    world.recovers();
    assert_eq!(due(), 0);
}

#[test]
fn a_record_is_led_to_whole_or_not_at_all() {
    let mut looks = [0, 0];
    in_the_middle(
        4,
        |_| Note {
            number: Some("7".to_owned()),
            code: Some("x".to_owned()),
            ..Note::new(None, "a")
        },
        |world, note| async move {
            let saved = save_record(&world.store, &mut Versioned::new(note)).await;
            assert_eq!(saved.unwrap(), SaveOutcome::Saved);
        },
        |world, note| {
            let store = &world.store;
            let by_name = for_now(block_on(find_record::<Note>(store, None, "a"))).flatten();
            let by_number = for_now(block_on(find_by_index::<Note>(store, &Note::number_key("7")))).flatten();
            let all = Query::new(Partition::new(Note::ALL, None), 10);
            let page = PageRequest::first(10);
            let listed = for_now(block_on(list_records::<Note>(store, all, &page, |_| true)));
            let listed = listed.and_then(|mut page| page.items.pop());
            for found in [by_name, by_number.map(|found| found.record), listed] {
                looks[usize::from(found.is_some())] += 1;
                assert!(found.is_none_or(|found| found == *note));
            }
        },
    );
    assert!(looks.iter().all(|looks| *looks > 0), "{looks:?}");
}

#[test]
fn an_item_may_be_remembered_for_a_while_and_is_read_once_meanwhile() {
    let world = World::new();
    let options = Options {
        config_ttl: Duration::from_secs(30),
        ..Options::default()
    };
    let warm = world.dynamo.store(world.time.clone(), &options);
    let text = || {
        let found = block_on(warm.get_cached(&slip("a", "").key())).unwrap();
        found.map(|item| Slip::from_body(&item.body).unwrap().text)
    };
    put(&world, &slip("a", "first"));
    let requests = world.dynamo.requests();
    for _ in 0..3 {
        assert_eq!(text().as_deref(), Some("first"));
    }
    assert_eq!(world.dynamo.requests(), requests + 1);
    put(&world, &slip("a", "second"));
    world.time.pass(Duration::from_secs(30));
    let requests = world.dynamo.requests();
    assert_eq!(text().as_deref(), Some("second"));
    assert_eq!(world.dynamo.requests(), requests + 1, "in one request");
}
