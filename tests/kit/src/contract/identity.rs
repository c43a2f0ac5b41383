//! The installation's identity key: the first that is kept stays.

use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::identity::IdentityKey;
use recado_ports::ports::Store;

fn fresh() -> IdentityKey {
    IdentityKey::from_random(std::array::from_fn(|_| {
        getrandom::u64().expect("the system has random numbers")
    }))
}

pub async fn the_identity_key_that_is_kept_first_stays<S: Store>(store: &S) {
    let kept = succeed(store.keep_identity_key(&fresh)).await;
    assert_eq!(succeed(store.keep_identity_key(&fresh)).await, kept);
}

pub async fn of_twenty_identity_keys_at_once_all_are_told_the_same<S: Store>(store: &S) {
    let told = join_all((0..20).map(|_| async { succeed(store.keep_identity_key(&fresh)).await })).await;
    let kept = succeed(store.keep_identity_key(&fresh)).await;
    assert!(told.iter().all(|key| *key == kept));
}
