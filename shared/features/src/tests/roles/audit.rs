//! All that is done with a token is in the audit, and nothing in there tells of people or of secrets.

use crate::routes::PERMISSIONS;
use crate::tests::TOKEN;
use crate::tests::roles::ask_as;
use crate::tests::roles::requests::{Wanted, calendar, list_requests};
use crate::tests::roles::tenants::TwoTenants;
use axum::http::StatusCode;
use recado_domain::access::TokenRole;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Routes that are not audited, although they are no reads: of most a client sends many.
const NOT_AUDITED: [(&str, &str); 11] = [
    ("POST", "/deliver/send"),
    // The log tells them.
    ("POST", "/deliver/batches/{id}/pause"),
    ("POST", "/deliver/batches/{id}/resume"),
    ("POST", "/deliver/batches/{id}/cancel"),
    ("POST", "/events/{event}/guests/{guest}/send"),
    // Audited where it writes vectors: here is no model that makes any.
    ("POST", "/v1/agents/{id}/knowledge/vectors"),
    ("POST", "/v1/instances/{id}/messages"),
    ("POST", "/v1/instances/{id}/media"),
    // A ticket opens what its token sees, and pages ask for one each time.
    ("POST", "/v1/events/tickets"),
    // It changes nothing.
    ("POST", "/v1/agents/{id}/knowledge/search"),
    // It is there only where something is simulated.
    ("POST", "/simulator/messages"),
];

/// A route that only a token of the installation may use. It has a test of its own.
const OF_THE_INSTALLATION: (&str, &str) = ("DELETE", "/v1/tenants/{id}");

/// The action that each route is audited as.
const AUDITED: &[((&str, &str), &str)] = &[
    (("PUT", "/v1/config"), "configuration_changed"),
    (("POST", "/v1/config"), "configuration_changed"),
    (("GET", "/v1/config/webhooks"), "webhook_secrets_read"),
    (("GET", "/v1/instances/{id}/webhook"), "webhook_secrets_read"),
    (("POST", "/v1/tenants"), "configuration_changed"),
    (("PUT", "/v1/tenants/{id}"), "configuration_changed"),
    (("POST", "/v1/calendars"), "configuration_changed"),
    (("PUT", "/v1/calendars/{id}"), "configuration_changed"),
    (("DELETE", "/v1/calendars/{id}"), "configuration_changed"),
    (("POST", "/v1/tools"), "configuration_changed"),
    (("PUT", "/v1/tools/{id}"), "configuration_changed"),
    (("DELETE", "/v1/tools/{id}"), "configuration_changed"),
    (("POST", "/v1/agents"), "configuration_changed"),
    (("PUT", "/v1/agents/{id}"), "configuration_changed"),
    (("DELETE", "/v1/agents/{id}"), "configuration_changed"),
    (("POST", "/v1/agents/{id}/knowledge"), "knowledge_changed"),
    (("POST", "/v1/agents/{id}/knowledge/pages"), "knowledge_changed"),
    (
        ("DELETE", "/v1/agents/{id}/knowledge/{source}"),
        "knowledge_changed",
    ),
    (("POST", "/v1/instances"), "configuration_changed"),
    (("PUT", "/v1/instances/{id}"), "configuration_changed"),
    (("DELETE", "/v1/instances/{id}"), "configuration_changed"),
    (("PATCH", "/v1/conversations/{id}"), "conversation_taken_over"),
    (
        ("POST", "/v1/conversations/{id}/messages"),
        "conversation_answered",
    ),
    (("POST", "/v1/conversations/{id}/labels"), "conversation_labelled"),
    (("POST", "/v1/conversations/{id}/notes"), "note_added"),
    (
        ("DELETE", "/v1/conversations/{id}/notes/{number}"),
        "note_deleted",
    ),
    (("DELETE", "/v1/messages/{id}"), "message_cancelled"),
    (("POST", "/v1/contacts/find"), "contact_found"),
    (("POST", "/v1/contacts/export"), "contact_exported"),
    (("POST", "/v1/contacts/erase"), "contact_erased"),
    (("POST", "/v1/instances/{id}/catch-up"), "caught_up"),
    (("POST", "/v1/alerts/test"), "alerts_tested"),
    (
        ("POST", "/v1/alerts/notifications/{id}/redrive"),
        "notification_redriven",
    ),
    (("POST", "/v1/instances/{id}/secret/rotate"), "secret_rotated"),
    (("POST", "/v1/instances/{id}/connect"), "instance_connected"),
    (("POST", "/v1/instances/{id}/pairing"), "pairing_started"),
    (("POST", "/v1/instances/{id}/check"), "setup_checked"),
    (("DELETE", "/v1/dead-letters"), "dead_letter_deleted"),
    (("POST", "/v1/dead-letters/redrive"), "dead_letter_redriven"),
    (("DELETE", "/v1/dead-letters/{id}"), "dead_letter_deleted"),
    (("POST", "/v1/dead-letters/{id}/redrive"), "dead_letter_redriven"),
    (("POST", "/v1/occasions/{id}/guests"), "configuration_changed"),
    (
        ("DELETE", "/v1/occasions/{id}/guests/{guest}"),
        "configuration_changed",
    ),
    (("POST", "/v1/webhooks"), "configuration_changed"),
    (("PUT", "/v1/webhooks/{id}"), "configuration_changed"),
    (("DELETE", "/v1/webhooks/{id}"), "configuration_changed"),
    (("POST", "/v1/webhooks/{id}/secret/rotate"), "secret_rotated"),
    (("POST", "/v1/webhooks/{id}/test"), "webhook_tested"),
    (
        ("POST", "/v1/webhooks/{id}/failed/redrive"),
        "dead_letter_redriven",
    ),
    (("POST", "/v1/webhooks/{id}/replay"), "events_replayed"),
    (("POST", "/v1/tokens"), "token_created"),
    (("DELETE", "/v1/tokens/{name}"), "token_revoked"),
    (
        ("POST", "/v1/conversations/{id}/effects/{number}"),
        "effect_decided",
    ),
];

