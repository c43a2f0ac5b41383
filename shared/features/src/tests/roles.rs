//! Every route, asked with every role and with another tenant's token.

mod actors;
mod audit;
mod mixtures;
mod requests;
mod secret_rotation;
mod table;
mod tenants;

use crate::routes::PERMISSIONS;
use crate::tests::description::{description, is_operators, operations};
use crate::tests::roles::requests::{Ids, Wanted, list_requests};
use crate::tests::roles::table::read_table;
use crate::tests::roles::tenants::TwoTenants;
use crate::tests::{Answered, Site};
use axum::http::StatusCode;
use recado_domain::access::TokenRole;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Asks as the holder of `token`.
async fn ask_as(site: &Site, token: &str, wanted: &Wanted) -> Answered {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "text/plain"),
        ("if-match", "*"),
    ];
    site.ask(wanted.method, &wanted.path, &headers, wanted.body.clone())
        .await
}

#[tokio::test]
async fn the_table_of_permissions_names_every_route_that_needs_a_token_and_no_other() {
    let api = description();
    let described: BTreeSet<String> = operations(api)
        .filter(|(_, path, operation)| is_operators(operation) || *path == "/health/whatsapp")
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    let listed: Vec<String> = PERMISSIONS
        .iter()
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), described);
    assert_eq!(listed.len(), described.len(), "a route stands in the table twice");
    let asked: BTreeSet<String> = list_requests(&Ids::unknown())
        .iter()
        .map(|wanted| format!("{} {}", wanted.method, wanted.route))
        .collect();
    assert_eq!(asked, described, "each route needs a request in `list_requests`");
    let expected: BTreeSet<String> = read_table().into_keys().map(str::to_owned).collect();
    assert_eq!(expected, described, "each route needs a line in `roles/table.rs`");
}

#[tokio::test]
async fn each_route_opens_to_the_roles_that_have_its_permission() {
    let (world, table) = (TwoTenants::new().await, read_table());
    for role in TokenRole::ALL {
        for wanted in list_requests(&Ids::unknown()) {
            let route = format!("{} {}", wanted.method, wanted.route);
            let permitted = table[route.as_str()].contains(&role);
            // A document that makes a tenant needs more than its route.
            let is_manager = role == TokenRole::Manager;
            let makes_tenant = is_manager && !wanted.reads() && wanted.route == "/v1/config";
            let tokens = [world.token_of_one(role), world.token_of_all(role)];
            for token in tokens.into_iter().take(if makes_tenant { 1 } else { 2 }) {
                let answered = ask_as(&world.site, token, &wanted).await;
                let place = format!("{role}: {} {}: {}", wanted.method, wanted.path, answered.text);
                assert_ne!(answered.status, StatusCode::UNAUTHORIZED, "{place}");
                assert_eq!(answered.status != StatusCode::FORBIDDEN, permitted, "{place}");
            }
        }
    }
}

#[tokio::test]
async fn what_another_tenant_has_is_answered_as_what_nobody_has() {
    let world = TwoTenants::new().await;
    let (theirs, unknown) = (list_requests(&world.other), list_requests(&Ids::unknown()));
    for role in TokenRole::ALL {
        let token = world.token_of_one(role);
        for (wanted, nobodys) in theirs.iter().zip(&unknown) {
            let answered = ask_as(&world.site, token, wanted).await;
            let expected = ask_as(&world.site, token, nobodys).await;
            let place = format!("{role}: {} {}", wanted.method, wanted.path);
            assert_eq!(
                (answered.status, world.other.blank(&answered.text)),
                (expected.status, Ids::unknown().blank(&expected.text)),
                "{place}"
            );
            assert_eq!(answered.headers.len(), expected.headers.len(), "{place}");
        }
    }
}

#[tokio::test]
async fn no_answer_to_one_tenant_names_anything_of_another() {
    let world = TwoTenants::new().await;
    for role in TokenRole::ALL {
        let token = world.token_of_one(role);
        for ids in [&world.one, &Ids::unknown()] {
            for wanted in list_requests(ids).iter().filter(|wanted| wanted.reads()) {
                let answered = ask_as(&world.site, token, wanted).await;
                let leak = world.other.find_in(&answered.text);
                assert_eq!(
                    leak, None,
                    "{role}: {} {}: {}",
                    wanted.method, wanted.path, answered.text
                );
            }
        }
    }
}

/// Blanks what the clock alone changes.
fn without_times(text: &str) -> String {
    let Ok(mut value) = serde_json::from_str(text) else {
        return text.to_owned();
    };
    blank_times(&mut value);
    value.to_string()
}

