//! Settling: the record becomes final, and all that goes with it in one transaction.

use super::given::{
    assert_conflict, assert_written, claim, erase_deliveries, find_stored, open_ordinals, replied, updated,
    with_reply,
};
use crate::builders::{Fixture, accepted, at, claimed, far_ahead, long_ago, out};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::Conversation;
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::{ExternalId, Ordinal};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_ports::ports::{DeliveryLink, Store, WriteOutcome};

/// A message being sent, with what is stored of it.
struct Sending {
    fixture: Fixture,
    conversation: Conversation,
    message: Message,
    flight: InFlightSend,
}

async fn sending<S: Store>(store: &S) -> Sending {
    let (fixture, conversation, message) = with_reply(store).await;
    let (message, flight) = claimed(&message);
    claim(store, &message, &flight).await;
    Sending {
        fixture,
        conversation,
        message,
        flight,
    }
}

fn link(message: &Message) -> DeliveryLink {
    let line = ExternalId::parse("line").unwrap();
    DeliveryLink {
        key: DeliveryKey::from_own_id(Provider::Meta, &line, &message.message_id()),
        provider_key: message
            .provider_message_id
            .as_ref()
            .map(|id| DeliveryKey::from_provider_id(Provider::Meta, &line, id)),
        provider_message_id: message.provider_message_id.clone(),
        expires: far_ahead(),
        acknowledgement: None,
    }
}

fn status(link: &DeliveryLink, status: DeliveryStatus) -> StatusUpdate {
    StatusUpdate {
        key: link.key.clone(),
        status,
        at: at(7),
        provider_message_id: None,
        detail: None,
    }
}

impl Sending {
    async fn assert_still_sending<S: Store>(&self, store: &S) {
        assert_eq!(
            succeed(store.list_open_messages(self.conversation.id.thread_id())).await,
            *std::slice::from_ref(&self.message)
        );
        assert_eq!(
            succeed(store.find_message(&self.message.message_id()))
                .await
                .as_ref(),
            Some(&self.message)
        );
        let flights = succeed(store.list_in_flight(self.fixture.instance())).await;
        assert_eq!(flights.as_slice(), std::slice::from_ref(&self.flight));
    }
}

pub async fn a_sent_message_leaves_the_open_list_and_its_record_is_final<S: Store>(store: &S) {
    let s = sending(store).await;
    let sent = accepted(&s.message);
    let link = link(&sent);
    assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
    assert!(open_ordinals(store, &s.conversation).await.is_empty());
    assert_eq!(find_stored(store, &sent).await, Some(sent.clone()));
    assert!(
        succeed(store.list_in_flight(s.fixture.instance()))
            .await
            .is_empty()
    );
    let linked = Delivery {
        message: Some(sent.message_id()),
        provider_message_id: sent.provider_message_id,
        ..Delivery::default()
    };
    assert_eq!(succeed(store.find_delivery(&link.key)).await, Some(linked));
    assert_eq!(
        succeed(store.find_conversation(&s.conversation.id)).await,
        Some(s.conversation)
    );
}

pub async fn the_others_stay_open<S: Store>(store: &S) {
    let mut s = sending(store).await;
    let next = replied(store, &s.fixture, &mut s.conversation).await;
    let sent = accepted(&s.message);
    assert_written(store.settle_message(&sent, Some(&s.flight), None, None)).await;
    assert_eq!(
        succeed(store.list_open_messages(s.conversation.id.thread_id())).await,
        [next]
    );
}

pub async fn a_status_that_came_first_is_kept<S: Store>(store: &S) {
    let s = sending(store).await;
    let sent = accepted(&s.message);
    let link = link(&sent);
    succeed(store.record_status(&status(&link, DeliveryStatus::Read), far_ahead(), None)).await;
    assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
    let delivery = succeed(store.find_delivery(&link.key)).await.unwrap();
    assert_eq!(
        (delivery.status, delivery.at),
        (Some(DeliveryStatus::Read), Some(at(7)))
    );
    assert_eq!(delivery.message, Some(sent.message_id()));
    assert_eq!(delivery.provider_message_id, sent.provider_message_id);
}