fn audited_routes() -> BTreeMap<(&'static str, &'static str), &'static str> {
    AUDITED.iter().copied().collect()
}

async fn read_audit(world: &TwoTenants, query: &str) -> Vec<Value> {
    let path = format!("/v1/audit?limit=200{query}");
    let answered = world.site.operate("GET", &path, &Value::Null).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    answered.body["items"].as_array().unwrap().clone()
}

/// A request that works to a route. Most are those of the list.
async fn find_request(world: &TwoTenants, method: &'static str, route: &'static str) -> Wanted {
    let ids = &world.one;
    let ask = |path: &str, body: Value| Wanted::new(method, route, path, &body);
    let new_id = format!("{}-new", ids.tenant);
    let new_agent = json!({"id": new_id, "tenant": ids.tenant, "model": "m", "system_prompt": "p"});
    let new_tool = json!({"id": new_id, "tenant": ids.tenant, "name": "new", "description": "d", "effect": "reads",
        "http": {"url": "https://tool.example/"}});
    match (method, route) {
        ("POST", "/v1/tenants") => ask(route, json!({"id": "a-new-tenant"})),
        ("PUT", "/v1/tenants/{id}") => {
            let renamed = json!({"id": ids.tenant, "name": "renamed"});
            ask(&format!("/v1/tenants/{}", ids.tenant), renamed)
        }
        ("POST", "/v1/webhooks") => ask(route, json!({"id": "new", "url": "https://crm.example/new"})),
        ("POST", "/v1/calendars") => ask(route, calendar(&new_id, &ids.tenant, 30)),
        ("POST", "/v1/tools") => ask(route, new_tool),
        ("POST", "/v1/agents") => ask(route, new_agent),
        ("DELETE", "/v1/agents/{id}") => {
            let created = world.site.operate("POST", "/v1/agents", &new_agent).await;
            assert_eq!(created.status, StatusCode::CREATED, "{}", created.text);
            ask(&format!("/v1/agents/{new_id}"), Value::Null)
        }
        ("POST", "/v1/instances") => {
            let mut new = list_requests(ids)
                .into_iter()
                .find(|wanted| wanted.method == "POST" && wanted.route == "/v1/instances")
                .map(|wanted| serde_json::from_str::<Value>(&wanted.body).unwrap())
                .unwrap();
            let part = recado_domain::ids::TenantId::parse(&ids.tenant)
                .unwrap()
                .variable_part();
            new["id"] = json!(new_id);
            new["external_id"] = json!(new_id);
            new["credential"] = json!(format!("env:RECADO_CREDENTIAL_{part}_KEY"));
            ask(route, new)
        }
        ("PUT", "/v1/instances/{id}") => {
            let path = format!("/v1/instances/{}", ids.instance);
            let mut found = world.site.operate("GET", &path, &Value::Null).await.body;
            found["typing"] = json!(true);
            ask(&path, found)
        }
        ("DELETE", "/v1/instances/{id}") => {
            ask(&format!("/v1/instances/{}?force=true", ids.instance), Value::Null)
        }
        ("PUT" | "POST", "/v1/config") => {
            let renamed = json!({"tenants": [{"id": ids.tenant, "name": "renamed"}]});
            let method = if method == "PUT" { "PUT" } else { "POST" };
            Wanted::new(method, "/v1/config", "/v1/config", &renamed)
        }
        ("POST", "/v1/conversations/{id}/effects/{number}") => {
            let path = format!("/v1/conversations/{}/effects/1", ids.conversation);
            ask(&path, json!({"state": "done"}))
        }
        ("DELETE", "/v1/tokens/{name}") => {
            let path = format!("/v1/tokens/{}", ids.token);
            Wanted::new("DELETE", "/v1/tokens/{name}", &path, &Value::Null)
        }
        _ => list_requests(ids)
            .into_iter()
            .find(|wanted| wanted.method == method && wanted.route == route)
            .unwrap(),
    }
}

