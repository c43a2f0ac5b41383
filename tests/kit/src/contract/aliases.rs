//! Whose number belongs to whom: the newest that was learnt, for one instance.

use crate::builders::{Fixture, address, identity_key};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use recado_ports::ports::Store;
use recado_ports::records::aliases::{find_alias, save_alias};

/// A linked identity that nobody else has.
fn identity() -> ContactAddress {
    let random = getrandom::u64().expect("the system has random numbers");
    ContactAddress::parse(&format!("{random}@lid")).unwrap()
}

/// The thread of an identity.
fn thread(fixture: &Fixture, identity: &ContactAddress) -> ThreadId {
    identity_key().derive_thread_id(fixture.instance(), identity.as_str())
}

pub async fn an_identity_of_which_nothing_was_learnt_is_nobodys<S: Store>(store: &S) {
    let fixture = Fixture::new();
    assert_eq!(
        succeed(find_alias(store, &thread(&fixture, &identity()))).await,
        None
    );
    assert_eq!(
        succeed(find_alias(store, &thread(&fixture, &fixture.address))).await,
        None
    );
}

pub async fn what_was_learnt_of_an_identity_comes_back_as_it_was<S: Store>(store: &S) {
    let (fixture, one, other) = (Fixture::new(), identity(), identity());
    let of_meta = ContactAddress::parse(&format!("BR.{}", one.as_str().trim_end_matches("@lid"))).unwrap();
    for identity in [&one, &of_meta] {
        succeed(save_alias(store, &thread(&fixture, identity), &fixture.address)).await;
        let known = succeed(find_alias(store, &thread(&fixture, identity))).await;
        assert_eq!(known.as_ref(), Some(&fixture.address));
    }
    assert_eq!(succeed(find_alias(store, &thread(&fixture, &other))).await, None);
}

pub async fn learning_it_again_changes_nothing_and_another_number_takes_its_place<S: Store>(store: &S) {
    let (fixture, other, newer) = (Fixture::new(), identity(), address());
    for number in [&fixture.address, &fixture.address, &newer, &newer] {
        succeed(save_alias(store, &thread(&fixture, &other), number)).await;
        let known = succeed(find_alias(store, &thread(&fixture, &other))).await;
        assert_eq!(known.as_ref(), Some(number));
    }
}

pub async fn instances_learn_for_themselves<S: Store>(store: &S) {
    let (fixture, elsewhere, other) = (Fixture::new(), Fixture::new(), identity());
    succeed(save_alias(store, &thread(&fixture, &other), &fixture.address)).await;
    assert_eq!(
        succeed(find_alias(store, &thread(&elsewhere, &other))).await,
        None
    );
}

pub async fn twenty_who_learn_at_once_all_succeed<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), identity());
    let thread = thread(&fixture, &other);
    let learning = || save_alias(store, &thread, &fixture.address);
    join_all((0..20).map(|_| learning()))
        .await
        .into_iter()
        .for_each(Result::unwrap);
    let known = succeed(find_alias(store, &thread)).await;
    assert_eq!(known, Some(fixture.address));
}