fn blank_times(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            for name in [
                "timestamp",
                "next_slot",
                "oldest_message_age_seconds",
                "from",
                "to",
            ] {
                fields.remove(name);
            }
            // Each signing secret is another one.
            let is_signing_secret =
                |value: &serde_json::Value| value.as_str().is_some_and(|text| text.starts_with("whsec_"));
            fields.retain(|_, value| !is_signing_secret(value));
            fields.values_mut().for_each(blank_times);
        }
        serde_json::Value::Array(items) => {
            // To read the secrets, as these tests do, is a change of the audit.
            items.retain(|item| item["action"] != "webhook_secrets_read");
            items.iter_mut().for_each(blank_times);
        }
        _ => {}
    }
}

async fn read_all(site: &Site, token: &str, ids: &Ids) -> BTreeMap<String, String> {
    let mut answers = BTreeMap::new();
    for wanted in list_requests(ids).iter().filter(|wanted| wanted.reads()) {
        let answered = ask_as(site, token, wanted).await;
        answers.insert(
            wanted.path.clone(),
            format!("{} {}", answered.status, without_times(&answered.text)),
        );
    }
    answers
}

#[tokio::test]
async fn whatever_another_tenant_does_no_answer_changes_by_it() {
    let mut world = TwoTenants::new().await;
    let token = world.token_of_one(TokenRole::Admin).to_owned();
    let before = read_all(&world.site, &token, &world.one).await;
    assert!(
        before
            .values()
            .any(|answer| answer.contains(&world.one.conversation))
    );
    for _ in 0..3 {
        world.add_records_of_other().await;
    }
    world
        .site
        .depths
        .0
        .store(5_000, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(read_all(&world.site, &token, &world.one).await, before);
}

#[tokio::test]
async fn no_request_with_one_tenants_token_changes_anything_of_another() {
    let world = TwoTenants::new().await;
    let theirs = read_all(&world.site, world.token_of_other(), &world.other).await;
    assert!(
        theirs.values().filter(|answer| answer.starts_with("200")).count() > 15,
        "{theirs:#?}"
    );
    for role in TokenRole::ALL {
        for wanted in list_requests(&world.other) {
            ask_as(&world.site, world.token_of_one(role), &wanted).await;
        }
        // Everything that is there, without naming it.
        for (path, body) in [
            ("/v1/dead-letters?all=true", json!(null)),
            ("/v1/dead-letters/redrive", json!({})),
            ("/v1/alerts/test", json!({})),
        ] {
            let method = if body.is_null() { "DELETE" } else { "POST" };
            let wanted = Wanted::new(method, path, path, &body);
            ask_as(&world.site, world.token_of_one(role), &wanted).await;
        }
    }
    let after = read_all(&world.site, world.token_of_other(), &world.other).await;
    assert_eq!(after, theirs);
}

#[tokio::test]
async fn a_cursor_of_another_tenants_list_leads_to_nothing_of_it() {
    let mut world = TwoTenants::new().await;
    for _ in 0..2 {
        world.add_records_of_other().await;
    }
    for route in [
        "/v1/conversations",
        "/v1/dead-letters",
        "/v1/tokens",
        "/v1/audit",
        "/v1/alerts?state=ended",
        "/v1/opt-outs?tenant={tenant}",
        "/v1/occasions",
        "/v1/occasions/{occasion}/guests",
        "/v1/occasions/{occasion}/invitations",
        "/deliver/batches",
    ] {
        let of_other = world.other.name_in(route);
        let own = world.one.name_in(route);
        let mark = if route.contains('?') { '&' } else { '?' };
        let first = Wanted::new("GET", route, &format!("{of_other}{mark}limit=1"), &json!(null));
        let first = ask_as(&world.site, world.token_of_other(), &first).await;
        let cursor = first.body["next_cursor"]
            .as_str()
            .unwrap_or_else(|| panic!("{route}: {}", first.text));
        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        assert!(cursor.bytes().all(is_safe), "{route}: {cursor}");
        // The list of its own records, and that of the other's record.
        for list in [own, of_other] {
            let next = Wanted::new(
                "GET",
                route,
                &format!("{list}{mark}cursor={cursor}"),
                &json!(null),
            );
            let answered = ask_as(&world.site, world.token_of_one(TokenRole::Admin), &next).await;
            assert!(
                world.other.find_in(&answered.text).is_none(),
                "{list}: {}",
                answered.text
            );
        }
    }
}
