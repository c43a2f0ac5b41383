//! The count of failed downloads in an instance's state.

use crate::builders::{Fixture, at, change_instance, seen};
use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_ports::ports::Store;

fn minute(number: i64) -> Timestamp {
    at(number * 60_000)
}

/// A download fails in this minute. Returns `true` if that blocks downloads.
async fn fail<S: Store>(store: &S, fixture: &Fixture, number: i64) -> bool {
    let failure = InstanceChange::DownloadFailed(minute(number));
    change_instance(store, fixture.instance(), failure).await.done
}

/// The end of the block that holds in this minute.
async fn blocked_until<S: Store>(store: &S, fixture: &Fixture, number: i64) -> Option<Timestamp> {
    let state = succeed(store.read_instance_state(fixture.instance())).await;
    state.downloads.blocked_until(minute(number))
}

pub async fn failed_downloads_are_counted_until_they_block_for_half_an_hour<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    for number in 0..19 {
        assert!(!fail(store, &fixture, number).await);
        assert_eq!(blocked_until(store, &fixture, number).await, None);
    }
    let closed = seen(ConnectionStatus::Closed, minute(18), None);
    change_instance(store, fixture.instance(), InstanceChange::Connection(closed)).await;
    assert!(fail(store, &fixture, 19).await);
    assert_eq!(blocked_until(store, &fixture, 20).await, Some(minute(49)));
    assert_eq!(blocked_until(store, &fixture, 49).await, None);
    assert!(!fail(store, &fixture, 50).await, "the count begins anew");
    assert_eq!(blocked_until(store, &other, 0).await, None);
}
