//! Whose number belongs to whom: the newest that was learnt, for one instance.

use crate::builders::{Scene, address, identity_key};
use futures::future::join_all;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use recado_pipeline::ports::Store;

/// A linked identity that nobody else has.
fn identity() -> ContactAddress {
    let random = getrandom::u64().expect("the system has random numbers");
    ContactAddress::parse(&format!("{random}@lid")).unwrap()
}

/// The thread of an identity.
fn thread(scene: &Scene, identity: &ContactAddress) -> ThreadId {
    identity_key().derive_thread_id(scene.instance(), identity.as_str())
}

pub async fn an_identity_of_which_nothing_was_learnt_is_nobodys<S: Store>(store: &S) {
    let scene = Scene::new();
    assert_eq!(
        store.find_alias(&thread(&scene, &identity())).await.unwrap(),
        None
    );
    assert_eq!(
        store.find_alias(&thread(&scene, &scene.address)).await.unwrap(),
        None
    );
}

pub async fn what_was_learnt_of_an_identity_comes_back_as_it_was<S: Store>(store: &S) {
    let (scene, one, other) = (Scene::new(), identity(), identity());
    let of_meta = ContactAddress::parse(&format!("BR.{}", one.as_str().trim_end_matches("@lid"))).unwrap();
    for identity in [&one, &of_meta] {
        store
            .save_alias(&thread(&scene, identity), &scene.address)
            .await
            .unwrap();
        let known = store.find_alias(&thread(&scene, identity)).await.unwrap();
        assert_eq!(known.as_ref(), Some(&scene.address));
    }
    assert_eq!(store.find_alias(&thread(&scene, &other)).await.unwrap(), None);
}

pub async fn learning_it_again_changes_nothing_and_another_number_takes_its_place<S: Store>(store: &S) {
    let (scene, other, newer) = (Scene::new(), identity(), address());
    for number in [&scene.address, &scene.address, &newer, &newer] {
        store.save_alias(&thread(&scene, &other), number).await.unwrap();
        let known = store.find_alias(&thread(&scene, &other)).await.unwrap();
        assert_eq!(known.as_ref(), Some(number));
    }
}

pub async fn instances_learn_for_themselves<S: Store>(store: &S) {
    let (scene, elsewhere, other) = (Scene::new(), Scene::new(), identity());
    store
        .save_alias(&thread(&scene, &other), &scene.address)
        .await
        .unwrap();
    assert_eq!(store.find_alias(&thread(&elsewhere, &other)).await.unwrap(), None);
}

pub async fn twenty_who_learn_at_once_all_succeed<S: Store>(store: &S) {
    let (scene, other) = (Scene::new(), identity());
    let thread = thread(&scene, &other);
    let learning = || store.save_alias(&thread, &scene.address);
    join_all((0..20).map(|_| learning()))
        .await
        .into_iter()
        .for_each(Result::unwrap);
    let known = store.find_alias(&thread).await.unwrap();
    assert_eq!(known, Some(scene.address));
}
