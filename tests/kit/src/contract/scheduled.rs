//! Messages that are to be sent later: kept, found when due, and turned into a message once.

use super::given::{
    assert_conflict, assert_written, begun, client_key, find_held, find_stored, naming, open_ordinals,
    received,
};
use super::patience::{INDEX, eventually};
use crate::builders::{BASE, Fixture, at, far_ahead, fresh, long_ago, nonce};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::Timestamp;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{Ordinal, TokenName};
use recado_domain::message::{Message, Role};
use recado_domain::metadata::Metadata;
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::options::SendOptions;
use recado_domain::outbox::{Author, Outbox};
use recado_domain::reason::Reason;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};
use recado_ports::ports::{CommitOutcome, PortResult, Store};
use recado_ports::records::scheduled_messages::{
    find_scheduled, find_scheduled_by_id, list_due_scheduled, put_scheduled,
};
use recado_ports::table::{Change, Versioned, write_record};

fn scheduled(fixture: &Fixture, send_at: Timestamp) -> ScheduledMessage {
    let digits = fresh("");
    ScheduledMessage {
        id: ScheduledId::parse(&format!("s_{0}{0}", &digits[1..])).unwrap(),
        tenant: fixture.bound.tenant.id.clone(),
        instance: fixture.instance().clone(),
        to: fixture.address.clone(),
        content: Content::from_text("Até amanhã"),
        options: SendOptions {
            reply_to: Some("3EB0".to_owned()),
            link_preview: Some(false),
            ..SendOptions::default()
        },
        metadata: serde_json::from_str::<Metadata>(r#""{\"\":[null,{\"deep\":1.5}]}""#).ok(),
        send_at,
        created_at: BASE,
        correlation: crate::builders::correlation(),
        by: Some(TokenName::phone()),
        idempotency_key: None,
        invitation: None,
        reminds_of: None,
        restored_from: None,
        state: ScheduledState::Pending,
    }
}

/// A scheduled message that is stored, as it is read.
async fn kept<S: Store>(store: &S, fixture: &Fixture, send_at: Timestamp) -> Versioned<ScheduledMessage> {
    let scheduled = scheduled(fixture, send_at);
    let put = succeed(put_scheduled(store, &scheduled, &[])).await;
    assert_eq!(put, CommitOutcome::Committed);
    let found = succeed(find_scheduled(store, &scheduled.tenant, &scheduled.id)).await;
    let found = found.unwrap();
    assert_eq!(found.record, scheduled);
    found
}

/// What is stored under the id.
async fn find<S: Store>(store: &S, scheduled: &ScheduledMessage) -> Option<ScheduledMessage> {
    let found = succeed(find_scheduled(store, &scheduled.tenant, &scheduled.id)).await;
    let by_id = succeed(find_scheduled_by_id(store, &scheduled.id)).await;
    assert_eq!(found, by_id, "its id alone leads to it");
    found.map(|found| found.record)
}

/// Stores the message that `scheduled` became, together with it.
async fn commit<S: Store>(
    store: &S,
    scheduled: &Versioned<ScheduledMessage>,
    conversation: &Conversation,
    message: &Message,
) -> PortResult<CommitOutcome> {
    let beside = Change::save(scheduled)?.writes;
    store
        .commit_messages(conversation, std::slice::from_ref(message), &beside)
        .await
}

/// The message that `scheduled` becomes in `conversation`; both become ready to be written.
fn due(
    scheduled: &mut Versioned<ScheduledMessage>,
    fixture: &Fixture,
    conversation: &mut Conversation,
) -> Message {
    let scheduled = &mut scheduled.record;
    let ordinal = conversation.append_message(at(5_000));
    conversation.rev += 1;
    let mut out = Outbox::new_queued(
        scheduled.to.clone(),
        Author::Person,
        conversation.epoch,
        Ordinal(0),
        at(5_000),
    );
    out.metadata.clone_from(&scheduled.metadata);
    out.sign_last_step(scheduled.by.as_ref());
    out.scheduled = Some(scheduled.id.clone());
    let message = Message {
        role: Role::Operator,
        content: scheduled.content.clone(),
        provider_message_id: None,
        out: Some(out),
        ..fixture.message(conversation.id.clone(), ordinal, at(5_000))
    };
    scheduled
        .become_message(message.message_id(), far_ahead())
        .unwrap();
    message
}

async fn is_overdue<S: Store>(store: &S, scheduled: &ScheduledMessage, now: Timestamp, expected: bool) {
    let due = (scheduled.tenant.clone(), scheduled.id.clone());
    let found = async || {
        let listed = succeed(list_due_scheduled(store, now, 1_000)).await;
        listed.contains(&due)
    };
    assert_eq!(
        eventually(INDEX, found, |found| *found == expected).await,
        expected
    );
}

pub async fn a_scheduled_message_comes_back_as_it_is<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let scheduled = kept(store, &fixture, far_ahead()).await.record;
    assert!(scheduled.metadata.is_some());
    assert_eq!(find(store, &scheduled).await.as_ref(), Some(&scheduled));
    let again = succeed(put_scheduled(store, &scheduled, &[])).await;
    assert_eq!(again, CommitOutcome::Conflict, "its id is taken");
    let other = ScheduledMessage {
        id: ScheduledId::parse(&format!("s_{}", &nonce().as_str()[2..].repeat(2))).unwrap(),
        ..scheduled
    };
    assert_eq!(find(store, &other).await, None);
}

