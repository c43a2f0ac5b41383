//! The audit: entries are appended and listed, and nothing else.

use super::patience::{INDEX, eventually};
use crate::builders::{at, far_ahead, fresh, long_ago};
use crate::ports::succeed;
use recado_domain::access::{Caller, Scope, TokenRole};
use recado_domain::audit::{AuditAction, AuditEntry, NOT_KEPT};
use recado_domain::ids::{CorrelationId, Nonce, TenantId, TokenName};
use recado_ports::ports::{PageRequest, Store};
use recado_ports::records::audit::{AuditFilter, append_audit, list_audit};

/// More pages than any list here has.
const PAGES_MAX: usize = 1000;

fn tenant() -> TenantId {
    TenantId::parse(&fresh("tenant")).unwrap()
}

fn entry(tenant: Option<&TenantId>, actor: &str, action: AuditAction, second: i64) -> AuditEntry {
    let caller = Caller {
        name: TokenName::parse(actor).unwrap(),
        role: TokenRole::Operator,
        scope: Scope::from_tenant(tenant.cloned()),
        request: Some(CorrelationId::parse(&fresh("request")).unwrap()),
    };
    let done = action.on_object(tenant, "conversation", fresh("c"));
    let id = Nonce::parse(&fresh("entry")).unwrap();
    AuditEntry::of_caller(id, at(second), &caller, done.with_change("ai", "manual"))
}

fn of_tenant(tenant: &TenantId) -> AuditFilter {
    AuditFilter {
        tenant: Some(tenant.clone()),
        ..AuditFilter::default()
    }
}

async fn list<S: Store>(store: &S, filter: &AuditFilter, limit: usize) -> Vec<AuditEntry> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = succeed(list_audit(store, filter, &PageRequest { limit, cursor })).await;
        assert!(page.items.len() <= limit, "a page holds at most {limit}");
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

async fn assert_listed<S: Store>(store: &S, filter: &AuditFilter, limit: usize, expected: &[AuditEntry]) {
    let found = async || list(store, filter, limit).await;
    let found = eventually(INDEX, found, |found| found == expected).await;
    assert_eq!(found, expected, "{filter:?} by {limit}");
}

pub async fn entries_come_back_as_they_were_appended_the_newest_first_by_pages<S: Store>(store: &S) {
    let tenant = tenant();
    let mut entries: Vec<AuditEntry> = [3, 1, 4, 1, 5, 9, 2, 6]
        .map(|second| entry(Some(&tenant), "ana", AuditAction::ConversationTakenOver, second))
        .to_vec();
    succeed(append_audit(store, &entries[..5], far_ahead())).await;
    succeed(append_audit(store, &entries[5..], far_ahead())).await;
    entries.sort_by(|a, b| (b.at, b.id.as_str()).cmp(&(a.at, a.id.as_str())));
    for limit in [1, 2, 3, 8, 50] {
        assert_listed(store, &of_tenant(&tenant), limit, &entries).await;
    }
    succeed(append_audit(store, &[], far_ahead())).await;
}

pub async fn a_stored_entry_is_never_replaced<S: Store>(store: &S) {
    let tenant = tenant();
    let first = entry(Some(&tenant), "ana", AuditAction::TokenCreated, 1);
    succeed(append_audit(store, std::slice::from_ref(&first), far_ahead())).await;
    let forged = AuditEntry {
        actor: TokenName::parse("bia").unwrap(),
        after: None,
        ..first.clone()
    };
    let beside = entry(Some(&tenant), "ana", AuditAction::TokenRevoked, 2);
    succeed(append_audit(store, &[forged, beside.clone()], far_ahead())).await;
    assert_listed(store, &of_tenant(&tenant), 10, &[beside, first]).await;
}

pub async fn any_number_of_entries_is_appended_at_once<S: Store>(store: &S) {
    let tenant = tenant();
    let make = |second| entry(Some(&tenant), "ana", AuditAction::ContactErased, second);
    let mut entries: Vec<AuditEntry> = (0..130).map(make).collect();
    for _ in 0..2 {
        succeed(append_audit(store, &entries, far_ahead())).await;
    }
    entries.reverse();
    assert_listed(store, &of_tenant(&tenant), 50, &entries).await;
}

pub async fn a_list_holds_what_its_filter_names<S: Store>(store: &S) {
    let tenant = tenant();
    let (taken, resolved) = (
        AuditAction::ConversationTakenOver,
        AuditAction::ConversationResolved,
    );
    let entries = [
        entry(Some(&tenant), "bia", resolved, 40),
        entry(Some(&tenant), "ana", resolved, 30),
        entry(Some(&tenant), "bia", taken, 20),
        entry(Some(&tenant), "ana", taken, 10),
    ];
    succeed(append_audit(store, &entries, far_ahead())).await;
    let filter = |actor: Option<&str>, action, since: Option<i64>, until: Option<i64>| AuditFilter {
        tenant: Some(tenant.clone()),
        actor: actor.map(|name| TokenName::parse(name).unwrap()),
        action,
        since: since.map(at),
        until: until.map(at),
    };
    for (filter, expected) in [
        (filter(Some("ana"), None, None, None), vec![1, 3]),
        (filter(None, Some(taken), None, None), vec![2, 3]),
        (filter(None, None, Some(20), Some(40)), vec![1, 2]),
        (filter(None, None, Some(41), None), vec![]),
        (filter(None, None, None, Some(10)), vec![]),
        (filter(None, None, Some(30), Some(20)), vec![]),
        (filter(Some("ana"), Some(resolved), None, None), vec![1]),
    ] {
        let expected: Vec<AuditEntry> = expected.into_iter().map(|n: usize| entries[n].clone()).collect();
        for limit in [1, 10] {
            assert_listed(store, &filter, limit, &expected).await;
        }
    }
}

