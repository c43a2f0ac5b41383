//! Messages that are to be sent later: kept, found when due, and turned into a message once.

use super::given::{assert_conflict, assert_written, begun, find_stored, key_claim, open_ordinals, received};
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
use recado_ports::ports::{CommitOutcome, IdempotencyRecord, OverdueWork, Store, WriteOutcome};

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
        rev: 1,
    }
}

async fn kept<S: Store>(store: &S, fixture: &Fixture, send_at: Timestamp) -> ScheduledMessage {
    let scheduled = scheduled(fixture, send_at);
    let put = succeed(store.put_scheduled(&scheduled, None)).await;
    assert_eq!(put, CommitOutcome::Committed);
    scheduled
}

/// The message that `scheduled` becomes in `conversation`; both become ready to be written.
fn due(scheduled: &mut ScheduledMessage, fixture: &Fixture, conversation: &mut Conversation) -> Message {
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

async fn is_overdue<S: Store>(store: &S, id: &ScheduledId, now: Timestamp, expected: bool) {
    let found = async || {
        let work = succeed(store.list_overdue(now, 1_000)).await;
        work.contains(&OverdueWork::Scheduled(id.clone()))
    };
    assert_eq!(
        eventually(INDEX, found, |found| *found == expected).await,
        expected
    );
}

pub async fn a_scheduled_message_comes_back_as_it_is<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let scheduled = kept(store, &fixture, far_ahead()).await;
    assert!(scheduled.metadata.is_some());
    let found = succeed(store.find_scheduled(&scheduled.id)).await;
    assert_eq!(found, Some(scheduled.clone()));
    let again = succeed(store.put_scheduled(&scheduled, None)).await;
    assert_eq!(again, CommitOutcome::Conflict, "its id is taken");
    let other = ScheduledId::parse(&format!("s_{}", &nonce().as_str()[2..].repeat(2))).unwrap();
    assert_eq!(succeed(store.find_scheduled(&other)).await, None);
}

pub async fn a_clients_key_names_the_scheduled_message_it_made<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let claim = key_claim(&fresh("scope"), "order-7", far_ahead());
    let first = scheduled(&fixture, far_ahead());
    let put = succeed(store.put_scheduled(&first, Some(&claim))).await;
    assert_eq!(put, CommitOutcome::Committed);
    let record = IdempotencyRecord {
        request_hash: claim.request_hash.clone(),
        message: first.id.as_message_id().clone(),
    };
    let second = scheduled(&fixture, far_ahead());
    let put = succeed(store.put_scheduled(&second, Some(&claim))).await;
    assert_eq!(put, CommitOutcome::KeyTaken(record.clone()));
    assert_eq!(succeed(store.find_scheduled(&second.id)).await, None);
    assert_eq!(
        succeed(store.find_idempotency_key(&claim.scope, &claim.key)).await,
        Some(record)
    );
}

pub async fn an_expired_key_schedules_anew<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let scope = fresh("scope");
    for expires in [long_ago(), far_ahead()] {
        let claim = key_claim(&scope, "order-7", expires);
        let new = scheduled(&fixture, far_ahead());
        let put = succeed(store.put_scheduled(&new, Some(&claim))).await;
        assert_eq!(put, CommitOutcome::Committed);
    }
}

pub async fn what_ended_long_ago_is_gone<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut cancelled = kept(store, &fixture, far_ahead()).await;
    cancelled.cancel_pending(far_ahead(), None).unwrap();
    assert_written(store.save_scheduled(&cancelled)).await;
    assert_eq!(
        succeed(store.find_scheduled(&cancelled.id)).await,
        Some(cancelled)
    );
    let mut old = kept(store, &fixture, far_ahead()).await;
    old.cancel_pending(long_ago(), None).unwrap();
    assert_written(store.save_scheduled(&old)).await;
    assert_eq!(succeed(store.find_scheduled(&old.id)).await, None);
}

pub async fn of_ten_requests_with_one_key_at_once_one_is_scheduled<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let claim = key_claim(&fresh("scope"), "order-7", far_ahead());
    let all: Vec<ScheduledMessage> = (0..10).map(|_| scheduled(&fixture, far_ahead())).collect();
    let puts = all.iter().map(|one| store.put_scheduled(one, Some(&claim)));
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
        .filter(|found| matches!(found, CommitOutcome::KeyTaken(_)));
    assert_eq!(others.count(), 9, "{found:?}");
}

