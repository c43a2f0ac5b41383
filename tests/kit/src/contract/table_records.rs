//! Records of the table and what leads to them: saved over what was read, found by each way, and listed by pages.

use super::items::{delete_key, get, put_unreadable, save, save_note, tenant};
use crate::builders::{far_ahead, fresh, long_ago};
use crate::own_kinds::{Note, Slip};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::ids::TenantId;
use recado_domain::millis::add_millis;
use recado_ports::ports::{PageRequest, PortError, Store};
use recado_ports::table::{
    Key, Partition, Query, Record, SaveOutcome, Versioned, find_by_index, find_many, find_record,
    find_with_version, list_records, put_record, remove_record,
};

/// More pages than any list here has.
const PAGES_MAX: usize = 100;

/// A note with a number and a code that no other has.
fn numbered(tenant: &TenantId, name: &str) -> Note {
    Note {
        number: Some(fresh("number")),
        code: Some(fresh("code")),
        ..Note::new(Some(tenant), name)
    }
}

async fn find<S: Store>(store: &S, tenant: &TenantId, name: &str) -> Option<Note> {
    succeed(find_record::<Note>(store, Some(tenant), name)).await
}

async fn read<S: Store>(store: &S, tenant: &TenantId, name: &str) -> Versioned<Note> {
    let found = succeed(find_with_version::<Note>(store, Some(tenant), name)).await;
    found.expect("the note is stored")
}

/// The note with this number.
async fn find_number<S: Store>(store: &S, number: &str) -> Option<Note> {
    let found = succeed(find_by_index::<Note>(store, &Note::number_key(number))).await;
    found.map(|found| found.record)
}

/// The note that lies under this code once more.
async fn find_code<S: Store>(store: &S, code: &str) -> Option<Note> {
    let found = get(store, &Note::code_key(code)).await;
    found.map(|item| Note::from_body(&item.body).unwrap())
}

/// Asserts that a note is found by its name, its number and its code, or by none of them.
async fn assert_found<S: Store>(store: &S, note: &Note, is_stored: bool) {
    let expected = is_stored.then(|| note.clone());
    let tenant = note.tenant.as_ref().unwrap();
    assert_eq!(find(store, tenant, &note.name).await, expected);
    let number = note.number.as_deref().unwrap();
    assert_eq!(find_number(store, number).await, expected);
    assert_eq!(find_code(store, note.code.as_deref().unwrap()).await, expected);
    assert_eq!(
        list_names(store, tenant, 10).await.contains(&note.name),
        is_stored
    );
}

/// Lists the names of a tenant's notes by what leads to them, `limit` at a time.
async fn list_names<S: Store>(store: &S, tenant: &TenantId, limit: usize) -> Vec<String> {
    list_wanted(store, tenant, limit, |_| true).await
}

