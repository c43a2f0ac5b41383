//! Lists of conversations and of messages, by pages.

use super::given::{assert_written, begun, claim, committed, ordinals, received, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, accepted, at, claimed, newest};
use crate::ports::succeed;
use recado_domain::conversation::{Conversation, ConversationLabel, ConversationMode, ConversationStatus};
use recado_domain::ids::ConversationId;
use recado_domain::message::Message;
use recado_ports::ports::{ConversationFilter, PageRequest, Store};
use std::collections::BTreeSet;

/// More pages than any list here has.
const PAGES_MAX: usize = 100;

async fn listed<S: Store>(store: &S, filter: &ConversationFilter, limit: usize) -> Vec<Conversation> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = succeed(store.search_conversations(filter, &PageRequest { limit, cursor })).await;
        assert!(page.items.len() <= limit, "a page holds at most {limit}");
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

/// The ids listed, once as many are there as expected.
async fn ids<S: Store>(
    store: &S,
    filter: &ConversationFilter,
    limit: usize,
    expected: &[ConversationId],
) -> Vec<ConversationId> {
    let read = async || {
        let listed = listed(store, filter, limit).await;
        listed
            .into_iter()
            .map(|conversation| conversation.id)
            .collect::<Vec<_>>()
    };
    eventually(INDEX, read, |found| found == expected).await
}

fn of_instance(fixture: &Fixture) -> ConversationFilter {
    ConversationFilter {
        instance: Some(fixture.instance().clone()),
        ..ConversationFilter::default()
    }
}

/// Seven conversations of one instance, the most recently active first.
async fn seven<S: Store>(store: &S, fixture: &Fixture) -> Vec<Conversation> {
    let mut conversations = Vec::new();
    for minutes in [3, 1, 2, 7, 5, 6, 4] {
        let contact = fixture.other_contact();
        let (mut conversation, mut job) = (contact.conversation(1), contact.job());
        job.received_at = at(minutes * 60_000);
        received(store, &contact, &mut conversation, &job).await;
        conversations.push(conversation);
    }
    conversations.sort_by_key(|conversation| std::cmp::Reverse(conversation.last_message_at));
    conversations
}

fn ids_of<'a>(conversations: impl IntoIterator<Item = &'a Conversation>) -> Vec<ConversationId> {
    conversations
        .into_iter()
        .map(|conversation| conversation.id.clone())
        .collect()
}

pub async fn the_most_recently_active_conversation_comes_first<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut expected = ids_of(&seven(store, &fixture).await);
    assert_eq!(ids(store, &of_instance(&fixture), 50, &expected).await, expected);
    // A new message brings the last one to the top.
    let last = expected.pop().unwrap();
    let mut conversation = succeed(store.find_conversation(&last)).await.unwrap();
    let mut job = fixture.job();
    job.received_at = at(60 * 60_000);
    received(store, &fixture, &mut conversation, &job).await;
    expected.insert(0, last);
    assert_eq!(ids(store, &of_instance(&fixture), 50, &expected).await, expected);
}

pub async fn pages_reach_the_end_without_gap_or_repetition<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let expected = ids_of(&seven(store, &fixture).await);
    for limit in [1, 2, 3, 7, 8] {
        assert_eq!(
            ids(store, &of_instance(&fixture), limit, &expected).await,
            expected,
            "by {limit}"
        );
    }
}

pub async fn conversations_active_at_the_same_time_are_paged_too<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut expected = BTreeSet::new();
    for _ in 0..5 {
        expected.insert(begun(store, &fixture.other_contact()).await.id.to_string());
    }
    for limit in [1, 2] {
        let read = async || listed(store, &of_instance(&fixture), limit).await;
        let found = eventually(INDEX, read, |found| found.len() == expected.len()).await;
        assert_eq!(found.len(), expected.len(), "none twice");
        assert_eq!(
            found.iter().map(|c| c.id.to_string()).collect::<BTreeSet<_>>(),
            expected
        );
    }
}

pub async fn a_list_holds_conversations_as_they_are<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    conversation.take_over();
    updated(store, &mut conversation).await;
    let read = async || listed(store, &of_instance(&fixture), 10).await;
    let expected = vec![conversation];
    assert_eq!(
        eventually(INDEX, read, |found| *found == expected).await,
        expected
    );
}

pub async fn a_list_is_narrowed_by_instance_mode_and_status<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let mut conversations = seven(store, &fixture).await;
    seven(store, &other).await;
    for (index, conversation) in conversations.iter_mut().enumerate() {
        if index % 2 == 0 {
            conversation.take_over();
            updated(store, conversation).await;
        }
        if index % 3 == 0 {
            conversation.resolve_if_seen(conversation.last).unwrap();
            updated(store, conversation).await;
        }
    }
    for mode in [None, Some(ConversationMode::Ai), Some(ConversationMode::Manual)] {
        for status in [
            None,
            Some(ConversationStatus::Active),
            Some(ConversationStatus::Resolved),
        ] {
            let filter = ConversationFilter {
                mode,
                status,
                ..of_instance(&fixture)
            };
            let fits =
                |c: &&Conversation| mode.is_none_or(|m| m == c.mode) && status.is_none_or(|s| s == c.status);
            let expected = ids_of(conversations.iter().filter(fits));
            assert!(!expected.is_empty());
            for limit in [2, 50] {
                assert_eq!(
                    ids(store, &filter, limit, &expected).await,
                    expected,
                    "{filter:?} by {limit}"
                );
            }
        }
    }
}