pub async fn a_status_that_comes_after_keeps_the_link<S: Store>(store: &S) {
    let s = sending(store).await;
    let sent = accepted(&s.message);
    let link = link(&sent);
    assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
    for (word, best) in [
        (DeliveryStatus::Delivered, DeliveryStatus::Delivered),
        (DeliveryStatus::Sent, DeliveryStatus::Delivered),
        (DeliveryStatus::Read, DeliveryStatus::Read),
    ] {
        succeed(store.record_status(&status(&link, word), far_ahead(), None)).await;
        let delivery = succeed(store.find_delivery(&link.key)).await.unwrap();
        assert_eq!(delivery.status, Some(best));
        assert_eq!(delivery.message, Some(sent.message_id()));
        assert_eq!(delivery.provider_message_id, sent.provider_message_id);
    }
}

pub async fn a_link_says_how_long_a_delivery_is_kept<S: Store>(store: &S) {
    for (says_first, expires, is_kept) in [
        (true, long_ago(), false),
        (false, long_ago(), false),
        (true, far_ahead(), true),
        (false, far_ahead(), true),
    ] {
        let s = sending(store).await;
        let sent = accepted(&s.message);
        let link = DeliveryLink {
            expires,
            ..link(&sent)
        };
        let read = status(&link, DeliveryStatus::Read);
        let soon = Timestamp::now() + SignedDuration::from_hours(1);
        if says_first {
            succeed(store.record_status(&read, soon, None)).await;
        }
        assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
        if !says_first && is_kept {
            // The status of a known delivery does not say how long it is kept.
            succeed(store.record_status(&read, long_ago(), None)).await;
        }
        let found = succeed(store.find_delivery(&link.key)).await;
        assert_eq!(
            found.and_then(|found| found.status),
            is_kept.then_some(DeliveryStatus::Read)
        );
    }
}

pub async fn a_link_without_the_providers_id_keeps_one_that_a_status_brought<S: Store>(store: &S) {
    let s = sending(store).await;
    let sent = accepted(&s.message);
    let link = DeliveryLink {
        provider_message_id: None,
        ..link(&sent)
    };
    let update = StatusUpdate {
        provider_message_id: Some("brought".to_owned()),
        ..status(&link, DeliveryStatus::Sent)
    };
    succeed(store.record_status(&update, far_ahead(), None)).await;
    assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
    let delivery = succeed(store.find_delivery(&link.key)).await.unwrap();
    assert_eq!(delivery.provider_message_id.as_deref(), Some("brought"));
    assert_eq!(delivery.message, Some(sent.message_id()));
}

/// Returns the message as it was accepted, its link, and the key of the provider's id.
fn accepted_with_id(s: &Sending) -> (Message, DeliveryLink, DeliveryKey) {
    let sent = accepted(&s.message);
    let link = link(&sent);
    let theirs = link.provider_key.clone().unwrap();
    (sent, link, theirs)
}

/// Returns whether the message of a key is known to have been sent.
async fn is_sent<S: Store>(store: &S, key: &DeliveryKey) -> bool {
    let found = succeed(store.find_delivery(key)).await;
    found.is_some_and(|delivery| delivery.is_of_sent_message())
}

pub async fn the_key_of_the_providers_id_names_the_delivery_of_a_sent_message<S: Store>(store: &S) {
    for expires in [far_ahead(), long_ago()] {
        let s = sending(store).await;
        let (sent, link, theirs) = accepted_with_id(&s);
        let link = DeliveryLink { expires, ..link };
        assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
        let is_kept = expires == far_ahead();
        assert_eq!(is_sent(store, &theirs).await, is_kept);
        let ours = succeed(store.find_delivery(&link.key)).await;
        assert_eq!(
            ours.as_ref().and_then(|found| found.message.clone()),
            is_kept.then(|| sent.message_id())
        );
        assert_eq!(succeed(store.find_delivery(&theirs)).await, ours);
        let both = [theirs.clone(), link.key.clone(), theirs.clone()];
        assert_eq!(
            succeed(store.find_deliveries(&both)).await,
            [ours.clone(), ours.clone(), ours]
        );
    }
}

