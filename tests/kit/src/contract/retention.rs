//! What is kept for a time: which conversations are due, and what a deletion takes away and leaves.

use super::given::{
    assert_conflict, assert_written, begun, find_stored, list_open, ordinals, received, replied, updated,
    with_reply,
};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, fresh};
use crate::ports::succeed;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::Message;
use recado_ports::ports::{DeletedPart, Store};
use recado_ports::records::aliases::{delete_alias, find_alias, save_alias};

async fn kept_since<S: Store>(store: &S, conversation: &Conversation, before: i64, expected: usize) {
    let found = async || succeed(store.list_kept_since(&conversation.tenant, at(before), 100)).await;
    let found: Vec<ConversationId> = eventually(INDEX, found, |found| found.len() == expected).await;
    assert_eq!(found, vec![conversation.id.clone(); expected]);
}

/// A conversation of three messages, of which the second is the agent's and still open.
async fn of_three<S: Store>(store: &S) -> (Fixture, Conversation, [Message; 3]) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let first = received(store, &fixture, &mut conversation, &fixture.job()).await;
    let second = replied(store, &fixture, &mut conversation).await;
    let third = received(store, &fixture, &mut conversation, &fixture.job()).await;
    (fixture, conversation, [first, second, third])
}

pub async fn a_conversation_is_listed_for_its_tenant_from_when_it_began<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    kept_since(store, &conversation, 0, 1).await;
    kept_since(store, &conversation, -1, 0).await;
    let of_other = succeed(store.list_kept_since(&Fixture::new().bound.tenant.id, at(0), 100)).await;
    assert!(of_other.is_empty());
}

pub async fn the_longest_kept_conversations_are_listed_first<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut ids = Vec::new();
    for age in [3_000, 1_000, 2_000] {
        let contact = fixture.other_contact();
        let mut conversation = begun(store, &contact).await;
        conversation.kept.oldest_at = Some(at(-age));
        conversation.rev += 1;
        assert_written(store.delete_part_of(&conversation, DeletedPart::Messages(&[]))).await;
        ids.push((age, conversation.id));
    }
    ids.sort_by_key(|(age, _)| -age);
    let ids: Vec<ConversationId> = ids.into_iter().map(|(_, id)| id).collect();
    let tenant = &fixture.bound.tenant.id;
    let found = async || succeed(store.list_kept_since(tenant, at(0), 100)).await;
    assert_eq!(eventually(INDEX, found, |found| *found == ids).await, ids);
    let found = async || succeed(store.list_kept_since(tenant, at(0), 2)).await;
    assert_eq!(
        eventually(INDEX, found, |found| *found == ids[..2]).await,
        ids[..2]
    );
}

pub async fn a_change_of_a_conversation_does_not_change_since_when_it_is_kept<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    conversation.last_message_at = at(9_000);
    updated(store, &mut conversation).await;
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    kept_since(store, &conversation, 0, 1).await;
}

pub async fn deleted_messages_are_gone_and_the_others_stay<S: Store>(store: &S) {
    let (fixture, mut conversation, [first, second, third]) = of_three(store).await;
    conversation.trim_history(Ordinal(3), at(5_000));
    conversation.rev += 1;
    assert_written(store.delete_part_of(&conversation, DeletedPart::Messages(std::slice::from_ref(&first))))
        .await;
    assert_eq!(find_stored(store, &first).await, None);
    assert_eq!(
        find_stored(store, &second).await.as_ref(),
        Some(&second),
        "it is open"
    );
    assert_eq!(ordinals(&list_open(store, &conversation.id).await), [2]);
    let history = succeed(store.find_with_history(&conversation.id, 10)).await;
    assert_eq!(history, Some((conversation.clone(), vec![third.clone()])));
    let after = succeed(store.list_messages_after(&conversation.id, Ordinal(0), 10)).await;
    assert_eq!(ordinals(&after), [2, 3]);
    kept_since(store, &conversation, 4_999, 0).await;
    kept_since(store, &conversation, 5_000, 1).await;
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    let history = succeed(store.find_with_history(&conversation.id, 10)).await;
    assert_eq!(ordinals(&history.unwrap().1), [3, 4]);
}

pub async fn an_open_message_can_be_deleted_too<S: Store>(store: &S) {
    let (_, mut conversation, messages) = of_three(store).await;
    conversation.trim_history(Ordinal(4), at(5_000));
    conversation.rev += 1;
    assert_written(store.delete_part_of(&conversation, DeletedPart::Messages(&messages))).await;
    assert!(list_open(store, &conversation.id).await.is_empty());
    for message in &messages {
        assert_eq!(find_stored(store, message).await, None);
    }
    let history = succeed(store.find_with_history(&conversation.id, 10)).await;
    assert_eq!(history, Some((conversation, Vec::new())));
    let mut late = messages[1].clone();
    late.out.as_mut().unwrap().rev += 1;
    assert_conflict(store.save_open_message(&late, None)).await;
    assert_eq!(
        find_stored(store, &late).await,
        None,
        "a late worker brings nothing back"
    );
}

