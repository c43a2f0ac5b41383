//! Conversations: found by thread and id, written only by who read them last.

use super::given::{assert_conflict, begun, committed, ordinals, received, replied, updated};
use crate::builders::{Fixture, at};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::conversation::{ContactFacts, Conversation};
use recado_domain::ids::{ConversationId, Ordinal, TokenName};
use recado_ports::ports::{Store, WriteOutcome};

async fn latest<S: Store>(store: &S, fixture: &Fixture) -> Option<Conversation> {
    succeed(store.find_latest_conversation(&fixture.thread())).await
}

pub async fn an_unknown_conversation_is_none<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let id = ConversationId::new(fixture.thread(), 1);
    assert_eq!(latest(store, &fixture).await, None);
    assert_eq!(succeed(store.find_conversation(&id)).await, None);
    assert_eq!(succeed(store.find_with_history(&id, 5)).await, None);
    assert_eq!(
        succeed(store.find_message(&id.message_id(Ordinal(1)))).await,
        None
    );
}

pub async fn the_latest_is_the_one_with_the_highest_number_active_or_resolved<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut first = begun(store, &fixture).await;
    assert_eq!(latest(store, &fixture).await, Some(first.clone()));
    first.resolve_if_seen(first.last).unwrap();
    updated(store, &mut first).await;
    assert_eq!(latest(store, &fixture).await, Some(first.clone()));
    // 9 and 10: numbers are not compared as text.
    for number in [2, 9, 10] {
        let mut next = fixture.conversation(number);
        received(store, &fixture, &mut next, &fixture.job()).await;
        assert_eq!(latest(store, &fixture).await, Some(next));
    }
    assert_eq!(
        succeed(store.find_conversation(&first.id)).await,
        Some(first),
        "the older one is kept"
    );
}

pub async fn threads_do_not_mix<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let other = fixture.other_contact();
    let conversation = begun(store, &fixture).await;
    let others = begun(store, &other).await;
    assert_eq!(latest(store, &fixture).await, Some(conversation));
    assert_eq!(latest(store, &other).await, Some(others));
}

pub async fn history_is_the_newest_messages_by_ordinal<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    for _ in 0..5 {
        replied(store, &fixture, &mut conversation).await;
        received(store, &fixture, &mut conversation, &fixture.job()).await;
    }
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    for (limit, expected) in [
        (1, 12..=12),
        (3, 10..=12),
        (5, 8..=12),
        (12, 1..=12),
        (100, 1..=12),
    ] {
        let (read, messages) = succeed(store.find_with_history(&conversation.id, limit))
            .await
            .unwrap();
        assert_eq!(read, conversation);
        assert_eq!(
            ordinals(&messages),
            expected.collect::<Vec<u64>>(),
            "of the newest {limit}"
        );
    }
}

pub async fn messages_after_an_ordinal_are_the_first_behind_it<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    for _ in 0..5 {
        received(store, &fixture, &mut conversation, &fixture.job()).await;
    }
    for (after, limit, expected) in [
        (0, 2, vec![1, 2]),
        (2, 3, vec![3, 4, 5]),
        (4, 100, vec![5, 6]),
        (6, 1, vec![]),
    ] {
        let messages = store.list_messages_after(&conversation.id, Ordinal(after), limit);
        assert_eq!(
            ordinals(&messages.await.unwrap()),
            expected,
            "{limit} after {after}"
        );
    }
    let (_, all) = succeed(store.find_with_history(&conversation.id, 6))
        .await
        .unwrap();
    let again = succeed(store.list_messages_after(&conversation.id, Ordinal(0), 6)).await;
    assert_eq!(again, all);
    let nothing = recado_domain::ids::ConversationId::new(fixture.other_contact().thread(), 1);
    let found = succeed(store.list_messages_after(&nothing, Ordinal(0), 6)).await;
    assert_eq!(found, []);
}

pub async fn history_orders_by_ordinal_whatever_the_provider_says_of_time<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    for minutes in [30, 10, 20] {
        let mut message = fixture.reply(&mut conversation);
        message.written_at = at(minutes * 60_000);
        committed(store, &conversation, &message).await;
    }
    let (_, messages) = succeed(store.find_with_history(&conversation.id, 10))
        .await
        .unwrap();
    assert_eq!(ordinals(&messages), [1, 2, 3, 4]);
}

pub async fn an_update_is_taken_only_one_rev_after_the_stored_one<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    conversation.take_over();
    conversation.sign_handover(&TokenName::phone(), at(3));
    conversation.sign_taking(&TokenName::phone(), at(3));
    updated(store, &mut conversation).await;
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation.clone())
    );
    for rev in [0, 1, 2, 4] {
        let other = Conversation {
            contact: ContactFacts {
                name: Some("Ana".to_owned()),
                ..ContactFacts::default()
            },
            rev,
            ..conversation.clone()
        };
        assert_eq!(
            succeed(store.update_conversation(&other, &[])).await,
            WriteOutcome::Conflict,
            "rev {rev} after 2"
        );
    }
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation)
    );
}

pub async fn a_conversation_that_does_not_exist_is_not_updated<S: Store>(store: &S) {
    let mut conversation = Fixture::new().conversation(1);
    conversation.rev = 2;
    assert_conflict(store.update_conversation(&conversation, &[])).await;
    assert_eq!(succeed(store.find_conversation(&conversation.id)).await, None);
}

pub async fn of_twenty_updates_at_once_one_wins<S: Store>(store: &S) {
    let conversation = begun(store, &Fixture::new()).await;
    let changes: Vec<Conversation> = (0..20)
        .map(|index| Conversation {
            contact: ContactFacts {
                name: Some(format!("Ana {index}")),
                ..ContactFacts::default()
            },
            rev: conversation.rev + 1,
            ..conversation.clone()
        })
        .collect();
    let found = join_all(
        changes
            .iter()
            .map(|change| store.update_conversation(change, &[])),
    )
    .await;
    let found: Vec<WriteOutcome> = found.into_iter().map(Result::unwrap).collect();
    let won: Vec<&Conversation> = changes
        .iter()
        .zip(&found)
        .filter_map(|(change, found)| (*found == WriteOutcome::Written).then_some(change))
        .collect();
    assert_eq!(won.len(), 1);
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await.as_ref(),
        Some(won[0])
    );
}

pub async fn every_field_of_a_conversation_comes_back<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    conversation.update_contact_details(Some("Ana \u{1F33B}"), Some("+5511999990000"));
    let upto = conversation.turn_upto;
    conversation.acquire_lease(crate::builders::nonce(), upto, at(5), at(95_005));
    conversation.schedule_turn(at(3_600_000), at(3_600_000));
    conversation.record_nudge(true, at(7));
    conversation.contact.pair_arrival = Some(at(8));
    conversation.record_contact_activity(at(9));
    conversation.contact.marketing_stopped_at = Some(at(10));
    let by = conversation.id.message_id(Ordinal(1));
    conversation.record_reengagement(&by, at(11));
    conversation.commit_closed_message(at(12));
    conversation.human = Ordinal(1);
    conversation.linked.moved_to = Some(ConversationId::new(fixture.thread(), 7));
    conversation.linked.beside = vec![ConversationId::new(fixture.other_contact().thread(), 3)];
    conversation.contact.known_as = recado_domain::contact::ContactAddress::parse("100000000000001@lid");
    updated(store, &mut conversation).await;
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation)
    );
}
