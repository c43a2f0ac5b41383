//! Committing a message with its conversation and the client's key.

use super::given::{
    assert_untouched, begun, committed, committed_once, find_stored, key_claim, list_open, open_ordinals,
    updated, with_reply,
};
use crate::builders::{Fixture, far_ahead, fresh, long_ago};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::ids::Ordinal;
use recado_ports::ports::{CommitOutcome, IdempotencyClaim, IdempotencyRecord, Store};

pub async fn a_message_is_committed_with_its_conversation_and_is_open<S: Store>(store: &S) {
    let (_fixture, conversation, message) = with_reply(store).await;
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation.clone())
    );
    assert_eq!(find_stored(store, &message).await, Some(message.clone()));
    assert_eq!(list_open(store, &conversation.id).await, [message]);
}

pub async fn a_message_that_is_not_queued_is_not_open<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut typed_on_the_phone = fixture.answer(&mut conversation);
    typed_on_the_phone.out = None;
    committed(store, &conversation, &typed_on_the_phone).await;
    assert_eq!(
        find_stored(store, &typed_on_the_phone).await,
        Some(typed_on_the_phone)
    );
    assert!(open_ordinals(store, &conversation).await.is_empty());
}

pub async fn a_first_message_out_begins_a_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let message = fixture.answer(&mut conversation);
    committed(store, &conversation, &message).await;
    assert_eq!(
        succeed(store.find_latest_conversation(&fixture.thread())).await,
        Some(conversation)
    );
}

pub async fn a_new_conversation_must_not_exist_yet<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let stored = begun(store, &fixture).await;
    let mut conversation = fixture.conversation(1);
    let mut message = fixture.answer(&mut conversation);
    message.ordinal = Ordinal(7);
    assert_eq!(
        succeed(store.commit_message(&conversation, &message, None)).await,
        CommitOutcome::Conflict
    );
    assert_untouched(store, &stored, Ordinal(7)).await;
}

pub async fn a_conversation_changed_meanwhile_is_a_conflict_and_nothing_is_written<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut stored = begun(store, &fixture).await;
    let mut stale = stored.clone();
    stored.take_over();
    updated(store, &mut stored).await;
    let message = fixture.reply(&mut stale);
    let claim = key_claim(&stored.id.to_string(), &fresh("key"), far_ahead());
    let found = succeed(store.commit_message(&stale, &message, Some(&claim))).await;
    assert_eq!(found, CommitOutcome::Conflict);
    assert_untouched(store, &stored, message.ordinal).await;
    assert_eq!(
        succeed(store.find_idempotency_key(&claim.scope, &claim.key)).await,
        None
    );
}

pub async fn of_twenty_commits_at_once_one_wins<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let drafts: Vec<_> = (0..20)
        .map(|_| {
            let mut conversation = conversation.clone();
            let message = fixture.reply(&mut conversation);
            (conversation, message)
        })
        .collect();
    let found = join_all(drafts.iter().map(|(c, m)| store.commit_message(c, m, None))).await;
    let found: Vec<CommitOutcome> = found.into_iter().map(Result::unwrap).collect();
    let won: Vec<usize> = (0..20)
        .filter(|index| found[*index] == CommitOutcome::Committed)
        .collect();
    assert_eq!(won.len(), 1);
    assert_eq!(
        found
            .iter()
            .filter(|found| **found == CommitOutcome::Conflict)
            .count(),
        19
    );
    let (_, message) = &drafts[won[0]];
    assert_eq!(find_stored(store, message).await.as_ref(), Some(message));
    assert_eq!(
        list_open(store, &conversation.id).await,
        *std::slice::from_ref(message)
    );
}

pub async fn a_clients_key_names_the_message_it_made<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let claim = key_claim(fixture.instance().as_str(), &fresh("key"), far_ahead());
    assert_eq!(
        succeed(store.find_idempotency_key(&claim.scope, &claim.key)).await,
        None
    );
    let message = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &message, &claim).await;
    let record = IdempotencyRecord {
        request_hash: "hash-1".to_owned(),
        message: message.message_id(),
    };
    assert_eq!(
        succeed(store.find_idempotency_key(&claim.scope, &claim.key)).await,
        Some(record)
    );
}

