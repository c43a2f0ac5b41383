//! What an erasure finds and takes away.

use super::given::{client_key, erase_deliveries, find_held, with_reply};
use super::patience::{INDEX, eventually};
use crate::builders::{BASE, Fixture, accepted, at, claimed, far_ahead, fresh, identity_key, long_ago};
use crate::ports::succeed;
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::{EventId, InstanceId};
use recado_domain::instance::Echo;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};
use recado_ports::ports::{CommitOutcome, DeliveryLink, EventChange, EventOwners, NoteChange, Store};
use recado_ports::records::client_keys::delete_client_key;
use recado_ports::records::scheduled_messages::{find_scheduled, list_pending_scheduled, put_scheduled};
use recado_ports::table::write_record;
use std::collections::BTreeSet;

async fn pending<S: Store>(store: &S, groups: &BTreeSet<String>, expected: &[EventId]) {
    let found = async || {
        let found = succeed(store.list_pending_events(EventOwners::Groups(groups))).await;
        found
            .into_iter()
            .map(|record| record.job.event)
            .collect::<BTreeSet<_>>()
    };
    let expected: BTreeSet<EventId> = expected.iter().cloned().collect();
    assert_eq!(
        eventually(INDEX, found, |found| *found == expected).await,
        expected
    );
}

pub async fn pending_events_are_found_by_their_group_until_they_are_settled<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (one, two, other) = (fixture.job(), fixture.job(), fixture.other_contact().job());
    for job in [&one, &two, &other] {
        succeed(store.record_event(job)).await;
    }
    let groups = BTreeSet::from([one.group.clone()]);
    pending(store, &groups, &[one.event.clone(), two.event.clone()]).await;
    let both = BTreeSet::from([one.group.clone(), other.group.clone()]);
    pending(
        store,
        &both,
        &[one.event.clone(), two.event.clone(), other.event.clone()],
    )
    .await;
    succeed(store.change_event(
        &one.event,
        EventChange::Apply {
            at: at(1),
            expires: far_ahead(),
        },
    ))
    .await;
    pending(store, &groups, &[two.event]).await;
    pending(store, &BTreeSet::new(), &[]).await;
    let record = succeed(store.find_event(&one.event)).await.unwrap();
    let text = serde_json::to_string(&record).unwrap();
    assert!(!text.contains("Bom dia"), "its body is gone: {text}");
}

pub async fn pending_scheduled_messages_are_found_by_their_instance<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let id = fresh("s").replace("s-", "");
    let scheduled = ScheduledMessage {
        id: ScheduledId::parse(&format!("s_{id}{id}")).unwrap(),
        tenant: fixture.bound.tenant.id.clone(),
        instance: fixture.instance().clone(),
        to: fixture.address.clone(),
        content: recado_domain::content::Content::from_text("Até amanhã"),
        options: recado_domain::options::SendOptions::default(),
        metadata: None,
        send_at: far_ahead(),
        created_at: BASE,
        correlation: crate::builders::correlation(),
        by: None,
        idempotency_key: None,
        invitation: None,
        reminds_of: None,
        restored_from: None,
        state: ScheduledState::Pending,
    };
    let put = succeed(put_scheduled(store, &scheduled, &[])).await;
    assert_eq!(put, CommitOutcome::Committed);
    let list = async |instance: &InstanceId| {
        let found = succeed(list_pending_scheduled(store, &scheduled.tenant, instance)).await;
        let records = found.into_iter().map(|found| found.record);
        records.collect::<Vec<ScheduledMessage>>()
    };
    assert_eq!(list(fixture.instance()).await, std::slice::from_ref(&scheduled));
    let elsewhere = Fixture::new();
    assert!(list(elsewhere.instance()).await.is_empty());
    let found = succeed(find_scheduled(store, &scheduled.tenant, &scheduled.id)).await;
    let mut cancelled = found.unwrap();
    cancelled.record.cancel_pending(far_ahead(), None).unwrap();
    super::given::assert_written(write_record(store, &mut cancelled)).await;
    assert!(list(fixture.instance()).await.is_empty());
}

pub async fn erased_deliveries_are_gone_and_others_stay<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let keys = [(); 3].map(|()| {
        let provider = fixture.bound.instance.provider;
        DeliveryKey::from_provider_id(provider, &fixture.external(), &fresh("wa"))
    });
    for key in &keys[..2] {
        let update = StatusUpdate {
            key: key.clone(),
            status: DeliveryStatus::Read,
            at: at(1),
            provider_message_id: None,
            detail: None,
        };
        succeed(store.record_status(&update, far_ahead(), None)).await;
    }
    let [gone, stays, absent] = keys;
    for _ in 0..2 {
        erase_deliveries(store, &[gone.clone(), absent.clone()], far_ahead()).await;
        let erased = succeed(store.find_delivery(&gone)).await;
        assert_eq!(erased, Some(Delivery::of_erased_message()));
        assert!(succeed(store.find_delivery(&stays)).await.is_some());
    }
}

