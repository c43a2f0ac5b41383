//! Tokens of the API.

use super::patience::{CONFIGURATION, eventually};
use crate::builders::{Fixture, at, far_ahead, fresh, identity_key};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::access::{Token, TokenRole};
use recado_domain::ids::{TenantId, TokenName};
use recado_ports::ports::{PageRequest, Store};
use recado_ports::records::tokens::{delete_token, find_token, list_tokens, put_token};

/// More pages than any list here has.
const PAGES_MAX: usize = 1000;

fn name(text: &str) -> TokenName {
    TokenName::parse(text).unwrap()
}

/// A token with a hash that no other has.
fn token(tenant: Option<&TenantId>, named: &str) -> Token {
    Token {
        name: name(named),
        tenant: tenant.cloned(),
        role: TokenRole::Operator,
        hash: identity_key().hash_token(&fresh("recado_")),
        created_at: at(0),
        created_by: name("ana"),
        expires_at: None,
    }
}

fn tenant() -> TenantId {
    Fixture::new().bound.tenant.id
}

async fn listed<S: Store>(store: &S, tenant: Option<&TenantId>, limit: usize) -> Vec<Token> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = succeed(list_tokens(store, tenant, &PageRequest { limit, cursor })).await;
        assert!(page.items.len() <= limit, "a page holds at most {limit}");
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

async fn assert_found<S: Store>(store: &S, token: &Token, expected: Option<&Token>) {
    let found = async || succeed(find_token(store, &token.hash)).await;
    let found = eventually(CONFIGURATION, found, |found| found.as_ref() == expected).await;
    assert_eq!(found.as_ref(), expected);
}

pub async fn a_token_is_found_by_its_hash_until_it_is_deleted<S: Store>(store: &S) {
    for tenant in [None, Some(tenant())] {
        let mut kept = token(tenant.as_ref(), &fresh("desk"));
        kept.expires_at = Some(far_ahead());
        assert_found(store, &kept, None).await;
        assert!(succeed(put_token(store, &kept)).await);
        assert_found(store, &kept, Some(&kept)).await;
        assert!(succeed(delete_token(store, tenant.as_ref(), &kept.name)).await);
        assert_found(store, &kept, None).await;
        let again = succeed(delete_token(store, tenant.as_ref(), &kept.name)).await;
        assert!(!again, "it is gone");
    }
}

pub async fn an_expired_token_is_returned_with_its_expiry<S: Store>(store: &S) {
    let mut kept = token(None, &fresh("desk"));
    kept.expires_at = Some(at(0));
    assert!(succeed(put_token(store, &kept)).await);
    assert_found(store, &kept, Some(&kept)).await;
}

pub async fn a_name_is_taken_within_its_tenant_alone<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    let named = fresh("desk");
    let first = token(Some(&one), &named);
    assert!(succeed(put_token(store, &first)).await);
    let second = token(Some(&one), &named);
    assert!(!succeed(put_token(store, &second)).await, "the name is taken");
    assert_found(store, &second, None).await;
    assert_eq!(listed(store, Some(&one), 10).await, std::slice::from_ref(&first));
    for elsewhere in [Some(&other), None] {
        assert!(succeed(put_token(store, &token(elsewhere, &named))).await);
        assert!(succeed(delete_token(store, elsewhere, &name(&named))).await);
    }
    assert_found(store, &first, Some(&first)).await;
    assert!(succeed(delete_token(store, Some(&one), &first.name)).await);
    assert!(succeed(put_token(store, &second)).await, "the name is free again");
    assert_found(store, &second, Some(&second)).await;
}

pub async fn of_ten_tokens_of_one_name_at_once_one_is_kept<S: Store>(store: &S) {
    let (tenant, named) = (tenant(), fresh("desk"));
    let tokens: Vec<Token> = (0..10).map(|_| token(Some(&tenant), &named)).collect();
    let kept = join_all(tokens.iter().map(|token| put_token(store, token))).await;
    let kept: Vec<bool> = kept.into_iter().map(Result::unwrap).collect();
    assert_eq!(kept.iter().filter(|kept| **kept).count(), 1);
    for (token, kept) in tokens.iter().zip(kept) {
        assert_found(store, token, kept.then_some(token)).await;
    }
}

pub async fn tokens_are_listed_by_tenant_and_by_pages<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    // One tenant's id begins as the other's does.
    let longer = TenantId::parse(&format!("{one}-2")).unwrap();
    let mut expected = Vec::new();
    for named in ["a", "a b", "a-b", "b", "c", "z"] {
        let kept = token(Some(&one), named);
        assert!(succeed(put_token(store, &kept)).await);
        expected.push(kept);
    }
    let installation = token(None, &fresh("a"));
    for kept in [
        token(Some(&other), "a"),
        token(Some(&longer), "a"),
        installation.clone(),
    ] {
        assert!(succeed(put_token(store, &kept)).await);
    }
    for limit in [1, 2, 5, 6, 50] {
        assert_eq!(listed(store, Some(&one), limit).await, expected, "by {limit}");
    }
    assert!(listed(store, Some(&tenant()), 10).await.is_empty());
    let all = listed(store, None, 50).await;
    for kept in expected.iter().chain([&installation]) {
        assert_eq!(all.iter().filter(|token| *token == kept).count(), 1);
    }
}

pub async fn a_removed_tenant_has_no_tokens<S: Store>(store: &S) {
    let (gone, stays) = (tenant(), tenant());
    let of = |tenant| ["a", "b", "c"].map(|named| token(Some(tenant), named));
    let (theirs, others) = (of(&gone), of(&stays));
    for kept in theirs.iter().chain(&others) {
        assert!(succeed(put_token(store, kept)).await);
    }
    while succeed(store.delete_tenant_records(&gone, &[], 2)).await >= 2 {}
    assert!(listed(store, Some(&gone), 10).await.is_empty());
    assert_eq!(listed(store, Some(&stays), 10).await, others);
    let all = listed(store, None, 50).await;
    for (gone, kept) in theirs.iter().zip(&others) {
        assert_found(store, gone, None).await;
        assert_found(store, kept, Some(kept)).await;
        assert!(all.contains(kept) && !all.contains(gone));
    }
    assert!(succeed(put_token(store, &theirs[0])).await, "its name is free");
}

pub async fn a_cursor_of_another_tenants_list_leads_to_none_of_its_tokens<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    for tenant in [&one, &other] {
        for named in ["a", "b", "c"] {
            assert!(succeed(put_token(store, &token(Some(tenant), named))).await);
        }
    }
    let first = succeed(list_tokens(store, Some(&one), &PageRequest::first(1))).await;
    let page = PageRequest {
        limit: 10,
        cursor: first.next_cursor,
    };
    assert!(page.cursor.is_some());
    // An error or a list of its own tokens; never the other's.
    let found = list_tokens(store, Some(&other), &page).await;
    let found = found.map_or_else(|_| Vec::new(), |page| page.items);
    assert!(found.iter().all(|token| token.tenant.as_ref() == Some(&other)));
}