pub async fn a_status_that_names_the_providers_id_alone_is_the_messages<S: Store>(store: &S) {
    let s = sending(store).await;
    let (sent, link, theirs) = accepted_with_id(&s);
    assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
    let told = |word| StatusUpdate {
        key: theirs.clone(),
        ..status(&link, word)
    };
    succeed(store.record_status(&told(DeliveryStatus::Delivered), far_ahead(), None)).await;
    succeed(store.record_status(&status(&link, DeliveryStatus::Sent), far_ahead(), None)).await;
    succeed(store.record_status(&told(DeliveryStatus::Read), far_ahead(), None)).await;
    for key in [&theirs, &link.key] {
        let found = succeed(store.find_delivery(key)).await.unwrap();
        assert_eq!(found.status, Some(DeliveryStatus::Read));
        assert_eq!(found.times.reached_statuses().len(), 3);
        assert_eq!(found.message, Some(sent.message_id()));
    }
}

pub async fn a_status_of_the_providers_id_that_came_before_the_link_is_kept<S: Store>(store: &S) {
    let s = sending(store).await;
    let (sent, link, theirs) = accepted_with_id(&s);
    let told = |word| StatusUpdate {
        key: theirs.clone(),
        ..status(&link, word)
    };
    succeed(store.record_status(&told(DeliveryStatus::Sent), far_ahead(), None)).await;
    succeed(store.record_status(&told(DeliveryStatus::Delivered), far_ahead(), None)).await;
    assert!(!is_sent(store, &theirs).await);
    assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
    succeed(store.record_status(&told(DeliveryStatus::Read), far_ahead(), None)).await;
    for key in [&theirs, &link.key] {
        let found = succeed(store.find_delivery(key)).await.unwrap();
        assert_eq!(found.status, Some(DeliveryStatus::Read));
        assert_eq!(found.times.reached_statuses().len(), 3);
        assert_eq!(found.message, Some(sent.message_id()));
    }
}

pub async fn an_attempts_earlier_id_names_the_message_after_it_was_sent_again<S: Store>(store: &S) {
    let s = sending(store).await;
    let (sent, link, theirs) = accepted_with_id(&s);
    assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
    let mut dead = sent.clone();
    out(&mut dead)
        .mark_dead(at(8), Reason::WhatsappPermanentError, None)
        .unwrap();
    assert_written(store.update_closed_message(&dead, None)).await;
    out(&mut dead).requeue_dead(at(9), at(8)).unwrap();
    assert_written(store.save_open_message(&dead, None)).await;
    let (sending, flight) = claimed(&dead);
    claim(store, &sending, &flight).await;
    let again = accepted(&sending);
    let second = self::link(&again);
    assert_written(store.settle_message(&again, Some(&flight), Some(&second), None)).await;
    let newer = second.provider_key.unwrap();
    assert_ne!(newer, theirs);
    for key in [&theirs, &newer] {
        assert!(is_sent(store, key).await);
        let found = succeed(store.find_delivery(key)).await.unwrap();
        assert_eq!(found.message, Some(sent.message_id()));
    }
}

pub async fn an_erased_delivery_is_known_under_both_keys_and_takes_no_status<S: Store>(store: &S) {
    for also_theirs in [false, true] {
        let s = sending(store).await;
        let (sent, link, theirs) = accepted_with_id(&s);
        assert_written(store.settle_message(&sent, Some(&s.flight), Some(&link), None)).await;
        let mut keys = vec![link.key.clone()];
        keys.extend(also_theirs.then(|| theirs.clone()));
        erase_deliveries(store, &keys, far_ahead()).await;
        let late = StatusUpdate {
            key: theirs.clone(),
            ..status(&link, DeliveryStatus::Read)
        };
        succeed(store.record_status(&late, far_ahead(), None)).await;
        for key in [&theirs, &link.key] {
            let found = succeed(store.find_delivery(key)).await;
            assert_eq!(found, Some(Delivery::of_erased_message()));
        }
    }
}

