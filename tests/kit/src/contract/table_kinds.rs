//! What a store does of itself with the records of the kinds that it knows: it publishes their changes, and takes them away with
//! their tenant.

use super::items::{get, page_names, put_slip, put_unreadable, save_note, tenant, write_all, write_refused};
use super::patience::{INDEX, eventually};
use crate::builders::{far_ahead, fresh};
use crate::own_kinds::{Note, Remains, Slip};
use crate::ports::succeed;
use recado_domain::ids::TenantId;
use recado_domain::published_event::EventCursor;
use recado_ports::ports::{LogPlace, Store};
use recado_ports::table::{Condition, Partition, Query, Record, find_by_index, find_record};
use std::collections::BTreeSet;

/// The ids of what was published of a tenant.
async fn published<S: Store>(store: &S, tenant: &TenantId) -> BTreeSet<String> {
    let page =
        succeed(store.list_published_events(Some(tenant), LogPlace::After(EventCursor::START), 100)).await;
    let ids = page.events.into_iter().map(|logged| logged.event.id);
    ids.collect()
}

async fn assert_published<S: Store>(store: &S, tenant: &TenantId, count: usize) {
    let read = async || published(store, tenant).await;
    let found = eventually(INDEX, read, |found| found.len() >= count).await;
    assert_eq!(found.len(), count, "{found:?}");
}

pub async fn a_change_of_a_published_kind_is_published<S: Store>(store: &S) {
    let tenant = tenant();
    let slip = |text: &str| Slip::new(Some(&tenant), "a", text);
    let told = |text: &str| slip(&format!("{}{text}", Slip::TOLD));
    put_slip(store, &slip("nobody is told")).await;
    let version = put_slip(store, &told("first")).await;
    assert_published(store, &tenant, 1).await;
    // What is refused, or changes nothing that is told, is not published.
    let other = Slip::new(Some(&tenant), "c", "nobody is told");
    put_slip(store, &other).await;
    let refused = [
        told("second").put(Condition::Version(version)),
        other.put(Condition::Absent),
    ];
    assert_eq!(write_refused(store, &refused).await, [1]);
    let version = put_slip(store, &told("first")).await;
    let named = Slip {
        name: "b".to_owned(),
        ..told("beside it")
    };
    let written = [
        told("second").put(Condition::Version(version)),
        named.put(Condition::Absent),
    ];
    write_all(store, &written).await;
    assert_published(store, &tenant, 3).await;
}

/// Removes a tenant's records, at most `limit` of each kind at a time, until nothing is left to be removed.
async fn remove_all<S: Store>(store: &S, tenant: &TenantId, limit: usize) {
    for _ in 0..100 {
        if succeed(store.delete_tenant_records(tenant, &[], limit)).await < limit {
            return;
        }
    }
    panic!("the removal does not end");
}

/// A note with a number and a code that no other has.
fn numbered(tenant: Option<&TenantId>, name: &str, remains: Remains) -> Note {
    Note {
        number: Some(fresh("number")),
        code: Some(fresh("code")),
        remains,
        ..Note::new(tenant, name)
    }
}

/// Asserts that a note is stored like this (`None`: not at all), and that its index entries say the same.
async fn assert_left<S: Store>(store: &S, note: &Note, left: Option<&Note>) {
    let found = succeed(find_record::<Note>(store, note.tenant.as_ref(), &note.name)).await;
    assert_eq!(found.as_ref(), left);
    let number = Note::number_key(note.number.as_deref().unwrap());
    let by_index = succeed(find_by_index::<Note>(store, &number)).await;
    assert_eq!(by_index.map(|found| found.record).as_ref(), left);
    assert_eq!(get(store, &number).await.is_some(), left.is_some());
    let copy = get(store, &Note::code_key(note.code.as_deref().unwrap())).await;
    let copy = copy.map(|item| Note::from_body(&item.body).unwrap());
    assert_eq!(copy.as_ref(), left);
    let listed = Query::new(Partition::new(Note::ALL, None), 10);
    let prefix = Note::list_prefix(note.tenant.as_ref()) + &note.name;
    let listed = page_names(store, &listed.with_prefix(&prefix)).await;
    assert_eq!(listed.contains(&prefix), left.is_some());
}

pub async fn a_removed_tenant_leaves_no_record_and_nothing_that_leads_to_one<S: Store>(store: &S) {
    let gone = tenant();
    let longer = TenantId::parse(&format!("{gone}-2")).unwrap();
    let (mut theirs, mut others) = (Vec::new(), Vec::new());
    for number in 0..7 {
        let name = format!("{}-{number}", fresh("name"));
        let note = Note {
            expires: (number == 3).then(far_ahead),
            ..numbered(Some(&gone), &name, Remains::Nothing)
        };
        theirs.push(save_note(store, note).await.record);
        for owner in [Some(&longer), None] {
            let note = numbered(owner, &name, Remains::Nothing);
            others.push(save_note(store, note).await.record);
            put_slip(store, &Slip::new(owner, &name, "text")).await;
        }
        put_slip(store, &Slip::new(Some(&gone), &name, "text")).await;
    }
    let damaged = Note::new(Some(&gone), "damaged").key();
    put_unreadable(store, damaged.clone()).await;
    remove_all(store, &gone, 2).await;
    for note in &theirs {
        assert_left(store, note, None).await;
    }
    for kind in [Note::KIND, Slip::KIND] {
        let query = Query::new(Partition::new(kind, Some(&gone)), 10);
        assert_eq!(page_names(store, &query).await, [""; 0]);
    }
    for note in &others {
        assert_left(store, note, Some(note)).await;
        let slip = succeed(find_record::<Slip>(store, note.tenant.as_ref(), &note.name)).await;
        assert!(slip.is_some(), "{note:?}");
    }
    assert_eq!(succeed(store.delete_tenant_records(&gone, &[], 2)).await, 0);
}

pub async fn what_a_kind_keeps_of_a_removed_tenant_stays_by_any_limit<S: Store>(store: &S) {
    use Remains::{All, AllButText, Nothing};
    let gone = tenant();
    let mut notes = Vec::new();
    // More that stay as they are than one call looks at, before and between those that change.
    for (number, remains) in [
        All, All, All, AllButText, All, All, All, All, Nothing, AllButText, All,
    ]
    .into_iter()
    .enumerate()
    {
        let note = numbered(Some(&gone), &format!("{number:02}"), remains);
        notes.push(save_note(store, note).await.record);
    }
    remove_all(store, &gone, 2).await;
    for note in &notes {
        let left = match note.remains {
            Nothing => None,
            All => Some(note.clone()),
            AllButText => Some(Note {
                text: String::new(),
                ..note.clone()
            }),
        };
        assert_left(store, note, left.as_ref()).await;
    }
    let versions = async || {
        let query = Query::new(Partition::new(Note::KIND, Some(&gone)), 20);
        let page = succeed(store.page(&query)).await;
        page.items
            .into_iter()
            .map(|item| item.version)
            .collect::<Vec<_>>()
    };
    let before = versions().await;
    assert_eq!(succeed(store.delete_tenant_records(&gone, &[], 2)).await, 0);
    assert_eq!(versions().await, before, "nothing is written anew");
}