#[test]
fn every_route_that_changes_something_is_audited_or_leaves_its_actor_on_the_message() {
    let changing: BTreeSet<(&str, &str)> = PERMISSIONS
        .iter()
        .filter(|(method, ..)| *method != "GET")
        .map(|(method, route, _)| (*method, *route))
        .collect();
    let known: BTreeSet<(&str, &str)> = audited_routes()
        .into_keys()
        .filter(|(method, _)| *method != "GET")
        .chain(NOT_AUDITED)
        .chain([OF_THE_INSTALLATION])
        .collect();
    assert_eq!(known, changing);
}

#[tokio::test]
async fn each_audited_route_says_who_did_what_to_whose_record_and_by_which_request() {
    for ((method, route), action) in audited_routes() {
        let world = TwoTenants::new().await;
        let wanted = find_request(&world, method, route).await;
        // A tenant creates no tenant.
        let by_installation = (method, route) == ("POST", "/v1/tenants");
        let token = if by_installation {
            world.token_of_all(TokenRole::Admin)
        } else {
            world.token_of_one(TokenRole::Admin)
        };
        let token = format!("Bearer {token}");
        let headers = [
            ("authorization", token.as_str()),
            ("if-match", "*"),
            ("x-correlation-id", "the-request"),
        ];
        let answered = world
            .site
            .ask(wanted.method, &wanted.path, &headers, wanted.body.clone())
            .await;
        let place = format!("{method} {route}: {}", answered.text);
        assert!(answered.status.is_success(), "{place}");
        let mut found = read_audit(&world, "").await;
        found.retain(|entry| entry["correlation_id"] == "the-request");
        assert_eq!(found.len(), 1, "{place}: {found:?}");
        let entry = &found[0];
        assert_eq!(entry["action"], action, "{place}");
        assert_eq!(entry["actor"], "a admin", "{place}");
        assert_eq!(entry["role"], "admin", "{place}");
        let tenant = json!(world.one.tenant);
        let (actor, owner) = if by_installation {
            (Value::Null, json!("a-new-tenant"))
        } else {
            (tenant.clone(), tenant)
        };
        assert_eq!(entry["actor_tenant"], actor, "{place}");
        assert_eq!(entry["tenant"], owner, "{place}");
        assert!(!entry["object"].as_str().unwrap().is_empty(), "{place}");
        let of_other = read_audit(&world, &format!("&tenant={}", world.other.tenant)).await;
        assert!(
            of_other
                .iter()
                .all(|entry| entry["correlation_id"] != "the-request"),
            "{place}"
        );
    }
}

