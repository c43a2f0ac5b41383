//! Parked conversations.

use crate::builders::{Fixture, at, nonce};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::Timestamp;
use recado_domain::ids::{Nonce, Ordinal};
use recado_domain::instance::{DEFAULT_PATIENCE, ParkedConversation};
use recado_ports::ports::Store;

fn parking(fixture: &Fixture, since: i64, not_before: Option<Timestamp>) -> ParkedConversation {
    ParkedConversation {
        instance: fixture.instance().clone(),
        conversation: fixture.conversation(1).id,
        version: nonce(),
        since: at(since),
        not_before,
        patience: DEFAULT_PATIENCE,
        reply: None,
    }
}

async fn parked<S: Store>(store: &S, fixture: &Fixture, limit: usize) -> Vec<ParkedConversation> {
    succeed(store.list_parked(fixture.instance(), limit)).await
}

pub async fn a_parked_conversation_is_listed_by_its_instance<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    assert!(parked(store, &fixture, 10).await.is_empty());
    let entry = parking(&fixture, 0, Some(at(900_000)));
    succeed(store.put_parked(&entry)).await;
    assert_eq!(parked(store, &fixture, 10).await, [entry]);
    assert!(parked(store, &other, 10).await.is_empty());
}

pub async fn parking_again_is_a_new_version_since_the_first<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let first = parking(&fixture, 0, None);
    succeed(store.put_parked(&first)).await;
    let again = ParkedConversation {
        reply: Some(first.conversation.message_id(Ordinal(2))),
        ..parking(&fixture, 60_000, Some(at(120_000)))
    };
    succeed(store.put_parked(&again)).await;
    let kept = ParkedConversation {
        since: first.since,
        ..again
    };
    assert_eq!(parked(store, &fixture, 10).await, [kept]);
    let third = parking(&fixture, 90_000, None);
    succeed(store.put_parked(&third)).await;
    let kept = ParkedConversation {
        since: first.since,
        ..third
    };
    assert_eq!(parked(store, &fixture, 10).await, [kept]);
}

pub async fn the_longest_parked_come_first_and_not_more_than_asked<S: Store>(store: &S) {
    let fixture = Fixture::new();
    for since in [3_000, 1_000, 5_000, 2_000, 4_000] {
        succeed(store.put_parked(&parking(&fixture.other_contact(), since, None))).await;
    }
    for limit in [1, 3, 5, 50] {
        let found: Vec<Timestamp> = parked(store, &fixture, limit)
            .await
            .iter()
            .map(|entry| entry.since)
            .collect();
        let expected: Vec<Timestamp> = (1..=5).take(limit).map(|seconds| at(seconds * 1_000)).collect();
        assert_eq!(found, expected);
    }
}

pub async fn only_the_version_seen_is_removed<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let first = parking(&fixture, 0, None);
    assert!(!succeed(store.remove_parked(&first)).await, "there is none");
    succeed(store.put_parked(&first)).await;
    let seen = parked(store, &fixture, 10).await.remove(0);
    succeed(store.put_parked(&parking(&fixture, 60_000, None))).await;
    assert!(
        !succeed(store.remove_parked(&seen)).await,
        "it was parked again meanwhile"
    );
    let seen = parked(store, &fixture, 10).await.remove(0);
    assert!(succeed(store.remove_parked(&seen)).await);
    assert!(parked(store, &fixture, 10).await.is_empty());
    assert!(!succeed(store.remove_parked(&seen)).await, "it is gone");
}

pub async fn once_released_it_is_parked_since_anew<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let first = parking(&fixture, 0, None);
    succeed(store.put_parked(&first)).await;
    assert!(succeed(store.remove_parked(&first)).await);
    let second = parking(&fixture, 60_000, None);
    succeed(store.put_parked(&second)).await;
    assert_eq!(parked(store, &fixture, 10).await, [second]);
}

pub async fn releasing_one_leaves_the_others<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (one, other) = (
        parking(&fixture, 0, None),
        parking(&fixture.other_contact(), 1, None),
    );
    succeed(store.put_parked(&one)).await;
    succeed(store.put_parked(&other)).await;
    assert!(succeed(store.remove_parked(&one)).await);
    assert_eq!(parked(store, &fixture, 10).await, [other]);
}

pub async fn of_parkings_at_once_one_entry_remains<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let entries: Vec<ParkedConversation> = (0..10).map(|index| parking(&fixture, index, None)).collect();
    join_all(entries.iter().map(|entry| store.put_parked(entry)))
        .await
        .into_iter()
        .for_each(Result::unwrap);
    let found = parked(store, &fixture, 50).await;
    assert_eq!(found.len(), 1);
    let versions: Vec<&Nonce> = entries.iter().map(|entry| &entry.version).collect();
    assert!(versions.contains(&&found[0].version));
}
