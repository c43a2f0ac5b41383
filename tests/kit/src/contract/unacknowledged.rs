//! Messages that a provider accepted and WhatsApp did not acknowledge.

use super::given::{assert_written, begun, claim, erase_deliveries, replied};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, accepted, at, claimed, far_ahead, fresh};
use crate::ports::succeed;
use recado_domain::delivery::{AwaitedAcknowledgement, DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::MessageId;
use recado_domain::provider::Provider;
use recado_ports::ports::{DeliveryChange, DeliveryLink, PageRequest, Store, UnacknowledgedFilter};

/// Time at which the acknowledgement of the cases' messages is missing, in minutes.
const DUE: i64 = 10;

/// A message that the provider accepted.
struct Accepted {
    id: MessageId,
    key: DeliveryKey,
}

/// Sends a reply to another contact of the fixture, which the provider accepts. `says_first`: a status comes before the link.
async fn accept<S: Store>(store: &S, fixture: &Fixture, minutes: i64, says_first: bool) -> Accepted {
    let contact = fixture.other_contact();
    let mut conversation = begun(store, &contact).await;
    let reply = replied(store, &contact, &mut conversation).await;
    let (sending, flight) = claimed(&reply);
    claim(store, &sending, &flight).await;
    let sent = accepted(&sending);
    let provider_message_id = fresh("P");
    let key = DeliveryKey::from_provider_id(Provider::Evolution, &fixture.external(), &provider_message_id);
    let due = at((DUE + minutes) * 60_000);
    let link = DeliveryLink {
        key: key.clone(),
        provider_key: None,
        provider_message_id: Some(provider_message_id),
        expires: far_ahead(),
        acknowledgement: Some(AwaitedAcknowledgement {
            tenant: fixture.bound.tenant.id.clone(),
            instance: fixture.instance().clone(),
            accepted_at: at(minutes * 60_000),
            due,
        }),
    };
    if says_first {
        acknowledge(store, &key).await;
    }
    assert_written(store.settle_message(&sent, Some(&flight), Some(&link), None)).await;
    Accepted {
        id: sent.message_id(),
        key,
    }
}

async fn acknowledge<S: Store>(store: &S, key: &DeliveryKey) {
    let update = StatusUpdate {
        key: key.clone(),
        status: DeliveryStatus::Sent,
        at: at(7),
        provider_message_id: None,
        detail: None,
    };
    succeed(store.record_status(&update, far_ahead(), None)).await;
}

/// The messages that are listed at a time, page by page.
async fn listed<S: Store>(
    store: &S,
    filter: &UnacknowledgedFilter,
    minutes: i64,
    limit: usize,
) -> Vec<MessageId> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..100 {
        let page = PageRequest { limit, cursor };
        let page = succeed(store.list_unacknowledged(filter, at(minutes * 60_000), &page)).await;
        assert!(page.items.len() <= limit);
        all.extend(page.items.into_iter().map(|item| item.message));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

fn of_tenant(fixture: &Fixture) -> UnacknowledgedFilter {
    UnacknowledgedFilter {
        tenant: Some(fixture.bound.tenant.id.clone()),
        ..UnacknowledgedFilter::default()
    }
}

async fn expect<S: Store>(store: &S, filter: &UnacknowledgedFilter, minutes: i64, expected: &[&Accepted]) {
    let expected: Vec<MessageId> = expected.iter().map(|one| one.id.clone()).collect();
    let read = async || listed(store, filter, minutes, 50).await;
    let found = eventually(INDEX, read, |found| *found == expected).await;
    assert_eq!(found, expected, "at {minutes} minutes");
}

pub async fn what_is_not_acknowledged_in_time_is_listed_by_tenant_until_a_status_comes<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let later = accept(store, &fixture, 1, false).await;
    let first = accept(store, &fixture, 0, false).await;
    let theirs = accept(store, &other, 0, false).await;
    expect(store, &of_tenant(&fixture), DUE, &[&first]).await;
    expect(store, &of_tenant(&fixture), DUE + 1, &[&first, &later]).await;
    assert_eq!(listed(store, &of_tenant(&fixture), DUE - 1, 50).await, []);
    expect(store, &of_tenant(&other), DUE + 1, &[&theirs]).await;
    let of_instance = |fixture: &Fixture, tenant: &Fixture| UnacknowledgedFilter {
        instance: Some(fixture.instance().clone()),
        ..of_tenant(tenant)
    };
    expect(store, &of_instance(&fixture, &fixture), DUE, &[&first]).await;
    expect(store, &of_instance(&other, &fixture), DUE, &[]).await;
    let due_from = |minutes: i64| UnacknowledgedFilter {
        due_from: Some(at(minutes * 60_000)),
        ..of_tenant(&fixture)
    };
    expect(store, &due_from(DUE), DUE + 1, &[&first, &later]).await;
    expect(store, &due_from(DUE + 1), DUE + 1, &[&later]).await;
    expect(store, &due_from(DUE + 2), DUE + 3, &[]).await;
    succeed(store.change_deliveries(std::slice::from_ref(&first.key), DeliveryChange::StopAwaiting)).await;
    expect(store, &of_tenant(&fixture), DUE + 1, &[&later]).await;
    acknowledge(store, &first.key).await;
    let delivery = succeed(store.find_delivery(&first.key)).await.unwrap();
    assert_eq!(
        (delivery.message, delivery.status),
        (Some(first.id), Some(DeliveryStatus::Sent))
    );
    succeed(store.change_deliveries(std::slice::from_ref(&first.key), DeliveryChange::StopAwaiting)).await;
    expect(store, &of_tenant(&fixture), DUE + 1, &[&later]).await;
    erase_deliveries(store, std::slice::from_ref(&later.key), far_ahead()).await;
    expect(store, &of_tenant(&fixture), DUE + 1, &[]).await;
    expect(store, &of_tenant(&other), DUE + 1, &[&theirs]).await;
}

pub async fn a_status_before_the_link_is_the_acknowledgement<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let known = accept(store, &fixture, 0, true).await;
    let missing = accept(store, &fixture, 0, false).await;
    expect(store, &of_tenant(&fixture), DUE, &[&missing]).await;
    let delivery = succeed(store.find_delivery(&known.key)).await.unwrap();
    assert_eq!(delivery.message, Some(known.id));
    assert_eq!(delivery.status, Some(DeliveryStatus::Sent));
}

