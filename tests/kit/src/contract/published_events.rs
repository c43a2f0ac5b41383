//! Published events: written with the change that they tell of, and read by a cursor.

use super::given::{assert_conflict, assert_written, begun, claim, received, replied, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, accepted, at, change_instance, claimed, far_ahead, fresh, seen};
use crate::ports::succeed;
use recado_domain::alert::{Alert, AlertSubject};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::{OccasionId, TenantId};
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_domain::moving::MovedPageChange;
use recado_domain::published_event::{EventCursor, PublishedEvent, PublishedKind};
use recado_ports::ports::{DeliveryLink, LogPlace, LoggedEvent, Store};
use recado_ports::records::alerts::{commit_alerts, list_live_alerts};
use recado_ports::records::configuration::put_configuration;
use recado_ports::records::occasions::mark_pages_changed;

/// Reads what was published of the tenant after a place, `limit` at a time.
async fn follow<S: Store>(
    store: &S,
    tenant: &TenantId,
    mut after: EventCursor,
    limit: usize,
) -> Vec<LoggedEvent> {
    let mut found = Vec::new();
    loop {
        let page = succeed(store.list_published_events(Some(tenant), LogPlace::After(after), limit)).await;
        assert!(page.events.len() <= limit);
        assert!(page.next >= after);
        after = page.next;
        if page.events.is_empty() {
            return found;
        }
        found.extend(page.events);
    }
}

/// Returns a place of the log.
async fn find_cursor<S: Store>(store: &S, place: LogPlace) -> EventCursor {
    succeed(store.list_published_events(None, place, 0)).await.next
}

/// Waits until so many events of the tenant are published, and returns them.
async fn published<S: Store>(store: &S, fixture: &Fixture, count: usize) -> Vec<PublishedEvent> {
    let tenant = &fixture.bound.tenant.id;
    let read = async || follow(store, tenant, EventCursor::START, 100).await;
    let found = eventually(INDEX, read, |found| found.len() >= count).await;
    found.into_iter().map(|logged| logged.event).collect()
}

fn kinds(events: &[PublishedEvent]) -> Vec<PublishedKind> {
    events.iter().map(|event| event.kind).collect()
}

pub async fn an_answered_message_is_published_step_by_step<S: Store>(store: &S) {
    use PublishedKind::{ConversationUpdated, MessageCreated, MessageStatus};
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let reply = replied(store, &fixture, &mut conversation).await;
    let (sending, flight) = claimed(&reply);
    claim(store, &sending, &flight).await;
    let sent = accepted(&sending);
    let key = DeliveryKey::from_own_id(
        fixture.bound.instance.provider,
        &fixture.external(),
        &sent.message_id(),
    );
    let link = DeliveryLink {
        key: key.clone(),
        provider_key: None,
        provider_message_id: None,
        expires: far_ahead(),
        acknowledgement: None,
    };
    assert_written(store.settle_message(&sent, Some(&flight), Some(&link), None)).await;
    let read = StatusUpdate {
        key,
        status: DeliveryStatus::Read,
        at: at(9_000),
        provider_message_id: None,
        detail: None,
    };
    succeed(store.record_status(&read, far_ahead(), None)).await;
    let events = published(store, &fixture, 5).await;
    let mut first = kinds(&events[..2]);
    first.sort_unstable();
    assert_eq!(
        first,
        [MessageCreated, ConversationUpdated],
        "of one write, in any order"
    );
    assert_eq!(
        kinds(&events[2..]),
        [MessageCreated, MessageStatus, MessageStatus]
    );
    let status = |event: &PublishedEvent| event.data.status.clone().unwrap();
    assert_eq!(
        events[2..].iter().map(status).collect::<Vec<_>>(),
        ["pending", "sent", "read"]
    );
    for event in &events[2..] {
        assert_eq!(event.message, Some(reply.message_id()));
        assert_eq!(event.conversation.as_ref(), Some(&conversation.id));
        assert_eq!(event.instance.as_ref(), Some(fixture.instance()));
    }
}

pub async fn a_reader_that_follows_next_sees_each_event_once_and_in_order<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    for _ in 0..4 {
        received(store, &fixture, &mut conversation, &fixture.job()).await;
    }
    let events = published(store, &fixture, 6).await;
    let tenant = &fixture.bound.tenant.id;
    for limit in [1, 2, 5, 100] {
        let found = follow(store, tenant, EventCursor::START, limit).await;
        assert!(found.is_sorted_by(|one, next| one.cursor < next.cursor));
        let found: Vec<PublishedEvent> = found.into_iter().map(|logged| logged.event).collect();
        assert_eq!(found, events, "by {limit}");
    }
    let created = events
        .iter()
        .filter(|event| event.kind == PublishedKind::MessageCreated);
    let ordinals = created.map(|event| {
        event
            .message
            .clone()
            .unwrap()
            .conversation_and_ordinal()
            .unwrap()
            .1
            .0
    });
    assert_eq!(ordinals.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let ids: std::collections::BTreeSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids.len(), events.len());
}