pub async fn a_conversation_changed_meanwhile_loses_no_message<S: Store>(store: &S) {
    let (fixture, mut conversation, [first, ..]) = of_three(store).await;
    let mut stale = conversation.clone();
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    stale.trim_history(Ordinal(3), at(5_000));
    stale.rev += 1;
    assert_conflict(store.delete_part_of(&stale, DeletedPart::Messages(std::slice::from_ref(&first)))).await;
    assert_eq!(find_stored(store, &first).await, Some(first));
    kept_since(store, &conversation, 0, 1).await;
}

pub async fn messages_that_are_gone_already_are_left_out<S: Store>(store: &S) {
    let (_, mut conversation, [first, ..]) = of_three(store).await;
    for _ in 0..2 {
        conversation.trim_history(Ordinal(2), at(5_000));
        conversation.rev += 1;
        assert_written(
            store.delete_part_of(&conversation, DeletedPart::Messages(std::slice::from_ref(&first))),
        )
        .await;
    }
    assert_eq!(find_stored(store, &first).await, None);
}

pub async fn a_deleted_conversation_is_nowhere_and_its_thread_begins_again<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let message = received(store, &fixture, &mut conversation, &fixture.job()).await;
    conversation.trim_history(Ordinal(2), at(0));
    conversation.rev += 1;
    assert_written(store.delete_part_of(&conversation, DeletedPart::Messages(&[message]))).await;
    let mut stale = conversation.clone();
    stale.rev -= 1;
    assert_conflict(store.delete_part_of(&stale, DeletedPart::Record)).await;
    assert_written(store.delete_part_of(&conversation, DeletedPart::Record)).await;
    assert_written(store.delete_part_of(&conversation, DeletedPart::Record)).await;
    assert_eq!(succeed(store.find_conversation(&conversation.id)).await, None);
    assert_eq!(
        succeed(store.find_latest_conversation(&fixture.thread())).await,
        None
    );
    kept_since(store, &conversation, 0, 0).await;
    conversation.rev += 1;
    assert_conflict(store.update_conversation(&conversation, &[])).await;
    let again = begun(store, &fixture).await;
    assert_eq!(again.id, conversation.id);
    kept_since(store, &again, 0, 1).await;
}

pub async fn a_message_that_came_in_is_replaced_at_its_place<S: Store>(store: &S) {
    let (_, conversation, [first, ..]) = of_three(store).await;
    let removed = Message {
        content: Content::Removed,
        rev: 1,
        ..first
    };
    assert_written(store.update_closed_message(&removed, None)).await;
    assert_eq!(find_stored(store, &removed).await.as_ref(), Some(&removed));
    let history = succeed(store.find_with_history(&conversation.id, 10)).await;
    assert_eq!(history.unwrap().1[0], removed);
}

pub async fn a_message_is_replaced_only_as_it_was_read<S: Store>(store: &S) {
    let (_, _, [first, ..]) = of_three(store).await;
    let replaced = |rev, text: &str| Message {
        content: Content::from_text(text),
        rev,
        ..first.clone()
    };
    assert_conflict(store.update_closed_message(&replaced(0, "none before"), None)).await;
    assert_conflict(store.update_closed_message(&replaced(2, "too early"), None)).await;
    assert_written(store.update_closed_message(&replaced(1, "first"), None)).await;
    assert_conflict(store.update_closed_message(&replaced(1, "another reader's"), None)).await;
    assert_written(store.update_closed_message(&replaced(2, "second"), None)).await;
    assert_conflict(store.update_closed_message(&replaced(2, "another reader's"), None)).await;
    assert_eq!(find_stored(store, &first).await, Some(replaced(2, "second")));
}

pub async fn a_message_that_is_gone_or_goes_out_is_not_replaced<S: Store>(store: &S) {
    let (fixture, conversation, reply) = with_reply(store).await;
    assert_conflict(store.update_closed_message(&reply, None)).await;
    let as_inbound = Message {
        out: None,
        rev: 1,
        content: Content::Removed,
        ..reply.clone()
    };
    assert_conflict(store.update_closed_message(&as_inbound, None)).await;
    assert_eq!(find_stored(store, &reply).await, Some(reply));
    let absent = Message {
        rev: 1,
        ..fixture.message(conversation.id.clone(), Ordinal(9), at(0))
    };
    assert_conflict(store.update_closed_message(&absent, None)).await;
    assert_eq!(find_stored(store, &absent).await, None);
}

pub async fn a_number_that_was_learnt_is_forgotten_and_learnt_again<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let other = ContactAddress::parse(&format!("{}@lid", fresh("1"))).unwrap();
    let thread = crate::builders::identity_key().derive_thread_id(fixture.instance(), other.as_str());
    succeed(delete_alias(store, &thread)).await;
    for _ in 0..2 {
        succeed(save_alias(store, &thread, &fixture.address)).await;
        succeed(delete_alias(store, &thread)).await;
        assert_eq!(succeed(find_alias(store, &thread)).await, None);
    }
}
