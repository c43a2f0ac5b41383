//! What is read for one tenant is that tenant's alone.

use super::given::{begun, claim, received, replied};
use super::patience::{CONFIGURATION, INDEX, eventually};
use crate::builders::{Fixture, claimed, fresh, newest, nonce};
use crate::ports::succeed;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::{DEFAULT_PATIENCE, ParkedConversation};
use recado_ports::ports::{ConversationFilter, CorrelatedRecords, OpenWork, PageRequest, Store};
use recado_ports::records::configuration::{load_configuration, put_configuration};
use recado_ports::records::dead_letters::{
    DeadLetterFilter, count_dead_letters, list_dead_letters, put_dead_letter,
};

/// More pages than any list here has.
const PAGES_MAX: usize = 100;

/// A second instance, contact and agent of the same tenant.
fn beside(fixture: &Fixture) -> Fixture {
    let mut other = Fixture::new();
    other.bound.tenant = fixture.bound.tenant.clone();
    other.bound.instance.tenant = fixture.bound.tenant.id.clone();
    other.bound.agent.tenant = fixture.bound.tenant.id.clone();
    other
}

fn tenant(fixture: &Fixture) -> &TenantId {
    &fixture.bound.tenant.id
}

/// Two tenants, the first with two instances; all configured.
async fn two_tenants<S: Store>(store: &S) -> (Fixture, Fixture, Fixture) {
    let one = Fixture::new();
    let (same, other) = (beside(&one), Fixture::new());
    for fixture in [&one, &same, &other] {
        succeed(put_configuration(store, &fixture.document())).await;
    }
    (one, same, other)
}

