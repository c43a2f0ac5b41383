//! Committing a message with its conversation, and with writes of the table beside them: those of the client's key.

use super::given::{
    assert_untouched, begun, client_key, committed, committed_once, find_held, find_stored, list_open,
    naming, open_ordinals, updated, with_reply,
};
use crate::builders::{Fixture, far_ahead, fresh, long_ago};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::ids::Ordinal;
use recado_domain::moving::HeldKey;
use recado_ports::ports::{CommitOutcome, Store};
use recado_ports::table::{Condition, Record, Version, Write};

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
        succeed(store.commit_messages(&conversation, std::slice::from_ref(&message), &[])).await,
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
    let key = client_key(&fixture, &stored.id.to_string(), &fresh("key"), far_ahead());
    let beside = naming(&key, &message.message_id());
    let found = succeed(store.commit_messages(&stale, std::slice::from_ref(&message), &beside)).await;
    assert_eq!(found, CommitOutcome::Conflict);
    assert_untouched(store, &stored, message.ordinal).await;
    assert_eq!(find_held(store, &key).await, None);
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
    let found = join_all(
        drafts
            .iter()
            .map(|(c, m)| store.commit_messages(c, std::slice::from_ref(m), &[])),
    )
    .await;
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
    let key = client_key(&fixture, fixture.instance().as_str(), &fresh("key"), far_ahead());
    assert_eq!(find_held(store, &key).await, None);
    let message = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &message, &key).await;
    let held = HeldKey {
        message: message.message_id(),
        ..key.clone()
    };
    assert_eq!(find_held(store, &key).await, Some(held));
}

pub async fn a_used_key_is_refused_and_nothing_is_written<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let key = client_key(&fixture, fixture.instance().as_str(), &fresh("key"), far_ahead());
    let message = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &message, &key).await;
    let held = find_held(store, &key).await.unwrap();
    assert_eq!(held.message, message.message_id());
    for hash in ["hash-1", "hash-2"] {
        let mut next = conversation.clone();
        let message = fixture.answer(&mut next);
        let key = HeldKey {
            request_hash: hash.to_owned(),
            ..key.clone()
        };
        let beside = naming(&key, &message.message_id());
        let found = succeed(store.commit_messages(&next, std::slice::from_ref(&message), &beside)).await;
        assert_eq!(found, CommitOutcome::Refused(vec![0]));
        assert_untouched(store, &conversation, message.ordinal).await;
        assert_eq!(find_held(store, &key).await.as_ref(), Some(&held));
    }
}

pub async fn a_used_key_is_told_before_a_changed_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let key = client_key(&fixture, fixture.instance().as_str(), &fresh("key"), far_ahead());
    let message = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &message, &key).await;
    // The very same request, from the very same reading: what a repeated call looks like.
    let beside = naming(&key, &message.message_id());
    let found = succeed(store.commit_messages(&conversation, std::slice::from_ref(&message), &beside)).await;
    assert_eq!(found, CommitOutcome::Refused(vec![0]));
    assert_eq!(
        find_held(store, &key).await.unwrap().message,
        message.message_id()
    );
}

pub async fn all_writes_beside_a_message_are_made_or_none<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let scope = fixture.instance().as_str();
    let [held, new, other] = [(); 3].map(|()| client_key(&fixture, scope, &fresh("key"), far_ahead()));
    let message = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &message, &held).await;

    let mut next = conversation.clone();
    let message = fixture.answer(&mut next);
    let id = message.message_id();
    let absent = Write::Delete(other.key(), Condition::Version(Version(7)));
    let refused = [naming(&new, &id), naming(&held, &id), vec![absent]].concat();
    let found = succeed(store.commit_messages(&next, std::slice::from_ref(&message), &refused)).await;
    assert_eq!(found, CommitOutcome::Refused(vec![1, 2]), "by their places");
    assert_untouched(store, &conversation, message.ordinal).await;
    assert_eq!(find_held(store, &new).await, None);

    let gone = Write::Delete(held.key(), Condition::Always);
    let required = Write::Check(other.key(), Condition::Absent);
    let accepted = [naming(&new, &id), vec![gone, required]].concat();
    let found = succeed(store.commit_messages(&next, std::slice::from_ref(&message), &accepted)).await;
    assert_eq!(found, CommitOutcome::Committed);
    assert_eq!(find_stored(store, &message).await.as_ref(), Some(&message));
    assert_eq!(find_held(store, &new).await.unwrap().message, id);
    assert_eq!(find_held(store, &held).await, None);
}

