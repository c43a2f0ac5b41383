//! What the removal of a tenant finds and takes away.

use super::given::{assert_written, begun, claim, client_key, committed_once, find_held, replied, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, change_instance, claimed, far_ahead, fresh, long_ago, nonce, seen};
use crate::ports::succeed;
use recado_domain::alert::{Alert, AlertSubject, Notification, NotificationState};
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::ids::TenantId;
use recado_domain::instance::{
    ConnectionStatus, DEFAULT_PATIENCE, InstanceChange, InstanceState, ParkedConversation,
};
use recado_domain::published_event::EventCursor;
use recado_domain::sample::MinuteSample;
use recado_ports::ports::{
    ConversationFilter, DeletedPart, EventChange, EventOwners, LogPlace, PageRequest, Store,
};
use recado_ports::records::alerts::{commit_alerts, list_live_alerts};
use recado_ports::records::notifications::list_notifications;
use recado_ports::records::removed_instances::{note_removed_instances, was_instance_removed};
use recado_ports::records::samples::{list_samples, put_samples};

/// The most records of a kind that one call of a case deletes.
const LIMIT: usize = 100;

fn instances(fixture: &Fixture) -> [Instance; 1] {
    [fixture.bound.instance.clone()]
}

async fn delete<S: Store>(store: &S, fixture: &Fixture, limit: usize) -> usize {
    let tenant = &fixture.bound.tenant.id;
    succeed(store.delete_tenant_records(tenant, &instances(fixture), limit)).await
}

/// Puts a record of each kind that every store can find.
async fn put_records<S: Store>(store: &S, fixture: &Fixture) {
    let tenant = &fixture.bound.tenant.id;
    let instance = fixture.instance();
    let opened = InstanceChange::Connection(seen(ConnectionStatus::Closed, at(1), None));
    change_instance(store, instance, opened).await;
    let mut conversation = begun(store, fixture).await;
    let reply = replied(store, fixture, &mut conversation).await;
    let (sending, flight) = claimed(&reply);
    claim(store, &sending, &flight).await;
    let answer = fixture.answer(&mut conversation);
    let key = client_key(fixture, instance.as_str(), "order-7", far_ahead());
    committed_once(store, &conversation, &answer, &key).await;
    let parked = ParkedConversation {
        instance: instance.clone(),
        conversation: conversation.id.clone(),
        version: nonce(),
        since: at(1),
        not_before: None,
        patience: DEFAULT_PATIENCE,
        reply: None,
    };
    succeed(store.put_parked(&parked)).await;
    let sample = MinuteSample::from_instances(at(0), Some(tenant.clone()), Vec::new());
    succeed(put_samples(store, &[sample], far_ahead())).await;
    let mut alert = Alert::for_test(at(1_000));
    alert.id = fresh("alert");
    alert.subject = AlertSubject {
        tenant: Some(tenant.clone()),
        instance: Some(instance.clone()),
        conversation: None,
    };
    let notification = Notification::for_test(&fresh("pager"), Some(tenant.clone()), 7, at(5_000));
    let _ = succeed(commit_alerts(store, &[], &[alert], &[notification])).await;
}

/// The number of kinds of which `put_records` puts a record.
const KINDS: usize = 8;

async fn has_events<S: Store>(store: &S, tenant: &TenantId) -> bool {
    let page =
        succeed(store.list_published_events(Some(tenant), LogPlace::After(EventCursor::START), 10)).await;
    !page.events.is_empty()
}

/// Names of the kinds of which the tenant has a record.
async fn list_kinds<S: Store>(store: &S, fixture: &Fixture) -> Vec<&'static str> {
    let (tenant, instance) = (&fixture.bound.tenant.id, fixture.instance());
    let key = client_key(fixture, instance.as_str(), "order-7", far_ahead());
    let pending = NotificationState::Pending;
    let kinds = [
        (
            "state",
            succeed(store.read_instance_state(instance)).await != InstanceState::default(),
        ),
        (
            "parked",
            !succeed(store.list_parked(instance, 10)).await.is_empty(),
        ),
        ("note", !succeed(store.list_in_flight(instance)).await.is_empty()),
        ("key", find_held(store, &key).await.is_some()),
        (
            "sample",
            !succeed(list_samples(store, Some(tenant), at(0))).await.is_empty(),
        ),
        (
            "alert",
            !succeed(list_live_alerts(store, Some(tenant), 10))
                .await
                .is_empty(),
        ),
        (
            "notification",
            !succeed(list_notifications(store, Some(tenant), pending, 10))
                .await
                .is_empty(),
        ),
        ("event", has_events(store, tenant).await),
    ];
    kinds
        .into_iter()
        .filter(|(_, has)| *has)
        .map(|(kind, _)| kind)
        .collect()
}

