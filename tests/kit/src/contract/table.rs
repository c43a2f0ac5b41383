//! The table, verb by verb: what is put is read, and where a condition does not hold, nothing is written.

use super::items::{
    delete_key, get, page_all, page_names, put_slip, put_slips, tenant, write_all, write_refused,
};
use super::patience::{CONFIGURATION, INDEX, eventually};
use crate::builders::{at, far_ahead, fresh, long_ago};
use crate::own_kinds::{Note, Slip};
use crate::ports::succeed;
use recado_domain::ids::TenantId;
use recado_domain::millis::add_millis;
use recado_ports::ports::{RECORD_BYTES_MAX, Store};
use recado_ports::table::{
    Condition, Key, Kind, Partition, Query, Record, Refusal, StoredItem, Version, WRITES_MAX, Write,
    put_record,
};
use std::collections::BTreeSet;

async fn get_cached_eventually<S: Store>(store: &S, key: &Key, expected: Option<&StoredItem>) {
    let found = async || succeed(store.get_cached(key)).await;
    let found = eventually(CONFIGURATION, found, |found| found.as_ref() == expected).await;
    assert_eq!(found.as_ref(), expected);
}

/// Asserts that every verb that reads finds this item, or that none finds one.
async fn assert_read<S: Store>(store: &S, key: &Key, expected: Option<&StoredItem>) {
    assert_eq!(get(store, key).await.as_ref(), expected);
    get_cached_eventually(store, key, expected).await;
    let expected: Vec<StoredItem> = expected.into_iter().cloned().collect();
    let found = succeed(store.get_many(std::slice::from_ref(key))).await;
    assert_eq!(found, expected);
    let only = Query {
        from: Some(key.sort.clone()),
        to: Some(key.sort.clone()),
        ..Query::new(key.partition.clone(), 10)
    };
    assert_eq!(page_all(store, &only).await, expected);
    let count = succeed(store.count(&only)).await;
    assert_eq!(usize::try_from(count).unwrap(), expected.len());
}

/// The item that a slip without an expiry is.
fn item_of(slip: &Slip, version: Version) -> StoredItem {
    StoredItem {
        key: slip.key(),
        version,
        body: slip.to_body().unwrap(),
        expires: None,
    }
}

pub async fn every_verb_reads_an_item_until_it_is_deleted<S: Store>(store: &S) {
    for tenant in [Some(tenant()), None] {
        let slip = Slip::new(tenant.as_ref(), &fresh("slip"), "Olá \u{1F33B}");
        let key = slip.key();
        assert_read(store, &key, None).await;
        let version = put_slip(store, &slip).await;
        assert_read(store, &key, Some(&item_of(&slip, version))).await;
        let changed = Slip {
            text: "another".to_owned(),
            ..slip
        };
        let version = put_slip(store, &changed).await;
        assert_read(store, &key, Some(&item_of(&changed, version))).await;
        for _ in 0..2 {
            delete_key(store, key.clone()).await;
            assert_read(store, &key, None).await;
        }
    }
}

pub async fn any_number_of_items_is_read_at_once<S: Store>(store: &S) {
    let tenant = tenant();
    let names: Vec<String> = (0..260).map(|number| format!("{number:03}")).collect();
    let (stored, _missing) = names.split_at(170);
    for some in stored.chunks(WRITES_MAX) {
        put_slips(store, Some(&tenant), some).await;
    }
    let key = |name: &String| Key::new(Slip::KIND, Some(&tenant), name);
    let mut asked: Vec<Key> = names.iter().rev().map(key).collect();
    // A key that is asked for twice is no error.
    asked.push(key(&names[0]));
    let found = succeed(store.get_many(&asked)).await;
    let found: BTreeSet<String> = found.into_iter().map(|item| item.key.sort).collect();
    assert!(found.iter().eq(stored), "{found:?}");
    assert_eq!(succeed(store.get_many(&[])).await, []);
}

/// Makes a write of one verb.
type MakeWrite = fn(&Slip, Condition) -> Write;

fn put_after(slip: &Slip, condition: Condition) -> Write {
    let text = "after".to_owned();
    Slip { text, ..slip.clone() }.put(condition)
}

