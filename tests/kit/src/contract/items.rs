//! Writes and reads of the table that must succeed.

use crate::builders::fresh;
use crate::own_kinds::{Note, Slip};
use crate::ports::succeed;
use recado_domain::ids::TenantId;
use recado_ports::ports::Store;
use recado_ports::table::{
    Condition, Key, NewItem, Query, Refusal, SaveOutcome, StoredItem, Version, Versioned, Write, save_record,
};

/// More pages than any list here has.
const PAGES_MAX: usize = 1000;

/// A tenant that no other case has.
pub(crate) fn tenant() -> TenantId {
    TenantId::parse(&fresh("tenant")).unwrap()
}

/// Makes writes that must not be refused. Returns the versions that they give.
pub(crate) async fn write_all<S: Store>(store: &S, writes: &[Write]) -> Vec<Version> {
    let written = succeed(store.write(writes)).await;
    written.unwrap_or_else(|refusal| panic!("{refusal:?} of {writes:?}"))
}

/// Makes writes that must be refused. Returns the places of those whose conditions did not hold.
pub(crate) async fn write_refused<S: Store>(store: &S, writes: &[Write]) -> Vec<usize> {
    let written = succeed(store.write(writes)).await;
    let Refusal(mut places) = written.expect_err("a condition does not hold");
    places.sort_unstable();
    places
}

/// Stores a slip, whatever is there. Returns its version.
pub(crate) async fn put_slip<S: Store>(store: &S, slip: &Slip) -> Version {
    let versions = write_all(store, &[slip.put(Condition::Always)]).await;
    assert_eq!(versions.len(), 1, "{versions:?}");
    versions[0]
}

/// Stores slips with these names and the same text, all at once.
pub(crate) async fn put_slips<S: Store>(store: &S, tenant: Option<&TenantId>, names: &[String]) {
    let put = |name: &String| Slip::new(tenant, name, "text").put(Condition::Always);
    let writes: Vec<Write> = names.iter().map(put).collect();
    write_all(store, &writes).await;
}

/// Stores a body that no record has, in place of what is there.
pub(crate) async fn put_unreadable<S: Store>(store: &S, key: Key) {
    let item = NewItem {
        key,
        body: "{\"tenant\":".to_owned(),
        expires: None,
        due: None,
    };
    write_all(store, &[Write::Put(item, Condition::Always)]).await;
}

/// Deletes an item, whatever it is.
pub(crate) async fn delete_key<S: Store>(store: &S, key: Key) {
    write_all(store, &[Write::Delete(key, Condition::Always)]).await;
}

/// Reads an item.
pub(crate) async fn get<S: Store>(store: &S, key: &Key) -> Option<StoredItem> {
    succeed(store.get(key)).await
}

/// Stores a new note.
pub(crate) async fn save_note<S: Store>(store: &S, note: Note) -> Versioned<Note> {
    let mut versioned = Versioned::new(note);
    assert_eq!(save(store, &mut versioned).await, SaveOutcome::Saved);
    versioned
}

/// Tries to store a note.
pub(crate) async fn save<S: Store>(store: &S, note: &mut Versioned<Note>) -> SaveOutcome {
    succeed(save_record(store, note)).await
}

/// Reads all pages of a query, as many items at a time as it says.
pub(crate) async fn page_all<S: Store>(store: &S, query: &Query) -> Vec<StoredItem> {
    let (mut all, mut query) = (Vec::new(), query.clone());
    for _ in 0..PAGES_MAX {
        let page = succeed(store.page(&query)).await;
        assert!(page.items.len() <= query.limit, "{query:?}");
        all.extend(page.items);
        query.after = page.next;
        if query.after.is_none() {
            return all;
        }
    }
    panic!("the pages do not end: {query:?}");
}

/// Reads the places of all items that a query finds.
pub(crate) async fn page_names<S: Store>(store: &S, query: &Query) -> Vec<String> {
    let items = page_all(store, query).await;
    items.into_iter().map(|item| item.key.sort).collect()
}