pub async fn a_write_that_is_beside_a_lost_commit_is_not_made<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut stored = begun(store, &fixture).await;
    let key = client_key(&fixture, fixture.instance().as_str(), &fresh("key"), far_ahead());
    let message = fixture.answer(&mut stored);
    committed_once(store, &stored, &message, &key).await;
    let mut stale = stored.clone();
    updated(store, &mut stored).await;
    let message = fixture.answer(&mut stale);
    let delete = [Write::Delete(key.key(), Condition::Always)];
    let found = succeed(store.commit_messages(&stale, std::slice::from_ref(&message), &delete)).await;
    assert_eq!(found, CommitOutcome::Conflict);
    assert!(find_held(store, &key).await.is_some());
}

pub async fn a_key_counts_in_its_scope_only<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let key = fresh("key");
    for scope in [conversation.id.to_string(), fixture.instance().to_string()] {
        let key = client_key(&fixture, &scope, &key, far_ahead());
        let message = fixture.answer(&mut conversation);
        committed_once(store, &conversation, &message, &key).await;
        let held = find_held(store, &key).await.unwrap();
        assert_eq!(held.message, message.message_id());
    }
}

pub async fn scope_and_key_do_not_run_into_each_other<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let scope = fresh("scope");
    for (scope, key) in [(format!("{scope}/a"), "b"), (scope, "a/b")] {
        let key = client_key(&fixture, &scope, key, far_ahead());
        let message = fixture.answer(&mut conversation);
        committed_once(store, &conversation, &message, &key).await;
    }
}

pub async fn an_expired_key_is_free_again<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let expired = client_key(&fixture, fixture.instance().as_str(), &fresh("key"), long_ago());
    let first = fixture.answer(&mut conversation);
    committed_once(store, &conversation, &first, &expired).await;
    assert_eq!(find_held(store, &expired).await, None);
    let second = fixture.answer(&mut conversation);
    let key = HeldKey {
        expires: far_ahead(),
        ..expired
    };
    committed_once(store, &conversation, &second, &key).await;
    let held = find_held(store, &key).await.unwrap();
    assert_eq!(held.message, second.message_id());
}

pub async fn of_ten_requests_with_one_key_at_once_one_makes_a_message<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let key = client_key(&fixture, fixture.instance().as_str(), &fresh("key"), far_ahead());
    let requests: Vec<_> = (0..10)
        .map(|_| {
            let fixture = fixture.other_contact();
            let mut conversation = fixture.conversation(1);
            let message = fixture.answer(&mut conversation);
            let beside = naming(&key, &message.message_id());
            (conversation, message, beside)
        })
        .collect();
    let commits = requests.iter().map(|(conversation, message, beside)| {
        store.commit_messages(conversation, std::slice::from_ref(message), beside)
    });
    let found = join_all(commits).await;
    let found: Vec<CommitOutcome> = found.into_iter().map(Result::unwrap).collect();
    let won: Vec<usize> = (0..10)
        .filter(|index| found[*index] == CommitOutcome::Committed)
        .collect();
    assert_eq!(won.len(), 1);
    let winner = requests[won[0]].1.message_id();
    for (found, (conversation, ..)) in found.iter().zip(&requests) {
        let stored = succeed(store.find_conversation(&conversation.id)).await.is_some();
        let expected = if stored {
            CommitOutcome::Committed
        } else {
            CommitOutcome::Refused(vec![0])
        };
        assert_eq!(*found, expected);
    }
    assert_eq!(find_held(store, &key).await.unwrap().message, winner);
}