fn delete(slip: &Slip, condition: Condition) -> Write {
    Write::Delete(slip.key(), condition)
}

fn check(slip: &Slip, condition: Condition) -> Write {
    Write::Check(slip.key(), condition)
}

/// Writes an item twice, and deletes it if it is not to be there. Returns it with both versions, the older one first.
async fn written_twice<S: Store>(store: &S, is_stored: bool) -> (Slip, [Version; 2]) {
    let slip = Slip::new(Some(&tenant()), "a", "before");
    let versions = [put_slip(store, &slip).await, put_slip(store, &slip).await];
    if !is_stored {
        delete_key(store, slip.key()).await;
    }
    (slip, versions)
}

/// Makes one write, which succeeds or not, and checks what it leaves.
async fn check_write<S: Store>(store: &S, slip: &Slip, write: &Write, is_stored: bool, holds: bool) {
    match succeed(store.write(std::slice::from_ref(write))).await {
        Ok(versions) => {
            assert!(holds, "{write:?} was made, stored: {is_stored}");
            let puts = usize::from(matches!(write, Write::Put(..)));
            assert_eq!(versions.len(), puts, "{write:?}");
        }
        Err(refusal) => {
            assert!(!holds, "{write:?} was refused, stored: {is_stored}");
            assert_eq!(refusal, Refusal(vec![0]), "{write:?}");
        }
    }
    let expected = match write {
        Write::Put(item, _) if holds => Some(item.body.clone()),
        Write::Delete(..) if holds => None,
        _ => is_stored.then(|| slip.to_body().unwrap()),
    };
    let found = get(store, &slip.key()).await.map(|item| item.body);
    assert_eq!(found, expected, "{write:?}, stored: {is_stored}");
}

pub async fn a_write_is_made_only_if_its_condition_holds<S: Store>(store: &S) {
    let verbs: [MakeWrite; 3] = [put_after, delete, check];
    for make in verbs {
        for is_stored in [false, true] {
            for (place, holds) in [true, !is_stored, is_stored, false].into_iter().enumerate() {
                let (slip, [old, newest]) = written_twice(store, is_stored).await;
                let conditions = [
                    Condition::Always,
                    Condition::Absent,
                    Condition::Version(newest),
                    Condition::Version(old),
                ];
                let write = make(&slip, conditions[place]);
                check_write(store, &slip, &write, is_stored, holds).await;
            }
        }
    }
}

pub async fn a_refusal_names_each_refused_write_and_nothing_is_written<S: Store>(store: &S) {
    let tenant = tenant();
    let slip = |name: &str, text: &str| Slip::new(Some(&tenant), name, text);
    let (stored, other) = (slip("stored", "before"), slip("other", "before"));
    let (version, of_other) = (put_slip(store, &stored).await, put_slip(store, &other).await);
    let (new, more) = (slip("new", "after"), slip("more", "after"));
    let refused = write_refused(
        store,
        &[
            new.put(Condition::Absent),
            put_after(&stored, Condition::Absent),
            delete(&other, Condition::Version(version)),
            check(&slip("none", ""), Condition::Absent),
            check(&slip("neither", ""), Condition::Version(version)),
            more.put(Condition::Always),
        ],
    )
    .await;
    assert_eq!(refused, [1, 2, 4]);
    let left = page_all(store, &Query::new(Partition::new(Slip::KIND, Some(&tenant)), 10)).await;
    assert_eq!(left, [item_of(&other, of_other), item_of(&stored, version)]);
    let made = write_all(
        store,
        &[
            check(&stored, Condition::Version(version)),
            new.put(Condition::Absent),
            delete(&other, Condition::Version(of_other)),
            check(&slip("none", ""), Condition::Absent),
            more.put(Condition::Always),
        ],
    )
    .await;
    let left = page_all(store, &Query::new(Partition::new(Slip::KIND, Some(&tenant)), 10)).await;
    let expected = [
        item_of(&more, made[1]),
        item_of(&new, made[0]),
        item_of(&stored, version),
    ];
    assert_eq!(left, expected);
}

