//! Open messages: in order, changed only by who read them last, and amended after they were settled.

use super::given::{
    assert_conflict, assert_written, begun, claim, committed, find_stored, list_open, open_ordinals,
    received, replied, with_reply,
};
use crate::builders::{Fixture, accepted, at, claimed, is, out};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::ids::TokenName;
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use recado_ports::ports::{Store, WriteOutcome};

async fn stored<S: Store>(store: &S, message: &Message) -> Message {
    find_stored(store, message).await.unwrap()
}

/// A message that was sent, and its conversation.
async fn sent<S: Store>(
    store: &S,
    fixture: &Fixture,
) -> (recado_domain::conversation::Conversation, Message) {
    let mut conversation = begun(store, fixture).await;
    let message = replied(store, fixture, &mut conversation).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    let sent = accepted(&sending);
    assert_written(store.settle_message(&sent, Some(&flight), None, None)).await;
    (conversation, sent)
}

pub async fn open_messages_come_by_ordinal<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    assert!(open_ordinals(store, &conversation).await.is_empty());
    for _ in 0..6 {
        replied(store, &fixture, &mut conversation).await;
        received(store, &fixture, &mut conversation, &fixture.job()).await;
    }
    // 8, 10: ordinals are not compared as text.
    assert_eq!(open_ordinals(store, &conversation).await, [2, 4, 6, 8, 10, 12]);
}

pub async fn open_messages_of_all_conversations_of_a_contact_come_in_order<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let other = fixture.other_contact();
    let mut expected = Vec::new();
    // 2, 10: numbers are not compared as text.
    for number in [10, 2, 1] {
        let mut conversation = fixture.conversation(number);
        received(store, &fixture, &mut conversation, &fixture.job()).await;
        for _ in 0..2 {
            replied(store, &fixture, &mut conversation).await;
        }
        expected.extend([(number, 2), (number, 3)]);
    }
    expected.sort_unstable();
    let mut theirs = begun(store, &other).await;
    let theirs = replied(store, &other, &mut theirs).await;
    let open = succeed(store.list_open_messages(&fixture.thread())).await;
    let places = open
        .iter()
        .map(|message| (message.conversation.number_in_thread(), message.ordinal.0));
    assert_eq!(places.collect::<Vec<_>>(), expected);
    assert_eq!(succeed(store.list_open_messages(&other.thread())).await, [theirs]);
}

pub async fn an_open_message_is_saved_only_one_rev_after_the_stored_one<S: Store>(store: &S) {
    let (_fixture, conversation, mut message) = with_reply(store).await;
    out(&mut message).record_slot(at(9_000));
    assert_written(store.save_open_message(&message, None)).await;
    assert_eq!(list_open(store, &conversation.id).await, [message.clone()]);
    assert_eq!(stored(store, &message).await, message);
    for rev in [0, 1, 2, 4] {
        let mut other = message.clone();
        out(&mut other).rev = rev;
        out(&mut other).attempts = 4;
        assert_eq!(
            succeed(store.save_open_message(&other, None)).await,
            WriteOutcome::Conflict,
            "rev {rev} after 2"
        );
    }
    assert_eq!(list_open(store, &conversation.id).await, [message]);
}

pub async fn of_twenty_saves_at_once_one_wins<S: Store>(store: &S) {
    let (_fixture, conversation, message) = with_reply(store).await;
    let changes: Vec<Message> = (0..20)
        .map(|index| {
            let mut message = message.clone();
            out(&mut message).record_slot(at(index));
            message
        })
        .collect();
    let found = join_all(changes.iter().map(|change| store.save_open_message(change, None))).await;
    let won: Vec<&Message> = changes
        .iter()
        .zip(found)
        .filter_map(|(change, found)| (found.unwrap() == WriteOutcome::Written).then_some(change))
        .collect();
    assert_eq!(won.len(), 1);
    assert_eq!(list_open(store, &conversation.id).await, [won[0].clone()]);
}

pub async fn a_message_that_is_not_open_is_not_saved_as_open<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (mut conversation, mut sent) = sent(store, &fixture).await;
    let before = sent.clone();
    out(&mut sent).rev += 1;
    assert_conflict(store.save_open_message(&sent, None)).await;
    assert_eq!(stored(store, &sent).await, before);
    let never_stored = fixture.reply(&mut conversation);
    let mut next = never_stored.clone();
    out(&mut next).record_slot(at(1));
    assert_conflict(store.save_open_message(&next, None)).await;
    assert_eq!(find_stored(store, &next).await, None);
}

pub async fn a_dead_message_is_open_until_its_dead_letter_exists<S: Store>(store: &S) {
    let (_fixture, conversation, mut message) = with_reply(store).await;
    out(&mut message)
        .mark_dead(at(1), Reason::WindowClosed, None)
        .unwrap();
    assert_written(store.save_open_message(&message, None)).await;
    assert_eq!(list_open(store, &conversation.id).await, [message.clone()]);
    out(&mut message).mark_dead_lettered();
    assert_written(store.settle_message(&message, None, None, None)).await;
    assert!(open_ordinals(store, &conversation).await.is_empty());
    assert_eq!(stored(store, &message).await, message);
}