async fn list_wanted<S: Store>(
    store: &S,
    tenant: &TenantId,
    limit: usize,
    is_wanted: impl Fn(&Note) -> bool + Send + Sync,
) -> Vec<String> {
    let query = Query::new(Partition::new(Note::ALL, None), limit);
    let query = query.with_prefix(&Note::list_prefix(Some(tenant)));
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = PageRequest { limit, cursor };
        let page = succeed(list_records::<Note>(store, query.clone(), &page, &is_wanted)).await;
        assert!(page.items.len() <= limit, "{page:?}");
        all.extend(page.items.into_iter().map(|note| note.name));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

pub async fn a_record_is_saved_only_over_the_one_that_was_read<S: Store>(store: &S) {
    let tenant = tenant();
    let mut first = Versioned::new(numbered(&tenant, "a"));
    let mut second = Versioned::new(Note::new(Some(&tenant), "a"));
    assert!(!first.is_stored());
    assert_eq!(save(store, &mut first).await, SaveOutcome::Saved);
    assert!(first.is_stored());
    assert_eq!(save(store, &mut second).await, SaveOutcome::Conflict);
    let mut late = read(store, &tenant, "a").await;
    // Whoever saved it may save it again.
    for text in ["second", "third"] {
        first.record.text = text.to_owned();
        assert_eq!(save(store, &mut first).await, SaveOutcome::Saved);
        assert_found(store, &first.record, true).await;
    }
    "late".clone_into(&mut late.record.text);
    late.record.number = Some(fresh("number"));
    assert_eq!(save(store, &mut late).await, SaveOutcome::Conflict);
    assert_found(store, &first.record, true).await;
    assert_eq!(
        find_number(store, late.record.number.as_deref().unwrap()).await,
        None
    );
    // It was deleted and made again since it was read.
    let mut old = read(store, &tenant, "a").await;
    assert!(succeed(remove_record(store, &first)).await);
    save_note(store, first.record.clone()).await;
    "of before".clone_into(&mut old.record.text);
    assert_eq!(save(store, &mut old).await, SaveOutcome::Conflict);
    assert!(!succeed(remove_record(store, &old)).await);
    assert_found(store, &first.record, true).await;
}

pub async fn an_index_entry_that_another_record_has_is_named_and_nothing_is_written<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    let mut first = save_note(store, numbered(&one, "a")).await;
    let (number, code) = (first.record.number.clone(), first.record.code.clone());
    let mut second = Versioned::new(numbered(&other, "a"));
    second.record.code.clone_from(&code);
    assert_eq!(
        save(store, &mut second).await,
        SaveOutcome::Taken(Note::CODE_PLACE)
    );
    second.record.number.clone_from(&number);
    assert_eq!(
        save(store, &mut second).await,
        SaveOutcome::Taken(Note::NUMBER_PLACE)
    );
    assert_eq!(find(store, &other, "a").await, None);
    assert!(list_names(store, &other, 10).await.is_empty());
    assert_found(store, &first.record, true).await;
    // Once the first has another number and another code, these are free.
    first.record.number = Some(fresh("number"));
    first.record.code = Some(fresh("code"));
    assert_eq!(save(store, &mut first).await, SaveOutcome::Saved);
    assert_found(store, &first.record, true).await;
    assert_eq!(find_number(store, number.as_deref().unwrap()).await, None);
    assert_eq!(find_code(store, code.as_deref().unwrap()).await, None);
    assert_eq!(save(store, &mut second).await, SaveOutcome::Saved);
    for note in [&first.record, &second.record] {
        assert_found(store, note, true).await;
    }
    let stored = first.record.clone();
    first.record.number = number;
    assert_eq!(
        save(store, &mut first).await,
        SaveOutcome::Taken(Note::NUMBER_PLACE)
    );
    assert_found(store, &stored, true).await;
    // What has no number any more gives it up.
    second.record.number = None;
    assert_eq!(save(store, &mut second).await, SaveOutcome::Saved);
    assert_eq!(save(store, &mut first).await, SaveOutcome::Saved);
    assert_found(store, &first.record, true).await;
}

pub async fn what_leads_to_a_record_changes_expires_and_goes_with_it<S: Store>(store: &S) {
    let tenant = tenant();
    let mut note = save_note(store, numbered(&tenant, "a")).await;
    let number = Note::number_key(note.record.number.as_deref().unwrap());
    let code = Note::code_key(note.record.code.as_deref().unwrap());
    for (text, ahead_ms) in [("second", None), ("second", Some(1_000)), ("third", Some(2_000))] {
        note.record.text = text.to_owned();
        note.record.expires = ahead_ms.map(|ahead_ms| add_millis(far_ahead(), ahead_ms));
        assert_eq!(save(store, &mut note).await, SaveOutcome::Saved);
        assert_found(store, &note.record, true).await;
        for key in [&note.record.key(), &number, &code] {
            let found = get(store, key).await.unwrap();
            assert_eq!(found.expires, note.record.expires, "{key:?}");
        }
    }
    assert!(succeed(remove_record(store, &note)).await);
    assert_found(store, &note.record, false).await;
    for key in [&number, &code] {
        assert_eq!(get(store, key).await, None);
    }
    assert!(!succeed(remove_record(store, &note)).await, "it is gone");
    // What has expired holds neither its name nor its number.
    let over = Note {
        expires: Some(long_ago()),
        ..note.record.clone()
    };
    save_note(store, over.clone()).await;
    assert_found(store, &over, false).await;
    let again = save_note(store, numbered(&tenant, "a")).await;
    let same_number = Note {
        name: "b".to_owned(),
        expires: None,
        ..over
    };
    let same_number = save_note(store, same_number).await;
    for note in [&again.record, &same_number.record] {
        assert_found(store, note, true).await;
    }
}