#[tokio::test]
async fn the_removal_of_a_tenant_is_audited_and_for_the_installation_alone() {
    let world = TwoTenants::new().await;
    let path = format!("/v1/tenants/{}?force=true", world.one.tenant);
    let wanted = Wanted::new("DELETE", OF_THE_INSTALLATION.1, &path, &Value::Null);
    let refused = ask_as(&world.site, world.token_of_one(TokenRole::Admin), &wanted).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    assert!(read_audit(&world, "&action=tenant_removed").await.is_empty());
    let begun = ask_as(&world.site, world.token_of_all(TokenRole::Admin), &wanted).await;
    assert_eq!(
        (begun.status, &begun.body["done"]),
        (StatusCode::OK, &json!(false)),
        "{}",
        begun.text
    );
    assert!(begun.body["waits_until"].is_string(), "{}", begun.text);
    let found = read_audit(&world, "&action=tenant_removed").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["tenant"], world.one.tenant);
    assert_eq!(
        (&found[0]["actor"], &found[0]["actor_tenant"]),
        (&json!("a admin"), &Value::Null),
        "{found:?}"
    );
    // Its tokens open nothing any more.
    let read = Wanted::new("GET", "/v1/config", "/v1/config", &Value::Null);
    let answered = ask_as(&world.site, world.token_of_one(TokenRole::Admin), &read).await;
    assert_eq!(answered.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_change_is_told_as_before_and_after() {
    let world = TwoTenants::new().await;
    let path = format!("/v1/conversations/{}", world.one.conversation);
    for body in [
        json!({"mode": "manual"}),
        json!({"mode": "manual"}),
        json!({"mode": "ai"}),
        json!({"status": "resolved"}),
    ] {
        let answered = world.site.operate("PATCH", &path, &body).await;
        assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    }
    let renamed = json!({"tenants": [{"id": world.one.tenant, "name": "x".repeat(500)}]});
    let applied = world.site.operate("PUT", "/v1/config", &renamed).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let found = read_audit(&world, "&actor=installation").await;
    let told = |action: &str| -> Vec<(String, String)> {
        let of_action = found.iter().filter(|entry| entry["action"] == action);
        of_action
            .map(|entry| {
                let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
                (text("before"), text("after"))
            })
            .collect()
    };
    let pair = |before: &str, after: &str| (before.to_owned(), after.to_owned());
    assert_eq!(
        told("conversation_taken_over"),
        [pair("ai", "manual")],
        "what changes nothing is not told"
    );
    assert_eq!(told("conversation_given_back"), [pair("manual", "ai")]);
    assert_eq!(told("conversation_resolved"), [pair("ai", "resolved")]);
    let [(before, after)] = &told("configuration_changed")[..] else {
        panic!("one change: {found:?}");
    };
    assert_ne!(before, after);
    // A change of the configuration is kept whole, so that it can be undone.
    assert!(after.contains(&"x".repeat(500)), "{after}");
}

#[tokio::test]
async fn the_audit_names_no_person_no_words_and_no_secret() {
    let world = TwoTenants::new().await;
    for role in TokenRole::ALL {
        for wanted in list_requests(&world.one) {
            ask_as(&world.site, world.token_of_one(role), &wanted).await;
        }
    }
    let entries = read_audit(&world, "").await;
    assert!(entries.len() > 20, "{}", entries.len());
    let all = json!(entries).to_string();
    let tokens = TokenRole::ALL.map(|role| world.token_of_one(role));
    let secret = [&world.one.contact, &world.one.said, &world.one.provider_message];
    for text in secret
        .map(String::as_str)
        .into_iter()
        .chain(tokens)
        .chain([TOKEN])
    {
        assert!(!all.contains(text), "{text}");
    }
    assert!(!all.contains("90000-0001") && !all.contains("@s.whatsapp.net"));
}

#[tokio::test]
async fn a_change_of_the_alerts_is_told_without_the_numbers_and_addresses_in_it() {
    let world = TwoTenants::new().await;
    let email = json!({"server": "smtps://mail.example", "from": "recado@clinic.example", "to": ["ana@clinic.example"]});
    let phone = json!({"instance": world.one.instance, "to": "+55 11 90000-0042"});
    let alerts = json!({"alerts": {"depth_warning": 7, "destinations": [
        {"id": "ana", "email": email}, {"id": "phone", "whatsapp": phone},
    ]}});
    let applied = world.site.operate("PUT", "/v1/config", &alerts).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let found = read_audit(&world, "&action=configuration_changed").await;
    let of_alerts: Vec<&Value> = found.iter().filter(|entry| entry["kind"] == "alerts").collect();
    assert_eq!(of_alerts.len(), 1, "{found:?}");
    assert_eq!(of_alerts[0]["after"], "depth_warning, destinations");
    let all = json!(found).to_string();
    assert!(
        !all.contains("clinic.example") && !all.contains("90000-0042"),
        "{all}"
    );
}

#[tokio::test]
async fn a_change_of_the_configuration_is_told_without_contacts_and_addresses_of_people() {
    let world = TwoTenants::new().await;
    let ids = &world.one;
    let path = format!("/v1/instances/{}", ids.instance);
    let mut instance = world.site.operate("GET", &path, &Value::Null).await.body;
    instance["access"] = json!({"block": ["+5511900000042"]});
    instance["mark_read"] = json!(true);
    let booked = calendar("agenda-of-ana", &ids.tenant, 30);
    let sender = json!({"id": "post", "kind": "simulated", "from": "Ana <ana@clinic.example>"});
    let tenant = json!({"id": ids.tenant, "email_senders": [sender]});
    for (change, kind, field) in [
        (json!({"instances": [instance]}), "instance", "access"),
        (json!({"calendars": [booked]}), "calendar", "google"),
        (json!({"tenants": [tenant]}), "tenant", "email_senders"),
    ] {
        let applied = world.site.operate("PUT", "/v1/config", &change).await;
        assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
        let found = read_audit(&world, "&action=configuration_changed").await;
        let told = found.iter().find(|entry| entry["kind"] == kind).unwrap();
        let after: Value = serde_json::from_str(told["after"].as_str().unwrap()).unwrap();
        assert_eq!(after[field], "(not shown)", "{told}");
        let all = json!(found).to_string();
        assert!(
            !all.contains("900000042") && !all.contains("clinic.example"),
            "{all}"
        );
        if kind == "instance" {
            assert_eq!(after["mark_read"], true, "what is nobody's stays readable");
        }
    }
}

#[tokio::test]
async fn nobody_writes_or_deletes_an_entry() {
    let world = TwoTenants::new().await;
    let token = world.token_of_all(TokenRole::Admin);
    let before = read_audit(&world, "").await;
    let id = before[0]["id"].as_str().unwrap();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let wanted = Wanted {
            method,
            ..Wanted::new("GET", "", "/v1/audit", &json!({"id": id}))
        };
        let answered = ask_as(&world.site, token, &wanted).await;
        assert_eq!(answered.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        let one = Wanted {
            path: format!("/v1/audit/{id}"),
            ..wanted
        };
        let answered = ask_as(&world.site, token, &one).await;
        assert_eq!(answered.status, StatusCode::NOT_FOUND, "{method}");
    }
    assert_eq!(read_audit(&world, "").await, before);
}