pub async fn what_comes_later_appears_behind_a_place_that_was_given_out<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let tenant = Some(&fixture.bound.tenant.id);
    let before = find_cursor(store, LogPlace::Newest).await;
    let empty = succeed(store.list_published_events(tenant, LogPlace::After(before), 10)).await;
    assert_eq!((empty.events, empty.next), (Vec::new(), before));
    begun(store, &fixture).await;
    let read = async || succeed(store.list_published_events(tenant, LogPlace::After(before), 10)).await;
    let page = eventually(INDEX, read, |page| page.events.len() == 2).await;
    assert_eq!(page.events.len(), 2);
    assert_eq!(page.next, page.events[1].cursor);
    // Others may publish meanwhile.
    let newest = find_cursor(store, LogPlace::Newest).await;
    assert!(newest >= page.next, "{newest:?} is before {:?}", page.next);
}

pub async fn the_place_before_a_time_leads_to_everything_since<S: Store>(store: &S) {
    let fixture = Fixture::new();
    begun(store, &fixture).await;
    published(store, &fixture, 2).await;
    let found = follow(store, &fixture.bound.tenant.id, EventCursor::START, 10).await;
    let before = find_cursor(store, LogPlace::Before(found[0].event.at)).await;
    assert!(before < found[0].cursor);
    let behind = find_cursor(store, LogPlace::Before(far_ahead())).await;
    let newest = find_cursor(store, LogPlace::Newest).await;
    assert!(found[1].cursor <= behind && behind <= newest);
}

pub async fn a_place_ahead_of_the_log_is_refused<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let ahead = EventCursor(i64::MAX.unsigned_abs());
    let refused = store
        .list_published_events(Some(&fixture.bound.tenant.id), LogPlace::After(ahead), 10)
        .await;
    assert!(refused.is_err_and(|error| !error.is_retryable()));
}

pub async fn a_write_that_lost_publishes_nothing<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut late = conversation.clone();
    conversation.take_over();
    updated(store, &mut conversation).await;
    late.resolve_if_seen(late.last_inbound).unwrap();
    late.rev += 1;
    assert_conflict(store.update_conversation(&late, &[])).await;
    // The next event shows that the one before did not only come late.
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    let events = published(store, &fixture, 5).await;
    let modes = events.iter().filter_map(|event| event.data.conversation_status);
    assert!(
        modes
            .into_iter()
            .all(|status| status == recado_domain::conversation::ConversationStatus::Active)
    );
    assert!(
        kinds(&events).contains(&PublishedKind::ConversationWaiting),
        "{events:?}"
    );
}

pub async fn events_of_tenants_do_not_mix<S: Store>(store: &S) {
    let (one, other) = (Fixture::new(), Fixture::new());
    begun(store, &one).await;
    begun(store, &other).await;
    for fixture in [&one, &other] {
        let events = published(store, fixture, 2).await;
        let tenant = Some(&fixture.bound.tenant.id);
        assert!(events.len() == 2 && events.iter().all(|event| event.tenant.as_ref() == tenant));
    }
}

pub async fn another_connection_of_an_instance_is_published<S: Store>(store: &S) {
    let fixture = Fixture::new();
    succeed(put_configuration(store, &fixture.document())).await;
    for status in [
        ConnectionStatus::Closed,
        ConnectionStatus::Closed,
        ConnectionStatus::Open,
    ] {
        let change = InstanceChange::Connection(seen(status, at(1), None));
        change_instance(store, fixture.instance(), change).await;
    }
    let events = published(store, &fixture, 2).await;
    let told = events.iter().map(|event| event.data.connection.unwrap());
    assert_eq!(
        told.collect::<Vec<_>>(),
        [ConnectionStatus::Closed, ConnectionStatus::Open]
    );
}

pub async fn pages_that_must_be_made_anew_are_published_once_for_each_later_time<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (tenant, occasion) = (&fixture.bound.tenant.id, OccasionId::parse("party").unwrap());
    for since in [at(1_000), at(500), at(1_000), at(2_000)] {
        let change = MovedPageChange {
            tenant: tenant.clone(),
            occasion: occasion.clone(),
            at: since,
            expires: far_ahead(),
        };
        succeed(mark_pages_changed(store, &change)).await;
    }
    let events = published(store, &fixture, 2).await;
    let told = events
        .iter()
        .map(|event| (event.kind, event.data.occasion.as_ref(), event.data.since));
    let expected =
        [at(1_000), at(2_000)].map(|since| (PublishedKind::LandingInvalidated, Some(&occasion), Some(since)));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

pub async fn an_alert_is_published_when_it_begins_and_when_it_ends<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut alert = Alert::for_test(at(1_000));
    alert.id = fresh("alert");
    alert.subject = AlertSubject {
        tenant: Some(fixture.bound.tenant.id.clone()),
        instance: Some(fixture.instance().clone()),
        conversation: None,
    };
    assert_written(commit_alerts(store, &[], &[alert.clone()], &[])).await;
    let live = succeed(list_live_alerts(store, Some(&fixture.bound.tenant.id), 10)).await;
    alert.ended_at = Some(at(2_000));
    assert_written(commit_alerts(store, &live, &[alert], &[])).await;
    let events = published(store, &fixture, 2).await;
    assert_eq!(
        kinds(&events),
        [PublishedKind::AlertFired, PublishedKind::AlertEnded]
    );
}