pub async fn a_used_key_is_told_and_nothing_is_written<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let claim = key_claim(fixture.instance().as_str(), &fresh("key"), far_ahead());
    let message = fixture.answer(&mut conversation);
    let record = IdempotencyRecord {
        request_hash: "hash-1".to_owned(),
        message: message.message_id(),
    };
    committed_once(store, &conversation, &message, &claim).await;
    for hash in ["hash-1", "hash-2"] {
        let mut next = conversation.clone();
        let message = fixture.answer(&mut next);
        let claim = IdempotencyClaim {
            request_hash: hash.to_owned(),
            ..claim.clone()
        };
        let found = succeed(store.commit_message(&next, &message, Some(&claim))).await;
        assert_eq!(found, CommitOutcome::KeyTaken(record.clone()));
        assert_untouched(store, &conversation, message.ordinal).await;
        assert_eq!(
            succeed(store.find_idempotency_key(&claim.scope, &claim.key)).await,
            Some(record.clone())
        );
    }
}

pub async fn a_used_key_is_told_before_a_changed_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let claim = key_claim(fixture.instance().as_str(), &fresh("key"), far_ahead());
    let message = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &message, &claim).await;
    // The very same request, from the very same reading: what a repeated call looks like.
    let found = succeed(store.commit_message(&conversation, &message, Some(&claim))).await;
    assert!(matches!(found, CommitOutcome::KeyTaken(record) if record.message == message.message_id()));
}

pub async fn a_key_counts_in_its_scope_only<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let key = fresh("key");
    for scope in [conversation.id.to_string(), fixture.instance().to_string()] {
        let claim = key_claim(&scope, &key, far_ahead());
        let message = fixture.answer(&mut conversation);
        committed_once(store, &conversation, &message, &claim).await;
        let record = succeed(store.find_idempotency_key(&scope, &claim.key))
            .await
            .unwrap();
        assert_eq!(record.message, message.message_id());
    }
}

pub async fn scope_and_key_do_not_run_into_each_other<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let scope = fresh("scope");
    for (scope, key) in [(format!("{scope}/a"), "b"), (scope, "a/b")] {
        let claim = key_claim(&scope, key, far_ahead());
        let message = fixture.answer(&mut conversation);
        committed_once(store, &conversation, &message, &claim).await;
    }
}

pub async fn an_expired_key_is_free_again<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let expired = key_claim(fixture.instance().as_str(), &fresh("key"), long_ago());
    let first = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &first, &expired).await;
    assert_eq!(
        succeed(store.find_idempotency_key(&expired.scope, &expired.key)).await,
        None
    );
    let second = fixture.answer(&mut conversation);
    let claim = IdempotencyClaim {
        expires: far_ahead(),
        ..expired
    };
    committed_once(store, &conversation, &second, &claim).await;
    let record = succeed(store.find_idempotency_key(&claim.scope, &claim.key))
        .await
        .unwrap();
    assert_eq!(record.message, second.message_id());
}

pub async fn of_ten_requests_with_one_key_at_once_one_makes_a_message<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let key = key_claim(fixture.instance().as_str(), &fresh("key"), far_ahead());
    let requests: Vec<_> = (0..10)
        .map(|_| {
            let fixture = fixture.other_contact();
            let mut conversation = fixture.conversation(1);
            let message = fixture.answer(&mut conversation);
            (conversation, message)
        })
        .collect();
    let found = join_all(
        requests
            .iter()
            .map(|(c, m)| store.commit_message(c, m, Some(&key))),
    )
    .await;
    let found: Vec<CommitOutcome> = found.into_iter().map(Result::unwrap).collect();
    let won: Vec<usize> = (0..10)
        .filter(|index| found[*index] == CommitOutcome::Committed)
        .collect();
    assert_eq!(won.len(), 1);
    let winner = requests[won[0]].1.message_id();
    for (found, (conversation, _)) in found.iter().zip(&requests) {
        let stored = succeed(store.find_conversation(&conversation.id)).await.is_some();
        assert_eq!(stored, *found == CommitOutcome::Committed);
        if let CommitOutcome::KeyTaken(record) = found {
            assert_eq!(record.message, winner);
        }
    }
}
