//! The list of who waits for a person, and the return of the agent.

use super::given::{begun, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, far_ahead};
use crate::ports::succeed;
use recado_domain::config::AgentReturn;
use recado_domain::conversation::{CommittedDecision, Conversation, ConversationLabel, ConversationMode};
use recado_domain::decision::AgentDecision;
use recado_domain::ids::ConversationId;
use recado_domain::reason::Reason;
use recado_ports::ports::{ConversationFilter, OverdueWork, PageRequest, Store};

/// Enough for what other cases leave on a shared store.
const LIMIT: usize = 10_000;

/// All pages of the list, of `limit` items each.
async fn listed<S: Store>(store: &S, filter: &ConversationFilter, limit: usize) -> Vec<Conversation> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..100 {
        let page = PageRequest { limit, cursor };
        let page = succeed(store.list_waiting_conversations(filter, &page)).await;
        assert!(page.items.len() <= limit);
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

fn of_tenant(fixture: &Fixture) -> ConversationFilter {
    ConversationFilter {
        tenant: Some(fixture.bound.tenant.id.clone()),
        ..ConversationFilter::default()
    }
}

async fn ids<S: Store>(
    store: &S,
    filter: &ConversationFilter,
    limit: usize,
    expected: &[ConversationId],
) -> Vec<ConversationId> {
    let read = async || {
        let found = listed(store, filter, limit).await;
        found
            .into_iter()
            .map(|conversation| conversation.id)
            .collect::<Vec<_>>()
    };
    eventually(INDEX, read, |found| found == expected).await
}

/// A conversation of another contact of the fixture's instance, in which a person owes an answer since `minutes`.
async fn waits_since<S: Store>(store: &S, fixture: &Fixture, minutes: i64) -> Conversation {
    let contact = fixture.other_contact();
    let mut conversation = begun(store, &contact).await;
    conversation.take_over();
    conversation.waiting_since = Some(at(minutes * 60_000));
    updated(store, &mut conversation).await;
    conversation
}

pub async fn who_waits_the_longest_comes_first_page_by_page<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut waiting = Vec::new();
    for minutes in [4, 1, 3, 3, 2] {
        waiting.push(waits_since(store, &fixture, minutes).await);
    }
    waiting.sort_by_key(|conversation| conversation.waiting_since);
    let times: Vec<_> = waiting
        .iter()
        .map(|conversation| conversation.waiting_since)
        .collect();
    for limit in [50, 2, 1] {
        let read = async || {
            let found = listed(store, &of_tenant(&fixture), limit).await;
            found
                .into_iter()
                .map(|conversation| conversation.waiting_since)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            eventually(INDEX, read, |found| *found == times).await,
            times,
            "{limit} on a page"
        );
    }
    let mut gone = waiting.remove(0);
    gone.record_operator_answer(gone.last, true, at(600_000));
    updated(store, &mut gone).await;
    let left = async || listed(store, &of_tenant(&fixture), 50).await.len();
    assert_eq!(
        eventually(INDEX, left, |count| *count == 4).await,
        4,
        "it was answered"
    );
}

pub async fn a_tenant_sees_only_who_waits_for_it<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let mine = waits_since(store, &fixture, 1).await;
    let theirs = waits_since(store, &other, 2).await;
    begun(store, &fixture.other_contact()).await;
    for (filter, expected) in [
        (of_tenant(&fixture), [mine.id.clone()]),
        (of_tenant(&other), [theirs.id.clone()]),
        (
            ConversationFilter {
                instance: Some(fixture.instance().clone()),
                ..ConversationFilter::default()
            },
            [mine.id.clone()],
        ),
    ] {
        assert_eq!(ids(store, &filter, 50, &expected).await, expected);
    }
    let by_mode = |mode| ConversationFilter {
        mode: Some(mode),
        ..of_tenant(&fixture)
    };
    let mut labelled = waits_since(store, &fixture, 3).await;
    let label = ConversationLabel::parse("refund").unwrap();
    let changed = labelled.change_labels(&[label.clone()].into(), &[].into());
    assert_eq!(changed, Ok(true));
    updated(store, &mut labelled).await;
    let by_label = ConversationFilter {
        label: Some(label),
        ..of_tenant(&fixture)
    };
    let expected = [labelled.id.clone()];
    assert_eq!(ids(store, &by_label, 50, &expected).await, expected);
    labelled.record_operator_answer(labelled.last, true, at(600_000));
    updated(store, &mut labelled).await;
    assert_eq!(
        ids(
            store,
            &by_mode(ConversationMode::Manual),
            50,
            std::slice::from_ref(&mine.id)
        )
        .await,
        [mine.id]
    );
    assert_eq!(ids(store, &by_mode(ConversationMode::Ai), 50, &[]).await, []);
}

pub async fn after_a_hand_over_a_person_is_waited_for_although_no_answer_is_owed<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    conversation.answered = conversation.last;
    conversation.waiting_since = None;
    let note = "asks for a person".to_owned();
    let handed = conversation.apply_decision(None, Some(&AgentDecision::HandOver { note }), at(5_000));
    assert_eq!(handed, CommittedDecision::LastWords);
    updated(store, &mut conversation).await;
    let expected = [conversation.id.clone()];
    assert_eq!(ids(store, &of_tenant(&fixture), 50, &expected).await, expected);
    let stored = succeed(store.find_conversation(&conversation.id)).await.unwrap();
    assert_eq!(stored.people.hand_over_note, conversation.people.hand_over_note);
    let mut waits = succeed(store.list_waiting_for_person(far_ahead(), LIMIT))
        .await
        .waits;
    waits.retain(|wait| wait.conversation == conversation.id);
    let told: Vec<_> = waits.into_iter().map(|wait| (wait.since, wait.needed)).collect();
    assert_eq!(told, [(at(5_000), Some(Reason::HandedOver))]);
    conversation.take_over();
    updated(store, &mut conversation).await;
    assert_eq!(ids(store, &of_tenant(&fixture), 50, &[]).await, []);
}

pub async fn an_overdue_return_of_the_agent_is_listed_whether_or_not_a_person_owes_an_answer<S: Store>(
    store: &S,
) {
    let fixture = Fixture::new();
    for owed in [false, true] {
        let contact = fixture.other_contact();
        let mut conversation = begun(store, &contact).await;
        conversation.take_over();
        conversation.restart_return(AgentReturn::AfterMinutes(10), at(0));
        if !owed {
            conversation.record_operator_answer(conversation.last, true, at(0));
        }
        updated(store, &mut conversation).await;
        let due = OverdueWork::Owed(conversation.id.clone());
        let is_listed = async |minutes: i64| {
            let found = succeed(store.list_overdue(at(minutes * 60_000), LIMIT)).await;
            found.contains(&due)
        };
        assert!(
            eventually(INDEX, async || is_listed(12).await, |found| *found).await,
            "{owed}"
        );
        assert!(!is_listed(11).await, "not yet overdue");
        assert_eq!(conversation.person_owed_since().is_some(), owed);
        conversation.give_back_to_agent(conversation.last, at(0));
        updated(store, &mut conversation).await;
        assert!(!eventually(INDEX, async || is_listed(12).await, |found| !found).await);
    }
}
