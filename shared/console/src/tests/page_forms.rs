//! The forms of the pages, filled and sent as a browser does.

use super::described_api::DescribedApi;
use super::pages::path_of_page;
use super::stand_in::{ApiStandIn, AskedRequest, get, post, send, sign_in};
use crate::page_table::PAGES;
use axum::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::BTreeSet;

/// A form of a page.
#[derive(Debug)]
struct PageForm {
    action: String,
    fields: Vec<(String, String)>,
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&#39;", "'")
        .replace("&#x2f;", "/")
        .replace("&amp;", "&")
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let rest = tag.split_once(&format!(" {name}=\""))?.1;
    Some(unescape(rest.split('"').next()?))
}

/// What a person enters in an empty field.
fn fill_field(name: &str, tag: &str) -> String {
    let kind = attribute(tag, "type").unwrap_or_default();
    match kind.as_str() {
        "date" => "2026-12-01".to_owned(),
        "datetime-local" => "2026-12-01T10:30".to_owned(),
        "number" => "5".to_owned(),
        _ if name.contains(":number") => "5".to_owned(),
        _ if name.contains(":json") || name.contains(":days") || kind == "hidden" => String::new(),
        _ => "some text".to_owned(),
    }
}

fn find_forms(page: &str) -> Vec<PageForm> {
    let sources = page
        .split("<form ")
        .skip(1)
        .filter_map(|rest| rest.split_once("</form>"));
    let forms = sources.filter_map(|(source, _)| {
        let tag = format!(" {}", source.split('>').next()?);
        let action = attribute(&tag, "action")?;
        action.starts_with("/console/api/").then(|| PageForm {
            action,
            fields: find_fields(source),
        })
    });
    forms.collect()
}

fn find_fields(source: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for rest in source.split('<').skip(1) {
        let tag = format!(" {}", rest.split('>').next().unwrap_or_default());
        let text = rest.split_once('>').map_or("", |(_, text)| text);
        let Some(name) = attribute(&tag, "name") else {
            continue;
        };
        let (is_input, is_area) = (rest.starts_with("input"), rest.starts_with("textarea"));
        let value = if is_input && tag.contains("type=\"checkbox\"") {
            "true".to_owned()
        } else if is_input {
            attribute(&tag, "value").unwrap_or_default()
        } else if is_area {
            unescape(text.trim_start_matches('\n'))
        } else {
            let options = source
                .split_once(&format!("name=\"{name}\""))
                .map_or("", |(_, rest)| rest);
            let options = options.split("</select>").next().unwrap_or_default();
            let chosen = options
                .split("<option")
                .find(|option| option.contains(" selected"));
            let value = chosen
                .or_else(|| options.split("<option").nth(1))
                .unwrap_or_default();
            attribute(value, "value").unwrap_or_else(|| "suporte-01".to_owned())
        };
        let value = if value.is_empty() {
            fill_field(&name, &tag)
        } else {
            value
        };
        fields.push((name, value));
    }
    fields
}

/// Checks a request against the description of the API.
fn check_request(api: &DescribedApi, page: &str, asked: &AskedRequest) -> String {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let route = api.find_route(&asked.method, path);
    let route = route.unwrap_or_else(|| panic!("{page}: there is no {} {path}", asked.method));
    let taken = api.list_query(&asked.method, &route);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split('=').next().unwrap();
        assert!(taken.contains(name), "{page}: {route} does not take `{name}`");
    }
    let is_json = asked
        .headers
        .get("content-type")
        .is_some_and(|kind| kind == "application/json");
    if is_json {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        let fault = api.find_fault(&asked.method, &route, &body);
        assert_eq!(fault, None, "{page}: {} {route} {body:#}", asked.method);
    }
    if asked.method == "PUT" {
        assert_eq!(asked.headers["if-match"], "\"v1\"", "{page}");
    }
    format!("{} {route}", asked.method)
}