pub async fn a_cancelled_message_and_its_conversation_are_written_together<S: Store>(store: &S) {
    let (_fixture, mut conversation, mut message) = with_reply(store).await;
    out(&mut message)
        .mark_cancelled(at(1), Reason::TakenOver)
        .unwrap();
    assert!(conversation.reopen_unanswered(Ordinal(0), at(1)));
    conversation.rev += 1;
    let found = succeed(store.settle_message(&message, None, None, Some(&conversation))).await;
    assert_eq!(found, WriteOutcome::Written);
    assert!(open_ordinals(store, &conversation).await.is_empty());
    assert_eq!(find_stored(store, &message).await, Some(message));
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation)
    );
}

pub async fn a_conversation_changed_meanwhile_is_a_conflict_and_nothing_is_written<S: Store>(store: &S) {
    let mut s = sending(store).await;
    let mut stale = s.conversation.clone();
    s.conversation.take_over();
    updated(store, &mut s.conversation).await;
    stale.rev += 1;
    let sent = accepted(&s.message);
    let link = link(&sent);
    let found = succeed(store.settle_message(&sent, Some(&s.flight), Some(&link), Some(&stale))).await;
    assert_eq!(found, WriteOutcome::Conflict);
    s.assert_still_sending(store).await;
    assert_eq!(succeed(store.find_delivery(&link.key)).await, None);
    assert_eq!(
        succeed(store.find_conversation(&s.conversation.id)).await,
        Some(s.conversation)
    );
}

pub async fn a_message_changed_meanwhile_is_a_conflict_and_nothing_is_written<S: Store>(store: &S) {
    let s = sending(store).await;
    let mut changed = s.conversation.clone();
    changed.take_over();
    changed.rev += 1;
    let rev = s.message.out.as_ref().unwrap().rev;
    for wrong in [rev - 1, rev, rev + 2] {
        let mut sent = accepted(&s.message);
        out(&mut sent).rev = wrong;
        let link = link(&sent);
        let found = succeed(store.settle_message(&sent, Some(&s.flight), Some(&link), Some(&changed))).await;
        assert_eq!(found, WriteOutcome::Conflict, "rev {wrong} after {rev}");
        s.assert_still_sending(store).await;
        assert_eq!(succeed(store.find_delivery(&link.key)).await, None);
        let stored = succeed(store.find_conversation(&changed.id)).await;
        assert_eq!(stored.as_ref(), Some(&s.conversation));
    }
}

pub async fn a_settled_message_is_not_settled_again<S: Store>(store: &S) {
    let s = sending(store).await;
    let mut sent = accepted(&s.message);
    assert_written(store.settle_message(&sent, Some(&s.flight), None, None)).await;
    let before = sent.clone();
    assert_conflict(store.settle_message(&sent, None, None, None)).await;
    out(&mut sent).rev += 1;
    sent.provider_message_id = None;
    assert_conflict(store.settle_message(&sent, None, None, None)).await;
    assert_eq!(find_stored(store, &sent).await, Some(before));
}

pub async fn of_ten_settlements_at_once_one_wins<S: Store>(store: &S) {
    let s = sending(store).await;
    let outcomes: Vec<Message> = (0..10).map(|_| accepted(&s.message)).collect();
    let found = join_all(
        outcomes
            .iter()
            .map(|m| store.settle_message(m, Some(&s.flight), None, None)),
    )
    .await;
    let won: Vec<&Message> = outcomes
        .iter()
        .zip(found)
        .filter_map(|(outcome, found)| (found.unwrap() == WriteOutcome::Written).then_some(outcome))
        .collect();
    assert_eq!(won.len(), 1);
    assert_eq!(
        succeed(store.find_message(&s.message.message_id()))
            .await
            .as_ref(),
        Some(won[0])
    );
}