pub async fn a_sent_message_that_failed_after_all_is_open_until_copied<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (conversation, mut message) = sent(store, &fixture).await;
    out(&mut message)
        .mark_dead(at(2), Reason::WhatsappPermanentError, None)
        .unwrap();
    assert_written(store.update_closed_message(&message, None)).await;
    assert_eq!(list_open(store, &conversation.id).await, [message.clone()]);
    assert_eq!(stored(store, &message).await, message);
    out(&mut message).mark_dead_lettered();
    assert_written(store.settle_message(&message, None, None, None)).await;
    assert!(open_ordinals(store, &conversation).await.is_empty());
    assert_eq!(stored(store, &message).await, message);
}

pub async fn a_redriven_message_is_open_again<S: Store>(store: &S) {
    let (fixture, mut conversation, mut message) = with_reply(store).await;
    replied(store, &fixture, &mut conversation).await;
    out(&mut message)
        .mark_dead(at(1), Reason::WindowClosed, None)
        .unwrap();
    assert_written(store.save_open_message(&message, None)).await;
    out(&mut message).mark_dead_lettered();
    assert_written(store.settle_message(&message, None, None, None)).await;
    assert_eq!(open_ordinals(store, &conversation).await, [3]);
    out(&mut message).requeue_dead(at(2), at(1)).unwrap();
    assert_written(store.update_closed_message(&message, None)).await;
    assert_eq!(open_ordinals(store, &conversation).await, [2, 3]);
    assert_eq!(stored(store, &message).await, message);
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    assert_eq!(list_open(store, &conversation.id).await[0], sending);
}

pub async fn a_purged_message_is_not_open<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    for copied in [true, false] {
        let mut message = replied(store, &fixture, &mut conversation).await;
        out(&mut message)
            .mark_dead(at(1), Reason::WindowClosed, None)
            .unwrap();
        assert_written(store.save_open_message(&message, None)).await;
        if copied {
            out(&mut message).mark_dead_lettered();
            assert_written(store.settle_message(&message, None, None, None)).await;
        }
        out(&mut message).purge_dead(at(2), at(1)).unwrap();
        out(&mut message).sign_last_step(Some(&TokenName::phone()));
        let written = if copied {
            succeed(store.update_closed_message(&message, None)).await
        } else {
            succeed(store.settle_message(&message, None, None, None)).await
        };
        assert_eq!(written, WriteOutcome::Written);
        assert!(open_ordinals(store, &conversation).await.is_empty());
        assert_eq!(stored(store, &message).await, message);
        conversation = succeed(store.find_conversation(&conversation.id)).await.unwrap();
        let job = fixture.job();
        received(store, &fixture, &mut conversation, &job).await;
    }
}

pub async fn a_message_is_amended_only_one_rev_after_the_stored_one<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (conversation, message) = sent(store, &fixture).await;
    let rev = message.out.as_ref().unwrap().rev;
    for wrong in [0, rev - 1, rev, rev + 2] {
        let mut other = message.clone();
        out(&mut other).mark_dead(at(2), Reason::Stale, None).unwrap();
        out(&mut other).rev = wrong;
        assert_eq!(
            succeed(store.update_closed_message(&other, None)).await,
            WriteOutcome::Conflict,
            "rev {wrong} after {rev}"
        );
    }
    assert_eq!(stored(store, &message).await, message);
    assert!(open_ordinals(store, &conversation).await.is_empty());
}

pub async fn an_amendment_that_does_not_reopen_stays_closed<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (conversation, mut message) = sent(store, &fixture).await;
    message.provider_message_id = Some("another".to_owned());
    out(&mut message).rev += 1;
    assert_written(store.update_closed_message(&message, None)).await;
    assert_eq!(stored(store, &message).await, message);
    assert!(open_ordinals(store, &conversation).await.is_empty());
}

pub async fn an_open_message_is_not_amended<S: Store>(store: &S) {
    let (fixture, mut conversation, message) = with_reply(store).await;
    let mut other = message.clone();
    out(&mut other).mark_dead(at(2), Reason::Stale, None).unwrap();
    assert_conflict(store.update_closed_message(&other, None)).await;
    assert_eq!(list_open(store, &conversation.id).await, [message]);
    let never_stored = fixture.reply(&mut conversation);
    assert_conflict(store.update_closed_message(&never_stored, None)).await;
    assert_eq!(find_stored(store, &never_stored).await, None);
}

pub async fn a_person_and_an_agent_write_to_one_open_list<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    replied(store, &fixture, &mut conversation).await;
    let answer = fixture.answer(&mut conversation);
    committed(store, &conversation, &answer).await;
    let open = list_open(store, &conversation.id).await;
    assert!(open.iter().all(|message| is(message, "queued")));
    assert_eq!(open_ordinals(store, &conversation).await, [2, 3]);
}