pub async fn an_id_is_taken_whosever_it_is<S: Store>(store: &S) {
    let (one, other) = (Fixture::new(), Fixture::new());
    let first = kept(store, &one, far_ahead()).await.record;
    let second = ScheduledMessage {
        id: first.id.clone(),
        ..scheduled(&other, far_ahead())
    };
    let put = succeed(put_scheduled(store, &second, &[])).await;
    assert_eq!(put, CommitOutcome::Conflict);
    let found = succeed(find_scheduled(store, &second.tenant, &second.id)).await;
    assert_eq!(found, None);
    assert_eq!(find(store, &first).await, Some(first));
}

pub async fn a_clients_key_names_the_scheduled_message_it_made<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let key = client_key(&fixture, &fresh("scope"), "order-7", far_ahead());
    let first = scheduled(&fixture, far_ahead());
    let beside = naming(&key, first.id.as_message_id());
    let put = succeed(put_scheduled(store, &first, &beside)).await;
    assert_eq!(put, CommitOutcome::Committed);
    let second = scheduled(&fixture, far_ahead());
    let beside = naming(&key, second.id.as_message_id());
    let put = succeed(put_scheduled(store, &second, &beside)).await;
    assert_eq!(put, CommitOutcome::Refused(vec![0]));
    assert_eq!(find(store, &second).await, None);
    let again = succeed(put_scheduled(store, &first, &beside)).await;
    assert_eq!(
        again,
        CommitOutcome::Refused(vec![0]),
        "though its id is taken, too"
    );
    let held = find_held(store, &key).await.unwrap();
    assert_eq!(held.message, *first.id.as_message_id());
}

pub async fn an_expired_key_schedules_anew<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let scope = fresh("scope");
    for expires in [long_ago(), far_ahead()] {
        let key = client_key(&fixture, &scope, "order-7", expires);
        let new = scheduled(&fixture, far_ahead());
        let beside = naming(&key, new.id.as_message_id());
        let put = succeed(put_scheduled(store, &new, &beside)).await;
        assert_eq!(put, CommitOutcome::Committed);
    }
}

pub async fn what_ended_long_ago_is_gone<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut cancelled = kept(store, &fixture, far_ahead()).await;
    cancelled.record.cancel_pending(far_ahead(), None).unwrap();
    assert_written(write_record(store, &mut cancelled)).await;
    assert_eq!(find(store, &cancelled.record).await, Some(cancelled.record));
    let mut old = kept(store, &fixture, far_ahead()).await;
    old.record.cancel_pending(long_ago(), None).unwrap();
    assert_written(write_record(store, &mut old)).await;
    assert_eq!(find(store, &old.record).await, None);
}

pub async fn of_ten_requests_with_one_key_at_once_one_is_scheduled<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let key = client_key(&fixture, &fresh("scope"), "order-7", far_ahead());
    let all: Vec<_> = (0..10)
        .map(|_| {
            let one = scheduled(&fixture, far_ahead());
            let beside = naming(&key, one.id.as_message_id());
            (one, beside)
        })
        .collect();
    let puts = all.iter().map(|(one, beside)| put_scheduled(store, one, beside));
    let found = join_all(puts).await;
    let found: Vec<CommitOutcome> = found.into_iter().map(Result::unwrap).collect();
    assert_eq!(
        found
            .iter()
            .filter(|found| **found == CommitOutcome::Committed)
            .count(),
        1
    );
    let others = found
        .iter()
        .filter(|found| matches!(found, CommitOutcome::Refused(_)));
    assert_eq!(others.count(), 9, "{found:?}");
}

pub async fn one_is_overdue_from_its_time_on_until_it_left_pending<S: Store>(store: &S) {
    let fixture = Fixture::new();
    // A time that no other case has, long before those that other cases leave pending.
    let send_at = from_unix_millis(3 * 31_557_600_000);
    let mut scheduled = kept(store, &fixture, send_at).await;
    is_overdue(store, &scheduled.record, send_at, true).await;
    is_overdue(store, &scheduled.record, add_millis(send_at, -1), false).await;
    let later = add_millis(send_at, 1);
    scheduled.record.postpone_pending(later).unwrap();
    assert_written(write_record(store, &mut scheduled)).await;
    is_overdue(store, &scheduled.record, send_at, false).await;
    is_overdue(store, &scheduled.record, later, true).await;
    scheduled
        .record
        .cancel_pending(far_ahead(), Some(&TokenName::installation()))
        .unwrap();
    assert_written(write_record(store, &mut scheduled)).await;
    is_overdue(store, &scheduled.record, far_ahead(), false).await;
    assert_eq!(find(store, &scheduled.record).await, Some(scheduled.record));
}