pub async fn one_is_overdue_from_its_time_on_until_it_left_pending<S: Store>(store: &S) {
    let fixture = Fixture::new();
    // A time that no other case has, long before those that other cases leave pending.
    let send_at = from_unix_millis(3 * 31_557_600_000);
    let mut scheduled = kept(store, &fixture, send_at).await;
    is_overdue(store, &scheduled.id, send_at, true).await;
    is_overdue(store, &scheduled.id, add_millis(send_at, -1), false).await;
    scheduled
        .cancel_pending(far_ahead(), Some(&TokenName::installation()))
        .unwrap();
    assert_written(store.save_scheduled(&scheduled)).await;
    is_overdue(store, &scheduled.id, far_ahead(), false).await;
    assert_eq!(
        succeed(store.find_scheduled(&scheduled.id)).await,
        Some(scheduled)
    );
}

pub async fn one_that_falls_due_becomes_an_open_message_of_its_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut scheduled = kept(store, &fixture, at(5_000)).await;
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(store.commit_scheduled(&scheduled, &conversation, &message)).await;
    assert_eq!(written, WriteOutcome::Written);
    assert_eq!(find_stored(store, &message).await, Some(message.clone()));
    assert_eq!(open_ordinals(store, &conversation).await, [message.ordinal.0]);
    let id = conversation.id.clone();
    assert_eq!(succeed(store.find_conversation(&id)).await, Some(conversation));
    assert_eq!(
        succeed(store.find_scheduled(&scheduled.id)).await,
        Some(scheduled)
    );
}

pub async fn one_that_falls_due_may_begin_the_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let mut scheduled = kept(store, &fixture, at(5_000)).await;
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(store.commit_scheduled(&scheduled, &conversation, &message)).await;
    assert_eq!(written, WriteOutcome::Written);
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
    cancelled.cancel_pending(far_ahead(), None).unwrap();
    assert_written(store.save_scheduled(&cancelled)).await;
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(store.commit_scheduled(&scheduled, &conversation, &message)).await;
    assert_eq!(written, WriteOutcome::Conflict);
    super::given::assert_untouched(store, &before, message.ordinal).await;
    assert_eq!(
        succeed(store.find_scheduled(&scheduled.id)).await,
        Some(cancelled)
    );
}

pub async fn one_that_fell_due_is_not_taken_back_or_given_up<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut scheduled = kept(store, &fixture, at(5_000)).await;
    let (mut cancelled, mut given_up) = (scheduled.clone(), scheduled.clone());
    cancelled.cancel_pending(far_ahead(), None).unwrap();
    given_up
        .give_up_pending(far_ahead(), Reason::UnknownInstance)
        .unwrap();
    let message = due(&mut scheduled, &fixture, &mut conversation);
    let written = succeed(store.commit_scheduled(&scheduled, &conversation, &message)).await;
    assert_eq!(written, WriteOutcome::Written);
    for late in [cancelled, given_up] {
        assert_conflict(store.save_scheduled(&late)).await;
    }
    assert_eq!(
        succeed(store.find_scheduled(&scheduled.id)).await,
        Some(scheduled)
    );
}

pub async fn a_conversation_changed_meanwhile_is_a_conflict_and_it_stays_pending<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let pending = kept(store, &fixture, at(5_000)).await;
    let (mut stale, mut scheduled) = (conversation.clone(), pending.clone());
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    let message = due(&mut scheduled, &fixture, &mut stale);
    let written = succeed(store.commit_scheduled(&scheduled, &stale, &message)).await;
    assert_eq!(written, WriteOutcome::Conflict);
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation.clone())
    );
    assert!(open_ordinals(store, &conversation).await.is_empty());
    assert_eq!(succeed(store.find_scheduled(&pending.id)).await, Some(pending));
}

pub async fn of_ten_workers_that_find_it_due_one_makes_the_message<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let pending = kept(store, &fixture, at(5_000)).await;
    let (mut scheduled, mut with) = (pending.clone(), conversation.clone());
    let message = due(&mut scheduled, &fixture, &mut with);
    let all = join_all((0..10).map(|_| store.commit_scheduled(&scheduled, &with, &message))).await;
    let won = all
        .into_iter()
        .map(Result::unwrap)
        .filter(|won| *won == WriteOutcome::Written);
    assert_eq!(won.count(), 1);
    assert_eq!(open_ordinals(store, &with).await, [message.ordinal.0]);
}
