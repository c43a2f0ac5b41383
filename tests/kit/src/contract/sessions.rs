//! Sessions of the console.

use crate::builders::{at, far_ahead, fresh, identity_key, long_ago};
use crate::ports::succeed;
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::ConsoleSession;
use recado_domain::millis::add_duration;
use recado_ports::ports::Store;

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

pub async fn a_session_is_found_by_its_hash_until_it_is_deleted<S: Store>(store: &S) {
    let (session, other) = (session(far_ahead()), session(far_ahead()));
    for one in [&session, &other] {
        assert_eq!(succeed(store.find_session(&one.hash)).await, None);
        succeed(store.put_session(one)).await;
        assert_eq!(succeed(store.find_session(&one.hash)).await.as_ref(), Some(one));
    }
    for _ in 0..2 {
        succeed(store.delete_session(&session.hash)).await;
        assert_eq!(succeed(store.find_session(&session.hash)).await, None);
    }
    assert_eq!(succeed(store.find_session(&other.hash)).await, Some(other));
}

pub async fn a_renewed_session_lasts_longer_and_one_that_ended_stays_ended<S: Store>(store: &S) {
    let session = session(far_ahead());
    succeed(store.put_session(&session)).await;
    let later = add_duration(session.expires_at, SignedDuration::from_hours(11));
    succeed(store.renew_session(&session.hash, later)).await;
    let renewed = ConsoleSession {
        expires_at: later,
        ..session.clone()
    };
    assert_eq!(succeed(store.find_session(&session.hash)).await, Some(renewed));
    succeed(store.delete_session(&session.hash)).await;
    succeed(store.renew_session(&session.hash, later)).await;
    assert_eq!(succeed(store.find_session(&session.hash)).await, None);
}

pub async fn a_session_whose_time_is_over_is_not_found<S: Store>(store: &S) {
    let session = session(long_ago());
    succeed(store.put_session(&session)).await;
    assert_eq!(succeed(store.find_session(&session.hash)).await, None);
}
