//! Every page, for each role and language, with everything and with nothing.

use super::described_api::SampleKind;
use super::stand_in::{ApiStandIn, HOSTILE, get, send, sign_in};
use crate::page_table::PAGES;
use axum::http::{StatusCode, header};
use recado_domain::reason::Reason;

const ROLES: [&str; 4] = ["viewer", "operator", "manager", "admin"];

/// The path of a page, its parameters filled.
pub(super) fn path_of_page(route: &str) -> String {
    route.replace("{id}", "c_1-1").replace("{source}", "k_1")
}

/// The status of a page for a role: some are about what the role may not read.
fn status_for(role: &str, route: &str) -> StatusCode {
    let closed: &[&str] = match role {
        "admin" => &[],
        "manager" => &["/console/tokens"],
        _ => &[
            "/console/tokens",
            "/console/audit",
            "/console/instances/{id}/webhook",
        ],
    };
    if closed.contains(&route) {
        StatusCode::FORBIDDEN
    } else {
        StatusCode::OK
    }
}

/// Fails if a page is malformed or lets a text run.
fn check_page(path: &str, page: &str) {
    assert_eq!(
        page.matches("<h1").count(),
        1,
        "{path} has one main heading: {page}"
    );
    for wrong in [
        "<script>",
        "<img src=x",
        "onerror=alert(1)>{{",
        "11111103",
        " style=",
        "javascript:",
    ] {
        assert!(!page.contains(wrong), "{path} has `{wrong}`: {page}");
    }
    let handlers = page
        .split_whitespace()
        .find(|word| word.starts_with("on") && word.contains("=\""));
    assert_eq!(handlers, None, "{path}");
    let mut ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    let odd = ids.iter().find(|id| !id.chars().all(is_plain));
    assert_eq!(odd, None, "{path} has an id that is no selector");
    // Two entries of a sample have one id.
    ids.retain(|id| !id.contains("alert"));
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{path} uses an id twice");
}

#[tokio::test]
async fn every_page_is_shown_to_every_role_in_every_language() {
    for role in ROLES {
        let console = ApiStandIn::for_role(role).console();
        for language in ["en", "pt", "es"] {
            let cookies = format!("{}; recado_language={language}", sign_in());
            for page in PAGES {
                let path = path_of_page(page.route);
                let (status, headers, shown) = send(&console, get(&path, &cookies)).await;
                let expected = status_for(role, page.route);
                assert_eq!(status, expected, "{role} {path}: {shown}");
                let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
                assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
                if !page.is_table() {
                    assert!(shown.contains(&format!("<html lang=\"{language}\"")), "{path}");
                    check_page(&path, &shown);
                }
            }
        }
    }
}

#[tokio::test]
async fn pages_show_every_code_of_the_api() {
    for code in (0..26).step_by(2) {
        let mut api = ApiStandIn::for_role("admin");
        api.kind.code = code;
        let console = api.console();
        for page in PAGES {
            let path = path_of_page(page.route);
            let (status, _, shown) = send(&console, get(&path, &sign_in())).await;
            assert_eq!(status, StatusCode::OK, "{code} {path}: {shown}");
        }
    }
}

#[tokio::test]
async fn pages_without_any_entry_say_what_to_do() {
    let mut api = ApiStandIn::for_role("admin");
    api.kind = SampleKind {
        is_full: false,
        ..api.kind
    };
    let console = api.console();
    for page in PAGES {
        let path = path_of_page(page.route);
        let (status, _, shown) = send(&console, get(&path, &sign_in())).await;
        assert_eq!(status, StatusCode::OK, "{path}: {shown}");
        let is_list = !page.route.contains('{') && !page.is_table();
        let has_form_only = ["/console/trace", "/console/settings/contacts"].contains(&page.route);
        if is_list && !has_form_only {
            assert!(shown.contains("class=\"empty\""), "{path}: {shown}");
        }
    }
}

#[tokio::test]
async fn alerts_and_dead_letters_name_the_person_and_lead_to_the_conversation() {
    let mut api = ApiStandIn::for_role("operator");
    api.kind.text = "Maria";
    let console = api.console();
    for (path, named) in [
        ("/console", "<a href=\"/console/conversations/Maria\">"),
        (
            "/console/alerts",
            "<a href=\"/console/conversations/Maria\">Maria ",
        ),
        ("/console/dead-letters", "<b>Maria</b> <b>"),
        (
            "/console/dead-letters/x",
            "<a href=\"/console/conversations/Maria\">Maria</a>",
        ),
    ] {
        let (status, _, shown) = send(&console, get(path, &sign_in())).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert!(shown.contains(named), "{path}: {shown}");
    }
}

#[tokio::test]
async fn dead_letters_are_narrowed_by_the_reasons_that_they_can_have() {
    let console = ApiStandIn::for_role("operator").console();
    let (_, _, shown) = send(&console, get("/console/dead-letters", &sign_in())).await;
    for reason in Reason::OF_DEAD_LETTERS {
        assert!(
            shown.contains(&format!("<option value=\"{reason}\"")),
            "{reason}: {shown}"
        );
    }
    assert!(!shown.contains("<option value=\"model_failed\""), "{shown}");
}

#[tokio::test]
async fn a_message_that_replies_is_shown_with_what_it_replies_to() {
    let mut api = ApiStandIn::for_role("viewer");
    api.kind.text = "Maria";
    let (_, _, shown) = send(&api.console(), get("/console/messages/m", &sign_in())).await;
    assert!(
        shown.contains("<blockquote dir=\"auto\">In reply to: Maria</blockquote>"),
        "{shown}"
    );
}

