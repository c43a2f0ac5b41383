//! The story of a kind of record that is nothing but declared: a store lists its records, publishes their changes, moves them, lets
//! them expire, and removes them with their tenant.

use crate::builders::at;
use crate::contract::items::{page_names, tenant};
use crate::moved_records::{check_all_move, read_records};
use crate::ports::succeed;
use crate::retention_story::RetentionClock;
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::moving::{MovedRecord, RecordKind};
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_ports::ports::{LogPlace, MovableRecords, PageRequest, Store, System};
use recado_ports::table::{
    IndexEntry, Key, Kind, Partition, Query, Record, SaveOutcome, Versioned, find_by_index, find_record,
    find_with_version, list_records, put_record, save_record,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The kinds of a store of the story. It needs no other.
pub static KINDS: [Kind; 2] = [Kind::of::<Badge>(), Kind::of::<Whereabouts>()];

/// The partition in which a badge is found by who wears it.
const BY_HOLDER: &str = "test-badges.by-holder";

/// A badge that a person of a tenant wears for a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Badge {
    tenant: TenantId,
    number: String,
    holder: String,
    ends: Timestamp,
}

impl Badge {
    fn new(tenant: &TenantId, number: &str, holder: &str, ends_ms: i64) -> Self {
        Self {
            tenant: tenant.clone(),
            number: number.to_owned(),
            holder: holder.to_owned(),
            ends: at(ends_ms),
        }
    }

    fn holder_key(tenant: &TenantId, holder: &str) -> Key {
        Key::new(BY_HOLDER, None, format!("{tenant}#{holder}"))
    }
}

impl Record for Badge {
    const KIND: &'static str = "test-badges";
    const INDEXES: &'static [&'static str] = &[BY_HOLDER];
    const IS_PUBLISHED: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.number.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.ends)
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        vec![IndexEntry::new(Self::holder_key(&self.tenant, &self.holder))]
    }

    fn derive_published_events(old: Option<&Self>, new: &Self, at: Timestamp) -> Vec<PublishedEvent> {
        let is_given = old.is_none_or(|old| old.holder != new.holder);
        let given = is_given.then(|| PublishedEvent::for_test(&new.tenant, &new.holder, at));
        given.into_iter().collect()
    }
}

/// The place where a person is, which means nothing in another store.
#[derive(Debug, Serialize, Deserialize)]
struct Whereabouts {
    tenant: TenantId,
    person: String,
}

impl Record for Whereabouts {
    const KIND: &'static str = "test-whereabouts";
    const IS_MOVED: bool = false;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.person.clone()
    }
}

async fn give<S: Store>(store: &S, badge: Badge) {
    let saved = succeed(save_record(store, &mut Versioned::new(badge))).await;
    assert_eq!(saved, SaveOutcome::Saved);
}

/// Asserts that these badges of a tenant are all that are found, in a list and by who wears them.
async fn assert_worn<S: Store>(store: &S, tenant: &TenantId, expected: &[&Badge]) {
    let page = PageRequest::first(10);
    let own = Query::new(Partition::new(Badge::KIND, Some(tenant)), 10);
    let listed = succeed(list_records::<Badge>(store, own, &page, |_| true)).await;
    assert_eq!(listed.items.iter().collect::<Vec<_>>(), expected);
    for badge in expected {
        let number = succeed(find_record::<Badge>(store, Some(tenant), &badge.number)).await;
        assert_eq!(number.as_ref(), Some(*badge));
        let worn = succeed(find_by_index::<Badge>(
            store,
            &Badge::holder_key(tenant, &badge.holder),
        ))
        .await;
        assert_eq!(worn.map(|worn| worn.record).as_ref(), Some(*badge));
    }
    let entries = Query::new(Partition::new(BY_HOLDER, None), 10);
    let entries = page_names(store, &entries.with_prefix(&format!("{tenant}#"))).await;
    assert_eq!(entries.len(), expected.len(), "{entries:?}");
}

/// Gives a badge to another person.
async fn hand_on<S: Store>(store: &S, badge: &Badge, holder: &str) -> Badge {
    let read = find_with_version::<Badge>(store, Some(&badge.tenant), &badge.number);
    let mut read = succeed(read).await.unwrap();
    assert_eq!(&read.record, badge);
    holder.clone_into(&mut read.record.holder);
    assert_eq!(succeed(save_record(store, &mut read)).await, SaveOutcome::Saved);
    read.record
}

async fn count_published<S: Store>(store: &S, tenant: &TenantId) -> usize {
    let page =
        succeed(store.list_published_events(Some(tenant), LogPlace::After(EventCursor::START), 100)).await;
    page.events.len()
}

/// Tells the story on a store and on an empty one into which its records move. Both have the kinds of [`KINDS`], and the time of
/// `clock`. `publish` does what publishes the changes of the first, if that is not the store itself.
pub async fn a_declared_kind_is_served_in_every_way<S: Store + MovableRecords>(
    from: &S,
    to: &S,
    clock: &RetentionClock,
    publish: impl AsyncFn(),
) {
    let (ours, theirs) = (tenant(), tenant());
    let short = Badge::new(&ours, "1", "ana", 60_000);
    let long = Badge::new(&ours, "2", "bia", 999_000);
    let other = Badge::new(&theirs, "1", "ana", 999_000);
    for badge in [&short, &long, &other] {
        give(from, badge.clone()).await;
    }
    let unmoved = Whereabouts {
        tenant: ours.clone(),
        person: "ana".to_owned(),
    };
    succeed(put_record(from, &unmoved)).await;
    let long = hand_on(from, &long, "caio").await;
    assert_worn(from, &ours, &[&short, &long]).await;
    assert_worn(from, &theirs, &[&other]).await;
    publish().await;
    assert_eq!(count_published(from, &ours).await, 3);
    assert_eq!(count_published(from, &theirs).await, 1);

    let moved = read_records(from).await;
    let unmoved = RecordKind::OfTable(Whereabouts::KIND);
    assert!(moved.iter().all(|record| record.kind() != unmoved));
    assert!(!to.keeps_kind(unmoved));
    let mut moved: Vec<Badge> = moved.iter().filter_map(read_badge).collect();
    moved.sort_unstable();
    let mut expected = [&short, &long, &other].map(Badge::clone);
    expected.sort_unstable();
    assert_eq!(moved, expected, "an export holds them");
    assert!(to.keeps_kind(RecordKind::OfTable(Badge::KIND)));
    check_all_move(from, to).await;

    for store in [from, to] {
        assert_worn(store, &ours, &[&short, &long]).await;
        assert_worn(store, &theirs, &[&other]).await;
    }
    clock.sleep(Duration::from_mins(1)).await;
    for store in [from, to] {
        assert_worn(store, &ours, &[&long]).await;
    }
    while succeed(from.delete_tenant_records(&ours, &[], 10)).await > 0 {}
    assert_worn(from, &ours, &[]).await;
    assert_worn(from, &theirs, &[&other]).await;
    assert_worn(to, &ours, &[&long]).await;
}

fn read_badge(record: &MovedRecord) -> Option<Badge> {
    match record {
        MovedRecord::OfTable(record) if record.kind == Badge::KIND => {
            Some(Badge::from_body(&record.body).unwrap())
        }
        _ => None,
    }
}