pub async fn conversations_are_listed_by_tenant<S: Store>(store: &S) {
    let (one, same, other) = two_tenants(store).await;
    let mut expected = Vec::new();
    for fixture in [&one, &other, &same, &other, &one] {
        let contact = fixture.other_contact();
        let conversation = begun(store, &contact).await;
        if conversation.tenant == *tenant(&one) {
            expected.push(conversation.id.to_string());
        }
    }
    expected.sort_unstable();
    for limit in [1, 2, 50] {
        let read = async || {
            let (mut ids, mut cursor) = (Vec::new(), None);
            for _ in 0..PAGES_MAX {
                let filter = ConversationFilter {
                    tenant: Some(tenant(&one).clone()),
                    ..ConversationFilter::default()
                };
                let page = succeed(store.search_conversations(&filter, &PageRequest { limit, cursor })).await;
                assert!(page.items.iter().all(|found| found.tenant == *tenant(&one)));
                ids.extend(page.items.into_iter().map(|found| found.id.to_string()));
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            ids.sort_unstable();
            ids
        };
        let found = eventually(INDEX, read, |found| *found == expected).await;
        assert_eq!(found, expected, "by {limit}");
    }
    // Another tenant's instance in the filter changes nothing.
    let both = ConversationFilter {
        tenant: Some(tenant(&one).clone()),
        instance: Some(other.instance().clone()),
        ..ConversationFilter::default()
    };
    let page = PageRequest::first(10);
    assert!(
        succeed(store.search_conversations(&both, &page))
            .await
            .items
            .is_empty()
    );
}

/// A dead letter of each fixture, and one of nobody.
async fn put_letters<S: Store>(store: &S, fixtures: &[&Fixture]) -> Vec<DeadLetter> {
    let mut dead_letters: Vec<DeadLetter> = fixtures.iter().map(|fixture| fixture.dead_letter()).collect();
    dead_letters.push(DeadLetter {
        tenant: None,
        instance: None,
        ..Fixture::new().dead_letter()
    });
    for dead_letter in &dead_letters {
        succeed(put_dead_letter(store, dead_letter)).await;
    }
    dead_letters
}

pub async fn dead_letters_are_listed_and_counted_by_tenant<S: Store>(store: &S) {
    let (one, same, other) = two_tenants(store).await;
    put_letters(store, &[&one, &same, &other, &other]).await;
    let filter = DeadLetterFilter {
        tenant: Some(tenant(&one).clone()),
        ..DeadLetterFilter::default()
    };
    let read = async || {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = succeed(list_dead_letters(
                store,
                &filter,
                &PageRequest { limit: 1, cursor },
            ))
            .await;
            all.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        all
    };
    let found = eventually(INDEX, read, |found| found.len() == 2).await;
    let mut instances: Vec<InstanceId> = found.into_iter().filter_map(|letter| letter.instance).collect();
    let mut expected = vec![one.instance().clone(), same.instance().clone()];
    instances.sort_unstable();
    expected.sort_unstable();
    assert_eq!(instances, expected);
    let counts = async || succeed(count_dead_letters(store, Some(tenant(&one)))).await;
    let counts = eventually(INDEX, counts, |counts| counts.count_of(None) == 2).await;
    assert_eq!(
        (counts.count_of(None), counts.count_of(Some(one.instance()))),
        (2, 1)
    );
    assert_eq!(counts.count_of(Some(other.instance())), 0);
}

pub async fn dead_letters_of_an_instance_are_found_without_its_tenant<S: Store>(store: &S) {
    let (one, same, other) = two_tenants(store).await;
    let letters = put_letters(store, &[&one, &same, &other]).await;
    for (fixture, letter) in [&one, &same, &other].into_iter().zip(&letters) {
        let filter = DeadLetterFilter {
            instance: Some(fixture.instance().clone()),
            ..DeadLetterFilter::default()
        };
        let page = PageRequest::first(10);
        let read = async || succeed(list_dead_letters(store, &filter, &page)).await.items;
        let expected = vec![letter.clone()];
        let found = eventually(INDEX, read, |found| *found == expected).await;
        assert_eq!(found, expected);
        let of_other = DeadLetterFilter {
            tenant: Some(
                tenant(if fixture.instance() == other.instance() {
                    &one
                } else {
                    &other
                })
                .clone(),
            ),
            ..filter.clone()
        };
        let found = succeed(list_dead_letters(store, &of_other, &page)).await;
        assert_eq!(found.items, [], "another tenant's list has none of them");
    }
}

pub async fn dead_letters_of_nobody_are_listed_apart<S: Store>(store: &S) {
    let (one, _, other) = two_tenants(store).await;
    let letters = put_letters(store, &[&one, &other]).await;
    let nobodys = letters.last().unwrap();
    let filter = DeadLetterFilter {
        of_nobody: true,
        ..DeadLetterFilter::default()
    };
    let read = async || {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = succeed(list_dead_letters(
                store,
                &filter,
                &PageRequest { limit: 50, cursor },
            ))
            .await;
            all.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        all
    };
    let found = eventually(INDEX, read, |found| found.contains(nobodys)).await;
    assert!(found.contains(nobodys));
    assert!(found.iter().all(|dead_letter| dead_letter.tenant.is_none()));
}

pub async fn a_configuration_is_read_by_tenant<S: Store>(store: &S) {
    let (one, same, _) = two_tenants(store).await;
    let mut expected = one.document().with_changes(&same.document());
    expected.agents.sort_by(|a, b| a.id.cmp(&b.id));
    expected.instances.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(
        succeed(load_configuration(store, Some(tenant(&one)))).await,
        expected
    );
    let nobody = TenantId::parse(&fresh("nobody")).unwrap();
    let none = succeed(load_configuration(store, Some(&nobody))).await;
    assert_eq!(none, recado_domain::config::ConfigDocument::default());
}

pub async fn open_work_is_told_by_instance<S: Store>(store: &S) {
    let (one, same, other) = two_tenants(store).await;
    for fixture in [&one, &same, &other] {
        let mut conversation = begun(store, fixture).await;
        let message = replied(store, fixture, &mut conversation).await;
        let (sending, flight) = claimed(&message);
        claim(store, &sending, &flight).await;
        let _ = succeed(store.record_event(&fixture.job())).await;
        let parked = ParkedConversation {
            instance: fixture.instance().clone(),
            conversation: conversation.id.clone(),
            version: nonce(),
            since: newest(),
            not_before: None,
            patience: DEFAULT_PATIENCE,
            reply: None,
        };
        succeed(store.put_parked(&parked)).await;
    }
    let own = [one.bound.instance.clone(), same.bound.instance.clone()];
    let whole =
        |open: &OpenWork| open.messages.len() == 2 && open.parked.len() == 2 && open.events.len() >= 2;
    let read = async || succeed(store.read_open_work(Some(&own), 1_000)).await;
    let open = eventually(INDEX, read, whole).await;
    assert!(whole(&open) && !open.at_least, "{open:?}");
    assert!(
        open.messages
            .iter()
            .all(|message| message.instance != *other.instance())
    );
    assert!(open.events.iter().all(|event| event.external != other.external()));
    assert!(!open.parked.contains(other.instance()));
    let none = succeed(store.read_open_work(Some(&[]), 1_000)).await;
    assert_eq!(none, OpenWork::default());
}

pub async fn a_limit_counts_the_wanted_instances_work_alone<S: Store>(store: &S) {
    let (one, _, other) = two_tenants(store).await;
    for _ in 0..20 {
        let _ = succeed(store.record_event(&other.job())).await;
    }
    let _ = succeed(store.record_event(&one.job())).await;
    let own = [one.bound.instance.clone()];
    let read = async || succeed(store.read_open_work(Some(&own), 8)).await;
    let open = eventually(INDEX, read, |open| open.events.len() == 1).await;
    assert_eq!((open.events.len(), open.at_least), (1, false));
}

pub async fn a_correlation_leads_to_one_tenants_records<S: Store>(store: &S) {
    let (one, _, other) = two_tenants(store).await;
    let correlation = one.job().correlation;
    let store_message = async |fixture: &Fixture| {
        let mut job = fixture.other_contact().job();
        job.correlation = correlation.clone();
        let contact = fixture.other_contact();
        received(store, &contact, &mut contact.conversation(1), &job).await
    };
    // The other tenant's come first, and are more than the limit.
    for _ in 0..7 {
        store_message(&other).await;
    }
    let own = store_message(&one).await;
    let whole = |found: &CorrelatedRecords| found.events.len() == 1 && found.messages.len() == 1;
    let read = async || succeed(store.find_by_correlation(&correlation, Some(tenant(&one)), 3)).await;
    let found = eventually(CONFIGURATION, read, whole).await;
    assert!(whole(&found), "{found:?}");
    assert_eq!(found.messages, [own]);
    assert_eq!(found.events[0].job.external, one.external());
}
