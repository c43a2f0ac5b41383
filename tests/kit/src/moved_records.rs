//! Moves the records of a store into another one, and compares them.

use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::moving::MovedRecord;
use recado_ports::ports::{ImportBegin, MovableRecords};

/// Reads all records of a store, each as its kind and its JSON, in order.
pub async fn read_sorted_records(store: &dyn MovableRecords) -> Vec<String> {
    let records = read_records(store).await;
    let text = |record: &MovedRecord| {
        let mut json = record.to_json().unwrap();
        // Maps that read the same may be in another order.
        json.sort_all_objects();
        format!("{} {json}", record.kind().as_str())
    };
    let mut texts: Vec<String> = records.iter().map(text).collect();
    texts.sort();
    texts
}

/// Reads all records of a store.
pub async fn read_records(store: &dyn MovableRecords) -> Vec<MovedRecord> {
    let (mut records, mut place) = (Vec::new(), None);
    loop {
        let page = succeed(store.read_moved_records(place.as_deref())).await;
        records.extend(page.records);
        place = page.next;
        if place.is_none() {
            return records;
        }
    }
}

/// Moves all records into an empty store, twice as after a run that was cut off, and checks that they are the same there.
///
/// # Panics
/// If they are not.
pub async fn check_all_move(from: &dyn MovableRecords, to: &dyn MovableRecords) {
    let records = read_records(from).await;
    assert_eq!(succeed(to.begin_import("this")).await, ImportBegin::Ready);
    for _ in 0..2 {
        for some in records.chunks(7) {
            succeed(to.put_moved_records(some)).await;
        }
        assert_eq!(succeed(to.begin_import("this")).await, ImportBegin::Ready);
    }
    assert_eq!(
        succeed(to.begin_import("another")).await,
        ImportBegin::OtherExport
    );
    assert_eq!(read_sorted_records(to).await, read_sorted_records(from).await);
    succeed(to.finish_import("this", Timestamp::now())).await;
    assert_eq!(succeed(to.begin_import("this")).await, ImportBegin::Finished);
}