pub async fn those_that_are_due_for_the_longest_time_come_first<S: Store>(store: &S) {
    let fixture = Fixture::new();
    // Times that no other case has, before all others.
    let times = [2, 1, 3].map(from_unix_millis);
    let mut kept_at = Vec::new();
    for send_at in times {
        kept_at.push(kept(store, &fixture, send_at).await);
    }
    let order = [1, 0, 2].map(|place: usize| kept_at[place].record.id.clone());
    let listed = async || {
        let due = succeed(list_due_scheduled(store, from_unix_millis(3), 10)).await;
        let ids = due
            .into_iter()
            .filter(|(tenant, _)| *tenant == fixture.bound.tenant.id);
        ids.map(|(_, id)| id).collect::<Vec<_>>()
    };
    assert_eq!(eventually(INDEX, listed, |ids| *ids == order).await, order);
    for mut scheduled in kept_at {
        scheduled.record.cancel_pending(far_ahead(), None).unwrap();
        assert_written(write_record(store, &mut scheduled)).await;
    }
}

pub async fn one_that_falls_due_becomes_an_open_message_of_its_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut scheduled = kept(store, &fixture, at(5_000)).await;
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(commit(store, &scheduled, &conversation, &message)).await;
    assert_eq!(written, CommitOutcome::Committed);
    assert_eq!(find_stored(store, &message).await, Some(message.clone()));
    assert_eq!(open_ordinals(store, &conversation).await, [message.ordinal.0]);
    let id = conversation.id.clone();
    assert_eq!(succeed(store.find_conversation(&id)).await, Some(conversation));
    assert_eq!(find(store, &scheduled.record).await, Some(scheduled.record));
}

pub async fn one_that_falls_due_may_begin_the_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let mut scheduled = kept(store, &fixture, at(5_000)).await;
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(commit(store, &scheduled, &conversation, &message)).await;
    assert_eq!(written, CommitOutcome::Committed);
    assert_eq!(
        succeed(store.find_latest_conversation(&fixture.thread())).await,
        Some(conversation)
    );
}

pub async fn one_that_was_taken_back_does_not_fall_due<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let before = conversation.clone();
    let mut scheduled = kept(store, &fixture, at(5_000)).await;
    let mut cancelled = scheduled.clone();
    cancelled.record.cancel_pending(far_ahead(), None).unwrap();
    assert_written(write_record(store, &mut cancelled)).await;
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(commit(store, &scheduled, &conversation, &message)).await;
    assert_eq!(written, CommitOutcome::Refused(vec![0]));
    super::given::assert_untouched(store, &before, message.ordinal).await;
    assert_eq!(find(store, &scheduled.record).await, Some(cancelled.record));
}

pub async fn one_that_fell_due_is_not_taken_back_or_given_up<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut scheduled = kept(store, &fixture, at(5_000)).await;
    let (mut cancelled, mut given_up) = (scheduled.clone(), scheduled.clone());
    cancelled.record.cancel_pending(far_ahead(), None).unwrap();
    given_up
        .record
        .give_up_pending(far_ahead(), Reason::UnknownInstance)
        .unwrap();
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(commit(store, &scheduled, &conversation, &message)).await;
    assert_eq!(written, CommitOutcome::Committed);
    for mut late in [cancelled, given_up] {
        assert_conflict(write_record(store, &mut late)).await;
    }
    assert_eq!(find(store, &scheduled.record).await, Some(scheduled.record));
}

pub async fn a_conversation_changed_meanwhile_is_a_conflict_and_it_stays_pending<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let pending = kept(store, &fixture, at(5_000)).await;
    let (mut stale, mut scheduled) = (conversation.clone(), pending.clone());
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    let message = due(&mut scheduled, &fixture, &mut stale);
    let written = succeed(commit(store, &scheduled, &stale, &message)).await;
    assert_eq!(written, CommitOutcome::Conflict);
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation.clone())
    );
    assert!(open_ordinals(store, &conversation).await.is_empty());
    assert_eq!(find(store, &pending.record).await, Some(pending.record));
}

pub async fn of_ten_workers_that_find_it_due_one_makes_the_message<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let pending = kept(store, &fixture, at(5_000)).await;
    let (mut scheduled, mut with) = (pending.clone(), conversation.clone());
    let message = due(&mut scheduled, &fixture, &mut with);
    let all = join_all((0..10).map(|_| commit(store, &scheduled, &with, &message))).await;
    let won = all
        .into_iter()
        .map(Result::unwrap)
        .filter(|won| *won == CommitOutcome::Committed);
    assert_eq!(won.count(), 1);
    assert_eq!(open_ordinals(store, &with).await, [message.ordinal.0]);
}