pub async fn each_write_gives_another_version_also_to_what_was_deleted<S: Store>(store: &S) {
    let slip = Slip::new(Some(&tenant()), "a", "the same");
    let mut seen: Vec<Version> = Vec::new();
    for round in 0..6 {
        let condition = match seen.last() {
            Some(version) if round != 3 => Condition::Version(*version),
            _ => Condition::Absent,
        };
        let versions = write_all(store, &[slip.put(condition)]).await;
        let stored = get(store, &slip.key()).await.unwrap();
        assert_eq!(versions, [stored.version]);
        assert!(!seen.contains(&stored.version), "{stored:?} is one of {seen:?}");
        for old in &seen {
            let late = [slip.put(Condition::Version(*old))];
            assert_eq!(write_refused(store, &late).await, [0], "round {round}");
        }
        seen.push(stored.version);
        if round == 2 {
            delete_key(store, slip.key()).await;
        }
    }
}

pub async fn what_has_expired_counts_as_absent<S: Store>(store: &S) {
    let tenant = tenant();
    let over = |name: &str| Slip {
        expires: Some(long_ago()),
        due: Some(long_ago()),
        ..Slip::new(Some(&tenant), name, "over")
    };
    let verbs: [(MakeWrite, bool); 3] = [(put_after, true), (check, false), (delete, false)];
    for (make, is_put) in verbs {
        let slip = over("a");
        let version = put_slip(store, &slip).await;
        assert_read(store, &slip.key(), None).await;
        let late = make(&slip, Condition::Version(version));
        assert_eq!(write_refused(store, std::slice::from_ref(&late)).await, [0]);
        let lasting = Slip {
            expires: None,
            ..slip
        };
        write_all(store, &[make(&lasting, Condition::Absent)]).await;
        assert_eq!(get(store, &lasting.key()).await.is_some(), is_put);
    }
    put_slip(store, &over("b")).await;
    let due = succeed(store.list_due(&Kind::of::<Slip>(), at(0), 1000)).await;
    assert!(
        due.iter()
            .all(|key| key.partition.owner.as_ref() != Some(&tenant))
    );
}

pub async fn an_expiry_is_rounded_up_to_a_second<S: Store>(store: &S) {
    let tenant = tenant();
    for (ahead_ms, stored_ms) in [(0, 0), (1, 1_000), (999, 1_000), (1_000, 1_000), (1_001, 2_000)] {
        let slip = Slip {
            expires: Some(add_millis(far_ahead(), ahead_ms)),
            ..Slip::new(Some(&tenant), "a", "text")
        };
        put_slip(store, &slip).await;
        let found = get(store, &slip.key()).await.unwrap();
        assert_eq!(
            found.expires,
            Some(add_millis(far_ahead(), stored_ms)),
            "{ahead_ms}"
        );
    }
}

pub async fn ninety_writes_are_made_at_once_or_not_at_all<S: Store>(store: &S) {
    let tenant = tenant();
    let slips: Vec<Slip> = (0..WRITES_MAX)
        .map(|number| Slip::new(Some(&tenant), &format!("{number:02}"), "text"))
        .collect();
    let writes: Vec<Write> = slips.iter().map(|slip| slip.put(Condition::Absent)).collect();
    let last = slips.len() - 1;
    put_slip(store, &slips[last]).await;
    assert_eq!(write_refused(store, &writes).await, [last]);
    let all = Query::new(Partition::new(Slip::KIND, Some(&tenant)), 100);
    assert_eq!(page_names(store, &all).await, [slips[last].name.clone()]);
    delete_key(store, slips[last].key()).await;
    let versions = write_all(store, &writes).await;
    let expected: Vec<StoredItem> = slips
        .iter()
        .zip(versions)
        .map(|(slip, version)| item_of(slip, version))
        .collect();
    assert_eq!(page_all(store, &all).await, expected);
    let writes: Vec<Write> = slips.iter().map(|slip| delete(slip, Condition::Always)).collect();
    write_all(store, &writes).await;
    assert_eq!(page_names(store, &all).await, [""; 0]);
}