pub async fn a_tenants_list_holds_no_entry_of_another_or_of_nobody<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    // One tenant's id begins as the other's does.
    let longer = TenantId::parse(&format!("{one}-2")).unwrap();
    let actor = fresh("actor");
    let make = |tenant, second| entry(tenant, &actor, AuditAction::ContactErased, second);
    let [first, second] = [make(Some(&one), 1), make(Some(&one), 3)];
    let others = [make(Some(&other), 2), make(Some(&longer), 2), make(None, 2)];
    succeed(append_audit(store, &[first.clone(), second.clone()], far_ahead())).await;
    succeed(append_audit(store, &others, far_ahead())).await;
    for limit in [1, 10] {
        assert_listed(store, &of_tenant(&one), limit, &[second.clone(), first.clone()]).await;
    }
    let everybodys = AuditFilter {
        actor: Some(TokenName::parse(&actor).unwrap()),
        ..AuditFilter::default()
    };
    for limit in [2, 10] {
        let found = async || list(store, &everybodys, limit).await;
        let found = eventually(INDEX, found, |found| found.len() == 5).await;
        assert_eq!(found.len(), 5);
        assert_eq!((&found[0], &found[4]), (&second, &first));
        assert!(others.iter().all(|entry| found.contains(entry)));
    }
    // A cursor of one tenant's list is no way into another's.
    let page = PageRequest::first(1);
    let cursor = succeed(list_audit(store, &of_tenant(&one), &page))
        .await
        .next_cursor;
    let page = PageRequest { limit: 10, cursor };
    let found = succeed(list_audit(store, &of_tenant(&other), &page)).await;
    assert!(
        found
            .items
            .iter()
            .all(|entry| entry.tenant.as_ref() == Some(&other))
    );
}

pub async fn an_expired_entry_is_left_out<S: Store>(store: &S) {
    let tenant = tenant();
    let old = entry(Some(&tenant), "ana", AuditAction::CaughtUp, 1);
    let kept = entry(Some(&tenant), "ana", AuditAction::CaughtUp, 2);
    succeed(append_audit(store, &[old], long_ago())).await;
    succeed(append_audit(store, std::slice::from_ref(&kept), far_ahead())).await;
    assert_listed(store, &of_tenant(&tenant), 10, &[kept]).await;
}

/// No other change of an audit entry is possible.
pub async fn what_the_configuration_of_a_removed_tenant_held_is_taken_out_and_the_rest_stays<S: Store>(
    store: &S,
) {
    let (gone, stays, actor) = (tenant(), tenant(), fresh("actor"));
    let configured = |tenant: &TenantId, second| AuditEntry {
        before: Some(r#"{"system_prompt":"old"}"#.to_owned()),
        after: Some(r#"{"system_prompt":"new"}"#.to_owned()),
        ..entry(Some(tenant), &actor, AuditAction::ConfigurationChanged, second)
    };
    let removed = AuditEntry {
        before: None,
        after: Some("removed".to_owned()),
        ..entry(Some(&gone), "ana", AuditAction::ConfigurationChanged, 3)
    };
    let taken = entry(Some(&gone), "ana", AuditAction::ConversationTakenOver, 2);
    let (theirs, others) = (configured(&gone, 1), configured(&stays, 0));
    let all = [removed.clone(), taken.clone(), theirs.clone(), others.clone()];
    succeed(append_audit(store, &all, far_ahead())).await;
    assert_eq!(succeed(store.delete_tenant_records(&gone, &[], 100)).await, 1);
    assert_eq!(succeed(store.delete_tenant_records(&gone, &[], 100)).await, 0);
    // Whoever appends them again changes nothing.
    succeed(append_audit(store, &all, far_ahead())).await;
    let emptied = AuditEntry {
        before: None,
        after: Some(NOT_KEPT.to_owned()),
        ..theirs
    };
    assert_listed(store, &of_tenant(&gone), 10, &[removed, taken, emptied.clone()]).await;
    assert_listed(store, &of_tenant(&stays), 10, std::slice::from_ref(&others)).await;
    let of_actor = AuditFilter {
        actor: Some(TokenName::parse(&actor).unwrap()),
        ..AuditFilter::default()
    };
    assert_listed(store, &of_actor, 10, &[emptied, others]).await;
}