#[tokio::test]
async fn an_occasion_begins_by_its_own_clock() {
    let mut api = ApiStandIn::for_role("viewer");
    api.kind.text = "2026-12-05T18:00:00";
    let begin = "<time datetime=\"2026-12-05T18:00:00\" data-shown=\"clock\">2026-12-05 18:00</time>";
    for path in ["/console/occasions", "/console/occasions/o"] {
        let (_, _, shown) = send(&api.console(), get(path, &sign_in())).await;
        assert!(shown.contains(begin), "{path}: {shown}");
    }
}

#[tokio::test]
async fn a_part_that_cannot_be_read_is_missing_and_the_rest_is_shown() {
    for role in ["viewer", "admin"] {
        let mut api = ApiStandIn::for_role(role);
        api.refuses = true;
        let console = api.console();
        for page in PAGES {
            let path = path_of_page(page.route);
            let (status, _, shown) = send(&console, get(&path, &sign_in())).await;
            assert_eq!(status, status_for(role, page.route), "{path}: {shown}");
            if !page.is_table() {
                check_page(&path, &shown);
            }
        }
    }
}

#[tokio::test]
async fn what_a_role_may_not_do_is_not_shown() {
    let viewer = ApiStandIn::for_role("viewer").console();
    for page in PAGES {
        let path = path_of_page(page.route);
        let (_, _, shown) = send(&viewer, get(&path, &sign_in())).await;
        let forms = shown.matches("action=\"/console/api").count();
        // To ask what an agent knows changes nothing.
        let allowed = shown.matches("&#x2f;knowledge&#x2f;search\"").count().min(1);
        assert!(forms <= allowed, "{path}: {shown}");
    }
    let operator = ApiStandIn::for_role("operator").console();
    let (_, _, thread) = send(&operator, get("/console/conversations/c_1-1", &sign_in())).await;
    assert!(
        thread.contains("id=\"answer-form\"") && thread.contains("name=\"mode\" value=\"manual\""),
        "{thread}"
    );
    assert!(!thread.contains("/console/tokens") && !thread.contains("/console/audit"));
}

#[tokio::test]
async fn templates_are_offered_only_where_the_provider_has_some() {
    // The first code of a provider is Evolution, the third 360dialog.
    for (code, is_offered) in [(0, false), (2, true)] {
        let mut api = ApiStandIn::for_role("operator");
        (api.kind.text, api.kind.code) = ("Maria", code);
        let (_, _, thread) = send(&api.console(), get("/console/conversations/c_1-1", &sign_in())).await;
        assert!(thread.contains("id=\"answer-form\""), "{thread}");
        assert_eq!(
            thread.contains("name=\"content.name\""),
            is_offered,
            "{code}: {thread}"
        );
    }
}

#[tokio::test]
async fn tables_for_spreadsheets_hold_no_formula_and_keep_their_columns() {
    let mut api = ApiStandIn::for_role("viewer");
    api.kind.text = "=1+1,\"x\"";
    let (status, headers, table) = send(&api.console(), get("/console/usage.csv", &sign_in())).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(headers[header::CONTENT_TYPE], "text/csv; charset=utf-8");
    assert!(
        headers[header::CONTENT_DISPOSITION]
            .to_str()
            .unwrap()
            .starts_with("attachment")
    );
    assert!(table.contains(",\"'=1+1,\"\"x\"\"\","), "{table}");
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[tokio::test]
async fn answers_to_forms_hold_hostile_texts_as_text() {
    let api = ApiStandIn::for_role("admin");
    let console = api.console();
    for (path, shown_by) in [
        ("/v1/agents/a/knowledge/search", "search"),
        ("/v1/instances/a/check", "checks"),
        ("/v1/instances/a/connect", "connect"),
        ("/v1/instances/a/pairing", "pairing"),
        ("/v1/instances/a/catch-up", "catch_up"),
        ("/v1/instances/a/secret/rotate", "secret"),
        ("/v1/contacts/find", "contact"),
        ("/v1/contacts/erase", "erased"),
        ("/v1/dead-letters/redrive", "redrive"),
        ("/v1/occasions/a/guests", "guests"),
        ("/v1/alerts/test", "notifications"),
        ("/v1/tokens", "token"),
        ("/v1/webhooks", "endpoint_secret"),
        ("/v1/webhooks/a/test", "endpoint_test"),
    ] {
        for code in [0, 1] {
            let mut api = api.clone();
            api.kind.code = code;
            let form = format!("_show={shown_by}&name=x");
            let mut request = super::stand_in::post(&format!("/console/api{path}"), &sign_in(), &form);
            request
                .headers_mut()
                .insert("hx-request", "true".parse().unwrap());
            let (status, _, shown) = send(&api.console(), request).await;
            assert_eq!(status, StatusCode::OK, "{path}: {shown}");
            assert!(
                !shown.contains("<script") && !shown.contains("<img"),
                "{path}: {shown}"
            );
        }
        let whole = super::stand_in::post(
            &format!("/console/api{path}"),
            &sign_in(),
            &format!("_show={shown_by}"),
        );
        let (_, _, page) = send(&console, whole).await;
        check_page(path, &page);
    }
    assert!(HOSTILE.contains("<script>"));
}
