//! The story of items of the table that expire, on a clock that the story moves.

use crate::builders::{at, fresh};
use crate::contract::items::{get, page_all, put_slip, save, save_note, tenant, write_all, write_refused};
use crate::own_kinds::{Note, Slip};
use crate::ports::succeed;
use crate::retention_story::RetentionClock;
use recado_ports::ports::{Store, System};
use recado_ports::table::{
    Condition, Kind, Partition, Query, Record, SaveOutcome, Version, Versioned, Write, find_by_index,
    find_record,
};
use std::time::Duration;

/// Returns of each verb whether it takes a slip with this version for stored.
async fn list_answers<S: Store>(store: &S, slip: &Slip, version: Version) -> Vec<bool> {
    let key = slip.key();
    let own = Query::new(Partition::new(Slip::KIND, slip.tenant.as_ref()), 10);
    let many = succeed(store.get_many(std::slice::from_ref(&key))).await;
    let due = succeed(store.list_due(&Kind::of::<Slip>(), at(999_999), 10)).await;
    let checks = [Condition::Version(version), Condition::Absent].map(|one| Write::Check(key.clone(), one));
    let is_unchanged = succeed(store.write(&checks[..1])).await.is_ok();
    let is_absent = succeed(store.write(&checks[1..])).await.is_ok();
    vec![
        get(store, &key).await.is_some(),
        many.len() == 1,
        page_all(store, &own).await.len() == 1,
        succeed(store.count(&own)).await == 1,
        due.len() == 1,
        is_unchanged,
        !is_absent,
    ]
}

/// Lets items expire. Each verb counts them as absent from that second on, though nobody has deleted them, and what they held is free.
/// The store has the kinds of [`crate::own_kinds`] and the time of `clock`.
pub async fn an_item_is_absent_from_the_second_of_its_expiry_on<S: Store>(store: &S, clock: &RetentionClock) {
    let tenant = tenant();
    let slip = Slip {
        expires: Some(at(10_500)),
        due: Some(at(0)),
        ..Slip::new(Some(&tenant), "a", "text")
    };
    let version = put_slip(store, &slip).await;
    let note = |name: &str, expires| Note {
        number: Some("7".to_owned()),
        code: Some(fresh("code")),
        expires,
        ..Note::new(Some(&tenant), name)
    };
    let over = save_note(store, note("a", Some(at(11_000)))).await;
    let mut next = Versioned::new(note("b", None));
    for (pause_ms, is_stored) in [(0, true), (10_999, true), (1, false), (100_000, false)] {
        clock.sleep(Duration::from_millis(pause_ms)).await;
        let answers = list_answers(store, &slip, version).await;
        assert_eq!(answers, [is_stored; 7], "after {pause_ms} ms more");
        let found = succeed(find_record::<Note>(store, Some(&tenant), "a")).await;
        let by_index = succeed(find_by_index::<Note>(store, &Note::number_key("7"))).await;
        assert_eq!((found.is_some(), by_index.is_some()), (is_stored, is_stored));
        if is_stored {
            let taken = SaveOutcome::Taken(Note::NUMBER_PLACE);
            assert_eq!(save(store, &mut next).await, taken);
        }
    }
    assert_eq!(succeed(store.get_cached(&slip.key())).await, None);
    assert_eq!(save(store, &mut next).await, SaveOutcome::Saved);
    let mut late = over;
    late.record.expires = None;
    assert_eq!(save(store, &mut late).await, SaveOutcome::Conflict);
    let refused = [slip.put(Condition::Version(version))];
    assert_eq!(write_refused(store, &refused).await, [0]);
    let again = Slip {
        expires: None,
        ..slip
    };
    let versions = write_all(store, &[again.put(Condition::Absent)]).await;
    assert_ne!(versions, [version]);
    assert_eq!(list_answers(store, &again, versions[0]).await, [true; 7]);
}