pub async fn a_status_of_an_erased_delivery_is_ignored_until_its_note_expires<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let provider = fixture.bound.instance.provider;
    let status = |status, second: i64| {
        let key = DeliveryKey::from_provider_id(provider, &fixture.external(), "wa-1");
        StatusUpdate {
            key,
            status,
            at: at(second),
            provider_message_id: Some("wamid-1".to_owned()),
            detail: None,
        }
    };
    let first = status(DeliveryStatus::Sent, 1);
    succeed(store.record_status(&first, far_ahead(), None)).await;
    erase_deliveries(store, std::slice::from_ref(&first.key), far_ahead()).await;
    for late in [
        first.clone(),
        status(DeliveryStatus::Read, 2),
        status(DeliveryStatus::Failed, 3),
    ] {
        succeed(store.record_status(&late, far_ahead(), None)).await;
        let erased = succeed(store.find_delivery(&late.key)).await;
        assert_eq!(erased, Some(Delivery::of_erased_message()));
        assert_eq!(succeed(store.find_deliveries(&[late.key])).await, [None]);
    }
    erase_deliveries(store, std::slice::from_ref(&first.key), long_ago()).await;
    succeed(store.record_status(&status(DeliveryStatus::Read, 4), far_ahead(), None)).await;
    let found = succeed(store.find_delivery(&first.key)).await.unwrap();
    assert_eq!(
        (found.status, found.times.at_sent),
        (Some(DeliveryStatus::Read), None)
    );
}

pub async fn what_was_sent_is_known_by_its_key_also_after_its_erasure<S: Store>(store: &S) {
    let (fixture, _, reply) = with_reply(store).await;
    let (provider, external) = (fixture.bound.instance.provider, fixture.external());
    let (sending, flight) = claimed(&reply);
    let sent = accepted(&sending);
    let link = DeliveryLink {
        key: DeliveryKey::from_provider_id(provider, &external, &fresh("wa")),
        expires: far_ahead(),
        provider_message_id: sent.provider_message_id.clone(),
        provider_key: None,
        acknowledgement: None,
    };
    let told = StatusUpdate {
        key: DeliveryKey::from_provider_id(provider, &external, &fresh("wa")),
        status: DeliveryStatus::Read,
        at: at(1),
        provider_message_id: None,
        detail: None,
    };
    succeed(store.record_status(&told, far_ahead(), None)).await;
    let is_sent = async |key: &DeliveryKey| {
        let found = succeed(store.find_delivery(key)).await;
        found.is_some_and(|delivery| delivery.is_of_sent_message())
    };
    assert!(!is_sent(&told.key).await, "of a message that nobody knows");
    assert!(!is_sent(&link.key).await);
    super::given::claim(store, &sending, &flight).await;
    super::given::assert_written(store.settle_message(&sent, Some(&flight), Some(&link), None)).await;
    assert!(is_sent(&link.key).await);
    erase_deliveries(store, std::slice::from_ref(&link.key), far_ahead()).await;
    assert!(is_sent(&link.key).await);
    erase_deliveries(store, std::slice::from_ref(&link.key), long_ago()).await;
    assert!(!is_sent(&link.key).await, "the note has expired");
}

pub async fn a_deleted_idempotency_key_can_be_used_again<S: Store>(store: &S) {
    let (fixture, conversation, _) = with_reply(store).await;
    let key = client_key(&fixture, &fresh("scope"), "order-7", far_ahead());
    let tenant = &fixture.bound.tenant.id;
    let mut conversation = conversation;
    for _ in 0..2 {
        succeed(delete_client_key(store, tenant, &key.scope, &key.key)).await;
        assert_eq!(find_held(store, &key).await, None);
        let message = fixture.answer(&mut conversation);
        super::given::committed_once(store, &conversation, &message, &key).await;
    }
}

/// A hanging send may go out after the erasure. Without the note its echo is stored as typed on the phone.
pub async fn an_erased_note_of_an_in_flight_send_takes_its_place_only_while_it_is_there<S: Store>(store: &S) {
    let (fixture, _, reply) = with_reply(store).await;
    let (sending, flight) = claimed(&reply);
    let instance = fixture.instance();
    let notes = async || succeed(store.list_in_flight(instance)).await;
    let threads = [reply.conversation.thread_id().clone()];
    let erased = flight.clone().erase_recipient(&identity_key(), &threads);
    succeed(store.change_in_flight(instance, &erased, NoteChange::Replace)).await;
    assert!(notes().await.is_empty(), "no note is made");
    super::given::claim(store, &sending, &flight).await;
    for _ in 0..2 {
        succeed(store.change_in_flight(instance, &erased, NoteChange::Replace)).await;
        assert_eq!(notes().await, std::slice::from_ref(&erased));
    }
    assert!(succeed(store.change_in_flight(instance, &erased, NoteChange::Echo("hash", Echo::Sure))).await);
    assert_eq!(notes().await[0].echo.as_deref(), Some("hash"));
    let sent = accepted(&sending);
    super::given::assert_written(store.settle_message(&sent, Some(&flight), None, None)).await;
    succeed(store.change_in_flight(instance, &erased, NoteChange::Replace)).await;
    assert!(notes().await.is_empty());
    succeed(store.overwrite_deleted()).await;
}