pub async fn records_of_a_tenant_are_deleted_and_those_of_others_stay<S: Store>(store: &S) {
    let (one, other) = (Fixture::new(), Fixture::new());
    put_records(store, &one).await;
    put_records(store, &other).await;
    let all = async |fixture: &Fixture| {
        eventually(
            INDEX,
            async || list_kinds(store, fixture).await,
            |kinds| kinds.len() == KINDS,
        )
        .await
    };
    assert_eq!(all(&one).await.len(), KINDS);
    assert_eq!(all(&other).await.len(), KINDS);
    let delete_all = async || {
        delete(store, &one, LIMIT).await;
        list_kinds(store, &one).await
    };
    let left = eventually(INDEX, delete_all, Vec::is_empty).await;
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(all(&other).await.len(), KINDS);
}

pub async fn no_more_than_the_limit_is_deleted_at_once<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let tenant = &fixture.bound.tenant.id;
    for minute in 0..5 {
        let sample = MinuteSample::from_instances(at(minute * 60_000), Some(tenant.clone()), Vec::new());
        succeed(put_samples(store, &[sample], far_ahead())).await;
    }
    let mut counts = Vec::new();
    for _ in 0..4 {
        counts.push(delete(store, &fixture, 2).await);
    }
    assert_eq!(counts, [2, 2, 1, 0]);
}

pub async fn pending_events_are_found_by_their_instance<S: Store>(store: &S) {
    let (one, other) = (Fixture::new(), Fixture::new());
    let jobs = [one.job(), one.other_contact().job(), other.job()];
    for job in &jobs {
        succeed(store.record_event(job)).await;
    }
    let find = async || {
        let found = succeed(store.list_pending_events(EventOwners::Instances(&instances(&one), LIMIT))).await;
        let mut found: Vec<_> = found.into_iter().map(|record| record.job.event).collect();
        found.sort_unstable();
        found
    };
    let mut expected = vec![jobs[0].event.clone(), jobs[1].event.clone()];
    expected.sort_unstable();
    assert_eq!(
        eventually(INDEX, find, |found| *found == expected).await,
        expected
    );
    let few = succeed(store.list_pending_events(EventOwners::Instances(&instances(&one), 1))).await;
    assert_eq!(few.len(), 1);
    for job in &jobs {
        succeed(store.change_event(
            &job.event,
            EventChange::Apply {
                at: at(1),
                expires: far_ahead(),
            },
        ))
        .await;
    }
    let left = eventually(INDEX, find, Vec::is_empty).await;
    assert!(left.is_empty(), "{left:?}");
    assert!(
        succeed(store.list_pending_events(EventOwners::Instances(&[], LIMIT)))
            .await
            .is_empty()
    );
}

pub async fn a_removed_instance_is_known_until_its_note_expires<S: Store>(store: &S) {
    let (removed, expired, never) = (Fixture::new(), Fixture::new(), Fixture::new());
    succeed(note_removed_instances(store, &instances(&removed), far_ahead())).await;
    succeed(note_removed_instances(store, &instances(&expired), long_ago())).await;
    for (fixture, expected) in [(&removed, true), (&expired, false), (&never, false)] {
        let provider = fixture.bound.instance.provider;
        let found = succeed(was_instance_removed(store, provider, &fixture.external())).await;
        assert_eq!(found, expected);
    }
    let other = recado_domain::provider::Provider::Meta;
    assert!(!succeed(was_instance_removed(store, other, &removed.external())).await);
}

/// Lists conversations of a tenant that nobody sees.
async fn list_unlisted<S: Store>(store: &S, tenant: &TenantId, limit: usize) -> Vec<Conversation> {
    let filter = ConversationFilter {
        tenant: Some(tenant.clone()),
        unlisted: true,
        ..ConversationFilter::default()
    };
    let page = PageRequest::first(limit);
    succeed(store.search_conversations(&filter, &page)).await.items
}

pub async fn conversations_that_nobody_sees_are_listed_by_tenant<S: Store>(store: &S) {
    let (one, other) = (Fixture::new(), Fixture::new());
    let contact = one.other_contact();
    let mut erased = begun(store, &contact).await;
    let seen = begun(store, &one).await;
    let mut pointer = one.other_contact().conversation(1);
    pointer.redirect_to(&seen.id);
    pointer.rev = 1;
    assert_written(store.update_conversation(&pointer, &[])).await;
    erased.begin_erasure(at(1));
    updated(store, &mut erased).await;
    let tenant = &one.bound.tenant.id;
    let list = async || {
        let found = list_unlisted(store, tenant, LIMIT).await;
        let mut ids: Vec<_> = found.into_iter().map(|found| found.id.to_string()).collect();
        ids.sort_unstable();
        ids
    };
    let mut expected = vec![pointer.id.to_string(), erased.id.to_string()];
    expected.sort_unstable();
    assert_eq!(
        eventually(INDEX, list, |found| *found == expected).await,
        expected
    );
    assert_eq!(list_unlisted(store, tenant, 1).await.len(), 1);
    let theirs = &other.bound.tenant.id;
    assert!(list_unlisted(store, theirs, LIMIT).await.is_empty());
    assert_written(store.delete_part_of(&pointer, DeletedPart::Record)).await;
    assert_written(store.delete_part_of(&erased, DeletedPart::Record)).await;
    assert!(eventually(INDEX, list, Vec::is_empty).await.is_empty());
}
