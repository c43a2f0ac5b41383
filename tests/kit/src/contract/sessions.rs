//! Sessions of the console.

use crate::builders::{at, far_ahead, fresh, identity_key, long_ago};
use crate::ports::succeed;
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::ConsoleSession;
use recado_domain::millis::add_duration;
use recado_ports::ports::Store;
use recado_ports::records::sessions::{delete_session, find_session, renew_session};
use recado_ports::table::put_record;

/// A session that lasts until then.
fn session(expires_at: Timestamp) -> ConsoleSession {
    let key = identity_key();
    let (hash, token) = (
        key.hash_token(&fresh("session_")),
        key.hash_token(&fresh("recado_")),
    );
    ConsoleSession {
        expires_at,
        ..ConsoleSession::begin(hash, token, Some("Ana".to_owned()), at(0))
    }
}

async fn find<S: Store>(store: &S, session: &ConsoleSession) -> Option<ConsoleSession> {
    let found = succeed(find_session(store, &session.hash)).await;
    found.map(|found| found.record)
}

pub async fn a_session_is_found_by_its_hash_until_it_is_deleted<S: Store>(store: &S) {
    let (session, other) = (session(far_ahead()), session(far_ahead()));
    for one in [&session, &other] {
        assert_eq!(find(store, one).await, None);
        succeed(put_record(store, one)).await;
        assert_eq!(find(store, one).await.as_ref(), Some(one));
    }
    for _ in 0..2 {
        succeed(delete_session(store, &session.hash)).await;
        assert_eq!(find(store, &session).await, None);
    }
    assert_eq!(find(store, &other).await, Some(other));
}

pub async fn a_renewed_session_lasts_longer_and_one_that_ended_stays_ended<S: Store>(store: &S) {
    let session = session(far_ahead());
    succeed(put_record(store, &session)).await;
    let later = add_duration(session.expires_at, SignedDuration::from_hours(11));
    let read = succeed(find_session(store, &session.hash)).await.unwrap();
    succeed(renew_session(store, read, later)).await;
    let renewed = ConsoleSession {
        expires_at: later,
        ..session.clone()
    };
    let read = succeed(find_session(store, &session.hash)).await.unwrap();
    assert_eq!(read.record, renewed);
    succeed(delete_session(store, &session.hash)).await;
    succeed(renew_session(store, read, later)).await;
    assert_eq!(find(store, &session).await, None);
}

pub async fn a_session_whose_time_is_over_is_not_found<S: Store>(store: &S) {
    let session = session(long_ago());
    succeed(put_record(store, &session)).await;
    assert_eq!(find(store, &session).await, None);
}