/// A slip whose JSON has as many bytes as a record may have.
fn largest(tenant: &TenantId, name: &str, filling: &str) -> Slip {
    let bare = Slip::new(Some(tenant), name, "").to_body().unwrap().len();
    let filled = filling.repeat((RECORD_BYTES_MAX - bare) / filling.len());
    let rest = "x".repeat(RECORD_BYTES_MAX - bare - filled.len());
    Slip::new(Some(tenant), name, &(filled + &rest))
}

pub async fn a_body_of_the_greatest_size_comes_back_with_a_key_of_the_greatest_length<S: Store>(store: &S) {
    let tenant = tenant();
    let slips = [
        largest(&tenant, &"z".repeat(900), "x"),
        largest(&tenant, &"\u{e9}".repeat(450), "\u{1F33B}"),
    ];
    for slip in &slips {
        assert_eq!(slip.to_body().unwrap().len(), RECORD_BYTES_MAX);
        let version = put_slip(store, slip).await;
        assert_read(store, &slip.key(), Some(&item_of(slip, version))).await;
    }
    let both = slips.each_ref().map(|slip| slip.put(Condition::Always));
    assert_eq!(write_all(store, &both).await.len(), 2);
}

/// Lists the names of this tenant's items of a kind that are due, at most `limit` of all tenants'.
async fn due_names<S: Store>(store: &S, kind: &Kind, tenant: &TenantId, limit: usize) -> Vec<String> {
    let due = succeed(store.list_due(kind, at(0), limit)).await;
    assert!(due.len() <= limit);
    assert!(due.iter().all(|key| key.partition.name == kind.name), "{due:?}");
    let own = due
        .into_iter()
        .filter(|key| key.partition.owner.as_ref() == Some(tenant));
    own.map(|key| key.sort).collect()
}

async fn assert_due<S: Store>(store: &S, kind: &Kind, tenant: &TenantId, limit: usize, expected: &[&str]) {
    let found = async || due_names(store, kind, tenant, limit).await;
    let found = eventually(INDEX, found, |found| found == expected).await;
    assert_eq!(found, expected, "{} by {limit}", kind.name);
}

/// A note that is due so many milliseconds before the time at which the lists are read, or after it.
fn due_note(tenant: &TenantId, name: &str, at_ms: i64) -> Note {
    Note {
        due: Some(at(at_ms)),
        ..Note::new(Some(tenant), name)
    }
}

pub async fn due_items_are_listed_by_their_kind_the_longest_due_first<S: Store>(store: &S) {
    let (tenant, notes, slips) = (tenant(), Kind::of::<Note>(), Kind::of::<Slip>());
    // What a run of before left would take the first places.
    for key in succeed(store.list_due(&notes, at(0), 1000)).await {
        delete_key(store, key).await;
    }
    for (name, at_ms) in [
        ("b", -2_000),
        ("a", -1_000),
        ("c", -3_000),
        ("now", 0),
        ("later", 1),
    ] {
        succeed(put_record(store, &due_note(&tenant, name, at_ms))).await;
    }
    succeed(put_record(store, &Note::new(Some(&tenant), "never"))).await;
    assert_due(store, &notes, &tenant, 1000, &["c", "b", "a", "now"]).await;
    assert_due(store, &notes, &tenant, 2, &["c", "b"]).await;
    let slip = Slip {
        due: Some(at(-9_000)),
        ..Slip::new(Some(&tenant), "slip", "text")
    };
    put_slip(store, &slip).await;
    assert_due(store, &slips, &tenant, 1000, &["slip"]).await;
    delete_key(store, slip.key()).await;
    assert_due(store, &slips, &tenant, 1000, &[]).await;
    // One is due at another time, one for nothing any more, and one is gone.
    succeed(put_record(store, &due_note(&tenant, "now", -9_000))).await;
    succeed(put_record(store, &Note::new(Some(&tenant), "b"))).await;
    delete_key(store, due_note(&tenant, "c", 0).key()).await;
    assert_due(store, &notes, &tenant, 1000, &["now", "a"]).await;
    for name in ["now", "a"] {
        succeed(put_record(store, &due_note(&tenant, name, 1))).await;
    }
    assert_due(store, &notes, &tenant, 1000, &[]).await;
}
