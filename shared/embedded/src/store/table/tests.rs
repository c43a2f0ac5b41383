//! What the contract cannot see: rows that are damaged or of nobody, and rows that the sweep deleted.

use super::*;
use crate::Clock;
use futures::executor::block_on;
use recado_domain::ids::{IdempotencyKey, MessageId};
use recado_domain::millis;
use recado_domain::moving::HeldKey;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_ports::ports::{LogPlace, PageRequest, PublishedEvents, RecordRemoval};
use recado_ports::table::{IndexEntry, Record, list_records, put_record};
use recado_testkit::builders::at;
use recado_testkit::ports::succeed;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Note {
    tenant: TenantId,
    name: String,
    #[serde(with = "millis::optional")]
    until: Option<Timestamp>,
}

impl Record for Note {
    const KIND: &'static str = "notes";
    const INDEXES: &'static [&'static str] = &["notes.also"];
    const IS_PUBLISHED: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.name.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        self.until
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        vec![IndexEntry::new(Key::new(
            "notes.also",
            self.owner(),
            self.build_sort_key(),
        ))]
    }

    fn derive_published_events(_old: Option<&Self>, new: &Self, at: Timestamp) -> Vec<PublishedEvent> {
        vec![PublishedEvent::for_test(&new.tenant, &new.name, at)]
    }
}

static NOTES: [Kind; 1] = [Kind::of::<Note>()];

fn tenant() -> TenantId {
    TenantId::parse("clinic").unwrap()
}

fn note(name: &str) -> Note {
    Note {
        tenant: tenant(),
        name: name.to_owned(),
        until: None,
    }
}

/// A store that knows notes, with these.
async fn store_with(notes: &[Note]) -> Embedded {
    let store = Embedded::in_memory(Clock::new(|| at(0)))
        .unwrap()
        .with_kinds(&NOTES);
    for note in notes {
        succeed(put_record(&store, note)).await;
    }
    store
}

/// Puts `body`, an expression of SQL, in place of the body of a note.
async fn damage(store: &Embedded, name: &'static str, body: &'static str) {
    let sql = format!("UPDATE records SET body = {body} WHERE partition = 'notes#clinic' AND sort = ?1");
    let changed = store.run_write("damage", move |c| execute_sql(c, &sql, [name]));
    assert_eq!(succeed(changed).await, 1);
}

async fn count_rows(store: &Embedded) -> i64 {
    let count = |c: &Connection| Ok(c.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?);
    succeed(store.run_read("count", count)).await
}

async fn count_events(store: &Embedded) -> usize {
    let tenant = tenant();
    let page = store.list_published_events(Some(&tenant), LogPlace::After(EventCursor::START), 10);
    succeed(page).await.events.len()
}

#[test]
fn a_damaged_row_hides_no_other_and_goes_with_its_tenant_and_what_leads_to_it() {
    for damaged in ["'{'", "CAST(x'7bff' AS TEXT)"] {
        block_on(async {
            let notes = ["a", "b", "c"].map(note);
            let store = store_with(&notes).await;
            damage(&store, "b", damaged).await;
            let mut page = PageRequest::first(1);
            let mut found = Vec::new();
            loop {
                let all = Query::new(Partition::new(Note::KIND, Some(&tenant())), 1);
                let part = succeed(list_records::<Note>(&store, all, &page, |_| true)).await;
                found.extend(part.items);
                match part.next_cursor {
                    Some(next) => page.cursor = Some(next),
                    None => break,
                }
            }
            assert_eq!(found, [notes[0].clone(), notes[2].clone()], "{damaged}");
            assert_eq!(count_rows(&store).await, 6);
            succeed(store.delete_tenant_records(&tenant(), &[], 10)).await;
            assert_eq!(count_rows(&store).await, 0, "{damaged}");
            assert_eq!(succeed(store.delete_tenant_records(&tenant(), &[], 10)).await, 0);
        });
    }
}

#[test]
fn a_body_that_cannot_be_read_publishes_nothing_and_stops_no_write() {
    block_on(async {
        let store = store_with(&[note("a")]).await;
        assert_eq!(count_events(&store).await, 1);
        damage(&store, "a", "CAST(x'7bff' AS TEXT)").await;
        succeed(put_record(&store, &note("a"))).await;
        assert_eq!(count_events(&store).await, 2, "the old one counts as none");
        let item = NewItem {
            key: note("a").key(),
            body: "{".to_owned(),
            expires: None,
            due: None,
        };
        let written = succeed(store.write(&[Write::Put(item, Condition::Always)])).await;
        assert!(written.is_ok());
        assert_eq!(count_events(&store).await, 2);
    });
}

#[test]
fn the_sweep_deletes_a_record_and_its_leads_from_the_second_on_at_which_it_expires() {
    block_on(async {
        let ends = Note {
            until: Some(at(1_001)),
            ..note("ends")
        };
        let store = store_with(&[ends, note("stays")]).await;
        assert_eq!(succeed(store.delete_expired(at(1_999))).await.records, 0);
        assert_eq!(succeed(store.delete_expired(at(2_000))).await.records, 2);
        assert_eq!(count_rows(&store).await, 2);
    });
}

#[test]
fn a_clients_key_stays_stored_for_seven_days_after_it_expired() {
    block_on(async {
        let key = HeldKey {
            tenant: Some(tenant()),
            scope: "front-desk".to_owned(),
            key: IdempotencyKey::parse("order-7").unwrap(),
            request_hash: "hash".to_owned(),
            message: MessageId::parse("c_0-1.1").unwrap(),
            expires: at(1_000),
        };
        let store = Embedded::in_memory(Clock::new(|| at(0))).unwrap();
        succeed(put_record(&store, &key)).await;
        let end = 1_000 + 7 * 86_400_000;
        assert_eq!(succeed(store.delete_expired(at(end - 1))).await.records, 0);
        assert_eq!(succeed(store.delete_expired(at(end))).await.records, 1);
    });
}