pub async fn a_list_without_an_instance_holds_all_instances<S: Store>(store: &S) {
    let mut expected = Vec::new();
    for _ in 0..2 {
        let fixture = Fixture::new();
        let (mut conversation, mut job) = (fixture.conversation(1), fixture.job());
        job.received_at = newest();
        received(store, &fixture, &mut conversation, &job).await;
        expected.push(conversation.id);
    }
    let page = PageRequest::first(100);
    let read = async || {
        ids_of(
            &succeed(store.search_conversations(&ConversationFilter::default(), &page))
                .await
                .items,
        )
    };
    let there = |found: &Vec<ConversationId>| expected.iter().all(|id| found.contains(id));
    assert!(there(&eventually(INDEX, read, there).await));
}

pub async fn what_only_leads_to_another_conversation_is_not_listed<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let known = begun(store, &fixture).await;
    let mut leading = fixture.other_contact().conversation(1);
    leading.redirect_to(&known.id);
    updated(store, &mut leading).await;
    // What is listed after it shows that the index has seen it.
    let (contact, mut job) = (fixture.other_contact(), fixture.job());
    job.received_at = at(60 * 60_000);
    let mut later = contact.conversation(1);
    received(store, &contact, &mut later, &job).await;
    for status in [
        None,
        Some(ConversationStatus::Active),
        Some(ConversationStatus::Resolved),
    ] {
        let filter = ConversationFilter {
            status,
            ..of_instance(&fixture)
        };
        let fits = |c: &&Conversation| status.is_none_or(|status| status == c.status);
        let expected = ids_of([&later, &known].into_iter().filter(fits));
        assert_eq!(ids(store, &filter, 50, &expected).await, expected, "{status:?}");
    }
    let stored = succeed(store.find_conversation(&leading.id)).await;
    assert_eq!(stored, Some(leading), "its id leads on");
}

async fn messages<S: Store>(store: &S, id: &ConversationId, limit: usize) -> Vec<Message> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = succeed(store.list_messages(id, &PageRequest { limit, cursor })).await;
        assert!(page.items.len() <= limit, "a page holds at most {limit}");
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

pub async fn messages_come_newest_first_by_pages<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    for _ in 0..6 {
        let reply = fixture.reply(&mut conversation);
        committed(store, &conversation, &reply).await;
        received(store, &fixture, &mut conversation, &fixture.job()).await;
    }
    let expected: Vec<u64> = (1..=13).rev().collect();
    for limit in [1, 4, 13, 50] {
        let found = messages(store, &conversation.id, limit).await;
        assert_eq!(ordinals(&found), expected, "by {limit}");
    }
    assert!(messages(store, &fixture.conversation(2).id, 10).await.is_empty());
}

pub async fn open_messages_are_listed_as_they_are_now<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let message = fixture.reply(&mut conversation);
    committed(store, &conversation, &message).await;
    let listed = async || messages(store, &conversation.id, 10).await.remove(0);
    assert_eq!(listed().await, message);
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    assert_eq!(listed().await, sending);
    let sent = accepted(&sending);
    assert_written(store.settle_message(&sent, Some(&flight), None, None)).await;
    assert_eq!(listed().await, sent);
    assert_eq!(messages(store, &conversation.id, 10).await.len(), 2, "none twice");
}

/// Gives a conversation labels and takes others away.
async fn relabelled<S: Store>(store: &S, conversation: &mut Conversation, add: &[&str], remove: &[&str]) {
    let labels = |words: &[&str]| {
        words
            .iter()
            .map(|word| ConversationLabel::parse(word).unwrap())
            .collect()
    };
    let changed = conversation.change_labels(&labels(add), &labels(remove));
    assert_eq!(changed, Ok(true));
    updated(store, conversation).await;
}

pub async fn a_label_finds_the_conversations_that_have_it<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let mut all = seven(store, &fixture).await;
    relabelled(store, &mut all[1], &["vip"], &[]).await;
    relabelled(store, &mut all[4], &["vip", "refund"], &[]).await;
    relabelled(store, &mut all[6], &["refund"], &[]).await;
    let mut theirs = begun(store, &other).await;
    relabelled(store, &mut theirs, &["vip"], &[]).await;
    let with = |word: &str| ConversationFilter {
        tenant: Some(fixture.bound.tenant.id.clone()),
        label: Some(ConversationLabel::parse(word).unwrap()),
        ..ConversationFilter::default()
    };
    for limit in [50, 1] {
        let vip = ids_of([&all[1], &all[4]]);
        assert_eq!(
            ids(store, &with("vip"), limit, &vip).await,
            vip,
            "{limit} on a page"
        );
        let refund = ids_of([&all[4], &all[6]]);
        assert_eq!(ids(store, &with("refund"), limit, &refund).await, refund);
    }
    assert_eq!(ids(store, &with("new"), 50, &[]).await, []);
    let stored = succeed(store.find_conversation(&all[4].id)).await.unwrap();
    assert_eq!(stored, all[4]);
    relabelled(store, &mut all[4], &["new"], &["vip"]).await;
    let vip = ids_of([&all[1]]);
    assert_eq!(ids(store, &with("vip"), 50, &vip).await, vip);
    let new = ids_of([&all[4]]);
    assert_eq!(ids(store, &with("new"), 50, &new).await, new);
}