pub async fn a_record_may_be_put_whatever_is_there_and_many_are_found_in_order<S: Store>(store: &S) {
    let (tenant, other) = (tenant(), tenant());
    for text in ["first", "second"] {
        for name in ["a", "b", "c", "d"] {
            let note = Note {
                text: text.to_owned(),
                ..Note::new(Some(&tenant), name)
            };
            succeed(put_record(store, &note)).await;
            assert_eq!(find(store, &tenant, name).await, Some(note));
        }
    }
    succeed(put_record(store, &Note::new(Some(&other), "x"))).await;
    let asked = ["d", "x", "a", "none", "c"].map(str::to_owned);
    let found = succeed(find_many::<Note>(store, Some(&tenant), &asked)).await;
    let names: Vec<&str> = found.iter().map(|note| note.name.as_str()).collect();
    assert_eq!(names, ["d", "a", "c"]);
    assert!(found.iter().all(|note| note.text == "second"));
    let none = succeed(find_many::<Note>(store, Some(&other), &asked[..1])).await;
    assert_eq!(none, []);
}

pub async fn pages_of_a_list_are_full_and_hold_what_is_wanted<S: Store>(store: &S) {
    let tenant = tenant();
    for number in 0..12 {
        let text = if number % 3 == 0 { "wanted" } else { "other" };
        let note = Note {
            text: text.to_owned(),
            ..Note::new(Some(&tenant), &format!("{number:02}"))
        };
        save_note(store, note).await;
    }
    let wanted = ["00", "03", "06", "09"];
    for limit in [1, 2, 3, 4, 5, 20] {
        let listed = list_wanted(store, &tenant, limit, |note| note.text == "wanted").await;
        assert_eq!(listed, wanted, "by {limit}");
        let query = Query::new(Partition::new(Note::KIND, Some(&tenant)), limit);
        let page = PageRequest::first(limit);
        let is_wanted = |note: &Note| note.text == "wanted";
        let first = succeed(list_records::<Note>(store, query.clone(), &page, is_wanted)).await;
        let names: Vec<&str> = first.items.iter().map(|note| note.name.as_str()).collect();
        assert_eq!(names, wanted[..limit.min(4)]);
        assert_eq!(first.next_cursor.is_some(), limit < 4, "by {limit}");
        let reversed = succeed(list_records::<Note>(store, query.in_reverse(), &page, is_wanted)).await;
        assert_eq!(reversed.items[0].name, "09");
    }
    assert_eq!(list_wanted(store, &tenant, 5, |_| false).await, [""; 0]);
    // A record that is gone leaves no hole in a page.
    delete_key(store, Key::new(Note::KIND, Some(&tenant), "03")).await;
    let left = list_wanted(store, &tenant, 1, |note| note.text == "wanted").await;
    assert_eq!(left, ["00", "06", "09"]);
}

