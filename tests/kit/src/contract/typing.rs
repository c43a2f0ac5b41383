//! Signs of contacts' typing: the newest of one person's threads, for a minute.

use crate::builders::{Fixture, far_ahead, long_ago};
use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::millis::add_millis;
use recado_domain::typing::{TypingSign, TypingState};
use recado_ports::ports::Store;

fn sign(fixture: &Fixture, state: TypingState, at: Timestamp) -> TypingSign {
    TypingSign {
        tenant: fixture.bound.tenant.id.clone(),
        state,
        at,
    }
}

pub async fn a_thread_of_which_nothing_was_seen_has_no_sign<S: Store>(store: &S) {
    assert_eq!(
        succeed(store.find_typing_sign(&[Fixture::new().thread()])).await,
        None
    );
}

pub async fn the_newest_sign_of_a_persons_threads_is_found_and_replaces_earlier_ones<S: Store>(store: &S) {
    let (one, other, stranger) = (Fixture::new(), Fixture::new(), Fixture::new());
    let later = |milliseconds| add_millis(far_ahead(), milliseconds);
    for (of, state, at) in [
        (&one, TypingState::Typing, later(1_000)),
        (&other, TypingState::Typing, later(2_000)),
        (&stranger, TypingState::Typing, later(9_000)),
    ] {
        succeed(store.put_typing_sign(&of.thread(), &sign(of, state, at))).await;
    }
    let threads = [one.thread(), other.thread()];
    let newest = sign(&other, TypingState::Typing, later(2_000));
    assert_eq!(succeed(store.find_typing_sign(&threads)).await, Some(newest));
    let stopped = sign(&one, TypingState::Paused, later(3_000));
    succeed(store.put_typing_sign(&one.thread(), &stopped)).await;
    assert_eq!(succeed(store.find_typing_sign(&threads)).await, Some(stopped));
}

pub async fn a_sign_is_not_found_after_its_minute<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let old = sign(&fixture, TypingState::Typing, long_ago());
    succeed(store.put_typing_sign(&fixture.thread(), &old)).await;
    assert_eq!(succeed(store.find_typing_sign(&[fixture.thread()])).await, None);
}