pub async fn pages_of_what_is_not_acknowledged_have_no_gap_and_no_repetition<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut expected = Vec::new();
    for minutes in 0..5 {
        expected.push(accept(store, &fixture, minutes / 2, false).await.id);
    }
    expected.sort();
    for limit in [1, 2, 5, 50] {
        let read = async || {
            let mut found = listed(store, &of_tenant(&fixture), DUE + 9, limit).await;
            found.sort();
            found
        };
        let found = eventually(INDEX, read, |found| *found == expected).await;
        assert_eq!(found, expected, "{limit} on a page");
    }
}

pub async fn a_cursor_leads_to_no_other_tenants_messages<S: Store>(store: &S) {
    let (one, other) = (Fixture::new(), Fixture::new());
    let mut pairs = Vec::new();
    for fixture in [&one, &other] {
        let first = accept(store, fixture, 0, false).await;
        let second = accept(store, fixture, 1, false).await;
        expect(store, &of_tenant(fixture), DUE + 1, &[&first, &second]).await;
        let page = PageRequest::first(1);
        let now = at((DUE + 1) * 60_000);
        let found = succeed(store.list_unacknowledged(&of_tenant(fixture), now, &page)).await;
        pairs.push((fixture, found.next_cursor));
    }
    for (fixture, (stranger, cursor)) in pairs.iter().map(|(fixture, _)| *fixture).zip(pairs.iter().rev()) {
        let page = PageRequest {
            limit: 50,
            cursor: cursor.clone(),
        };
        let now = at((DUE + 1) * 60_000);
        // It may be refused as no cursor.
        let Ok(found) = store.list_unacknowledged(&of_tenant(fixture), now, &page).await else {
            continue;
        };
        let mut items = found.items.iter();
        assert!(items.all(|item| item.awaited.tenant != stranger.bound.tenant.id));
    }
}

pub async fn missing_acknowledgements_are_counted_by_instance<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    for minutes in [1, 2] {
        accept(store, &fixture, minutes, false).await;
    }
    let acknowledged = accept(store, &other, 1, false).await;
    let counted = async |from: i64, before: i64| {
        let range = (at(from * 60_000), at(before * 60_000));
        let found = succeed(store.count_unacknowledged(range, 10_000)).await;
        let count = |fixture: &Fixture| {
            let mut of = found.instances.iter();
            let found = of.find(|one| one.instance == *fixture.instance());
            found.map(|found| (found.tenant.clone(), found.count, found.since))
        };
        (count(&fixture), count(&other))
    };
    let ours = |count, minutes: i64| Some((fixture.bound.tenant.id.clone(), count, at(minutes * 60_000)));
    let theirs = Some((other.bound.tenant.id.clone(), 1, at(60_000)));
    for (from, before, expected) in [
        (0, DUE + 2, (ours(2, 1), theirs.clone())),
        (0, DUE + 1, (ours(1, 1), theirs)),
        (DUE + 1, DUE + 2, (ours(1, 2), None)),
    ] {
        let found = eventually(
            INDEX,
            async || counted(from, before).await,
            |found| *found == expected,
        );
        assert_eq!(found.await, expected, "from {from} to {before}");
    }
    acknowledge(store, &acknowledged.key).await;
    let gone = async || counted(0, DUE + 2).await.1;
    assert_eq!(eventually(INDEX, gone, Option::is_none).await, None);
}