#[tokio::test]
async fn every_form_of_every_page_makes_a_request_that_the_api_takes() {
    let described = DescribedApi::shared();
    let mut made = BTreeSet::new();
    for code in 0..8 {
        let mut api = ApiStandIn::for_role("admin");
        api.kind.code = code;
        api.kind.text = "a text";
        let console = api.console();
        for page in PAGES {
            let path = path_of_page(page.route);
            let (_, _, shown) = send(&console, get(&path, &sign_in())).await;
            for form in find_forms(&shown) {
                let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
                let fields = form.fields.iter();
                let fields = fields.map(|(name, value)| format!("{}={}", encode(name), encode(value)));
                let body = fields.collect::<Vec<_>>().join("&");
                api.take_changes();
                let (status, _, answer) = send(&console, post(&form.action, &sign_in(), &body)).await;
                assert!(
                    status == StatusCode::OK || status == StatusCode::SEE_OTHER,
                    "{path} {form:?}: {status} {answer}"
                );
                for asked in api.take_changes() {
                    made.insert(check_request(described, &path, &asked));
                }
            }
        }
    }
    for route in [
        "PATCH /v1/conversations/{id}",
        "POST /v1/conversations/{id}/messages",
        "POST /v1/conversations/{id}/effects/{number}",
        "DELETE /v1/messages/{id}",
        "POST /v1/dead-letters/redrive",
        "POST /v1/dead-letters/{id}/redrive",
        "DELETE /v1/dead-letters/{id}",
        "DELETE /v1/dead-letters",
        "PUT /v1/instances/{id}",
        "POST /v1/instances/{id}/check",
        "POST /v1/instances/{id}/connect",
        "POST /v1/instances/{id}/pairing",
        "POST /v1/instances/{id}/catch-up",
        "POST /v1/instances/{id}/secret/rotate",
        "PUT /v1/agents/{id}",
        "POST /v1/agents/{id}/knowledge",
        "POST /v1/agents/{id}/knowledge/search",
        "DELETE /v1/agents/{id}/knowledge/{source}",
        "PUT /v1/tools/{id}",
        "PUT /v1/calendars/{id}",
        "POST /v1/occasions/{id}/guests",
        "DELETE /v1/occasions/{id}/guests/{guest}",
        "POST /deliver/batches/{id}/cancel",
        "POST /v1/webhooks",
        "PUT /v1/webhooks/{id}",
        "DELETE /v1/webhooks/{id}",
        "POST /v1/webhooks/{id}/secret/rotate",
        "POST /v1/webhooks/{id}/test",
        "POST /v1/webhooks/{id}/failed/redrive",
        "POST /v1/webhooks/{id}/replay",
        "POST /v1/alerts/test",
        "POST /v1/alerts/notifications/{id}/redrive",
        "POST /v1/tokens",
        "DELETE /v1/tokens/{name}",
        "PUT /v1/tenants/{id}",
        "POST /v1/contacts/find",
        "POST /v1/contacts/erase",
        "POST /simulator/messages",
    ] {
        assert!(made.contains(route), "no form makes {route}: {made:#?}");
    }
}

/// Sends the form that replaces the entry of a page as it is, and returns the JSON that the API got.
async fn save_unchanged(api: &ApiStandIn, page: &str) -> Value {
    let console = api.console();
    let (_, _, shown) = send(&console, get(page, &sign_in())).await;
    let forms = find_forms(&shown).into_iter();
    let mut replacing = forms.filter(|form| form.fields.contains(&("_method".to_owned(), "PUT".to_owned())));
    let form = replacing.next().unwrap();
    // Fields that the page shows empty stay empty, and a box sends its value only if it is checked.
    let checked = shown.contains("value=\"true\" checked");
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let fields = form.fields.iter().filter(|(name, value)| {
        let is_kept = name.starts_with('_') || name.ends_with(":bool");
        is_kept && (checked || value != "true")
    });
    let fields = fields.map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    let body = fields.collect::<Vec<_>>().join("&");
    api.take_changes();
    send(&console, post(&form.action, &sign_in(), &body)).await;
    let asked = api.take_changes();
    serde_json::from_str(&asked[0].body).unwrap()
}

#[tokio::test]
async fn saving_an_entry_that_leaves_out_what_is_usual_switches_nothing_off() {
    let mut api = ApiStandIn::for_role("admin");
    api.kind.is_full = false;
    let agent = save_unchanged(&api, "/console/agents/c_1-1").await;
    assert_eq!(agent["limits"]["end_loops"], true, "{agent}");
    let tool = save_unchanged(&api, "/console/tools/c_1-1").await;
    assert_eq!(tool["once_per_turn"], true, "{tool}");
}
