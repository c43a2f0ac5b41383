//! The stores' contract on the in-process DynamoDB: all of it, so that what a simulation finds is the store's doing, not
//! the stand-in's. Each case has a database of its own, and once more all of them share one.

#![expect(
    clippy::unused_async,
    clippy::unwrap_used,
    reason = "this is test code, and the contract makes its stores in async functions"
)]

use recado_aws::{DynamoStore, OsSystem};
use recado_domain::published_event::DEFAULT_EVENT_RETENTION;
use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use recado_pipeline::table::Record;
use recado_testkit::own_kinds::{Slip, list_all_kinds};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A store that remembers no configuration: cases change it and look.
fn store_on(dynamo: &Dynamo) -> DynamoStore<OsSystem> {
    let options = Options {
        config_ttl: Duration::ZERO,
        ..Options::default()
    };
    dynamo.store(OsSystem, &options).with_kinds(list_all_kinds())
}

/// Publishes what the filter of `publisher` lets through, as that does, until the case ends. `place` is shared by all who do so: one at a
/// time, as of a shard. A case that ends in between leaves changes to the next, which publishes some of them once more.
async fn publish_changes(dynamo: Dynamo, store: DynamoStore<OsSystem>, place: Arc<Mutex<Option<String>>>) {
    let slips = format!("{}#", Slip::KIND);
    loop {
        let mut place = place.lock().await;
        let told = dynamo.changes_for_publisher(place.as_deref(), 50, &[slips.as_str()]);
        let (changes, next) = told.unwrap();
        if changes.is_empty() {
            let is_end = *place == next;
            *place = next;
            drop(place);
            if is_end {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            continue;
        }
        let published = store
            .publish_changes(&changes, DEFAULT_EVENT_RETENTION)
            .await
            .unwrap();
        assert_eq!(published.come_back, None, "one shard tells all in order");
        *place = next;
    }
}

mod own {
    use super::*;

    async fn dynamo_store() -> DynamoStore<OsSystem> {
        let dynamo = Dynamo::new(Hooks::new(jiff::Timestamp::now)).unwrap();
        dynamo.start_stream().unwrap();
        let store = store_on(&dynamo);
        tokio::spawn(publish_changes(dynamo, store.clone(), Arc::default()));
        store
    }

    /// Checks that whatever a case leaves moves into another table.
    async fn check_moving(store: &DynamoStore<OsSystem>) {
        recado_testkit::moved_records::check_all_move(store, &dynamo_store().await).await;
    }

    recado_testkit::store_contract!(dynamo_store, check_moving);
}

mod shared {
    use super::*;
    use std::sync::LazyLock;

    /// Requests wait on their way there and back, so that those of one case overtake each other.
    static DYNAMO: LazyLock<Dynamo> = LazyLock::new(|| {
        let hooks = Hooks::new(jiff::Timestamp::now)
            .before(|operation| pause(operation.number))
            .after(|operation| pause(operation.number / 7));
        let dynamo = Dynamo::new(hooks).unwrap();
        dynamo.start_stream().unwrap();
        dynamo
    });

    static PLACE: LazyLock<Arc<Mutex<Option<String>>>> = LazyLock::new(Arc::default);

    fn pause(number: u64) -> recado_dynamo_simulation::Pause {
        Box::pin(async move {
            for _ in 0..number % 5 {
                tokio::task::yield_now().await;
            }
        })
    }

    async fn shared_store() -> DynamoStore<OsSystem> {
        let store = store_on(&DYNAMO);
        tokio::spawn(publish_changes(DYNAMO.clone(), store.clone(), PLACE.clone()));
        store
    }

    recado_testkit::store_contract!(shared_store);
}