pub async fn a_record_that_cannot_be_read_is_an_error_alone_and_passed_over_in_a_list<S: Store>(store: &S) {
    let tenant = tenant();
    let mut notes = Vec::new();
    for name in ["a", "b", "c", "d"] {
        notes.push(save_note(store, numbered(&tenant, name)).await.record);
    }
    put_unreadable(store, notes[1].key()).await;
    let entry = Key::new(Note::ALL, None, format!("{}c", Note::list_prefix(Some(&tenant))));
    put_unreadable(store, entry.clone()).await;
    let number = Note::number_key(notes[1].number.as_deref().unwrap());
    let errors = [
        find_record::<Note>(store, Some(&tenant), "b").await.unwrap_err(),
        find_with_version::<Note>(store, Some(&tenant), "b")
            .await
            .unwrap_err(),
        find_by_index::<Note>(store, &number).await.unwrap_err(),
        find_by_index::<Note>(store, &entry).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, PortError::Invalid { .. }), "{error:?}");
    }
    for limit in [1, 2, 10] {
        assert_eq!(list_names(store, &tenant, limit).await, ["a", "d"], "by {limit}");
    }
    let query = Query::new(Partition::new(Note::KIND, Some(&tenant)), 10);
    let page = PageRequest::first(10);
    let listed = succeed(list_records::<Note>(store, query, &page, |_| true)).await;
    let names: Vec<String> = listed.items.into_iter().map(|note| note.name).collect();
    assert_eq!(names, ["a", "c", "d"]);
    let many = succeed(find_many::<Note>(
        store,
        Some(&tenant),
        &["b", "d"].map(str::to_owned),
    ))
    .await;
    assert_eq!(many, [notes[3].clone()]);
    // It can be written anew.
    succeed(put_record(store, &notes[1])).await;
    assert_found(store, &notes[1], true).await;
    succeed(put_record(store, &notes[2])).await;
    assert_eq!(list_names(store, &tenant, 10).await, ["a", "b", "c", "d"]);
}

/// Saves all of these at once. Returns the one that was saved, and what became of the others.
async fn save_at_once<S: Store>(store: &S, writers: Vec<Versioned<Note>>) -> (Note, Vec<SaveOutcome>) {
    let writing = writers.into_iter().map(|mut writer| async move {
        let outcome = save(store, &mut writer).await;
        (writer.record, outcome)
    });
    let (mut saved, lost): (Vec<_>, Vec<_>) = join_all(writing)
        .await
        .into_iter()
        .partition(|(_, outcome)| *outcome == SaveOutcome::Saved);
    assert_eq!(saved.len(), 1, "{saved:?}, {lost:?}");
    let lost = lost.into_iter().map(|(_, outcome)| outcome).collect();
    (saved.remove(0).0, lost)
}

pub async fn of_writers_at_once_one_wins_each_round<S: Store>(store: &S) {
    let tenant = tenant();
    let new = (0..6).map(|_| Versioned::new(numbered(&tenant, "a"))).collect();
    let (mut stored, lost) = save_at_once(store, new).await;
    assert_eq!(lost, [SaveOutcome::Conflict; 5]);
    for round in 0..4 {
        let known = read(store, &tenant, "a").await;
        assert_eq!(known.record, stored);
        let change = |writer: usize| {
            let mut changed = known.clone();
            changed.record.text = format!("round {round}, writer {writer}");
            changed.record.number = Some(fresh("number"));
            changed
        };
        let (changed, lost) = save_at_once(store, (0..6).map(change).collect()).await;
        assert_eq!(lost, [SaveOutcome::Conflict; 5], "round {round}");
        assert_found(store, &changed, true).await;
        stored = changed;
    }
    // Six records want one number.
    let number = fresh("number");
    let want = |name: String| {
        Versioned::new(Note {
            number: Some(number.clone()),
            ..numbered(&tenant, &name)
        })
    };
    let names = (0..6).map(|name| format!("wants-{name}"));
    let (saved, lost) = save_at_once(store, names.map(want).collect()).await;
    assert_eq!(lost, [SaveOutcome::Taken(Note::NUMBER_PLACE); 5]);
    assert_found(store, &saved, true).await;
    assert_eq!(list_names(store, &tenant, 10).await, ["a", saved.name.as_str()]);
}

pub async fn records_of_the_installation_are_of_no_tenant<S: Store>(store: &S) {
    let (tenant, name) = (tenant(), fresh("name"));
    let note = save_note(store, Note::new(None, &name)).await;
    assert_eq!(find(store, &tenant, &name).await, None);
    let own = succeed(find_record::<Note>(store, None, &name)).await;
    assert_eq!(own.as_ref(), Some(&note.record));
    let slip = succeed(find_record::<Slip>(store, None, &name)).await;
    assert_eq!(slip, None, "another kind has its own records");
    assert!(succeed(remove_record(store, &note)).await);
}
