//! The description of the API says which routes there are, who may call them, and what they answer.

mod agreement;
mod composing;
mod pages;
mod texts;

pub(crate) use crate::tests::description::agreement::check_agreement;

use crate::routes::describe_routes;
use crate::tests::description::composing::describe_api;
use crate::tests::description::texts::inline_texts;
use crate::tests::{LIMITS, Site, TOKEN};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The whole description, as the lists of routes say it.
pub(crate) fn description() -> &'static Value {
    static MADE: LazyLock<Value> = LazyLock::new(|| {
        let [public, operators] = describe_routes();
        let mut api = serde_json::to_value(describe_api(public, operators)).unwrap();
        inline_texts(&mut api);
        api
    });
    &MADE
}

/// Every method and path that is described, with its operation.
pub(crate) fn operations(api: &Value) -> impl Iterator<Item = (String, &str, &Value)> {
    let paths = api["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().unwrap().iter();
        item.map(move |(method, operation)| (method.to_uppercase(), path.as_str(), operation))
    })
}

/// `true` if providers call the operation.
pub(crate) fn is_providers(operation: &Value) -> bool {
    operation["tags"] == json!(["Webhooks"])
}

/// `true` if the operation needs the operators' token.
pub(crate) fn is_operators(operation: &Value) -> bool {
    operation["security"] == json!([{"operator_token": []}])
}

#[tokio::test]
async fn without_a_token_every_route_answers_401_but_the_public_ones() {
    let site = Site::in_memory().configured().await;
    let mut public = Vec::new();
    for (method, path, operation) in operations(description()) {
        let answered = site.ask(&method, &path.replace("{id}", "x"), &[], "").await;
        if is_operators(operation) {
            assert_eq!(answered.status, StatusCode::UNAUTHORIZED, "{method} {path}");
        } else if path.starts_with("/unsubscribe/") {
            assert_eq!(
                answered.status,
                StatusCode::NOT_FOUND,
                "{method} {path}: its token is in the path"
            );
        } else if is_providers(operation) || path.starts_with("/v1/files/") {
            // A link to a file holds its proof.
            assert!(
                answered.status.is_client_error(),
                "{method} {path}: {}",
                answered.text
            );
        } else {
            assert!(answered.status.is_success(), "{method} {path}: {}", answered.text);
            public.push(format!("{method} {path}"));
        }
    }
    assert_eq!(
        public,
        [
            "GET /docs",
            "GET /docs.js",
            "GET /health",
            "GET /health/whatsapp",
            "GET /openapi.json"
        ]
    );
}

/// The routes of the router itself. Its debug form holds each path in quotes.
#[tokio::test]
async fn no_route_is_left_out_of_the_description() {
    let printed = format!("{:?}", Site::in_memory().routes_with(LIMITS));
    let quoted = printed.split('"').skip(1).step_by(2);
    let routed: BTreeSet<&str> = quoted.filter(|text| text.starts_with('/')).collect();
    let api = description();
    let described: BTreeSet<&str> = operations(api).map(|(_, path, _)| path).collect();
    // The router's fallbacks are routes of their own, and the sessions are for the console in the process alone.
    let others = ["/", "/{*__private__axum_fallback}", "/console-session"];
    assert_eq!(&routed - &BTreeSet::from(others), described);
}

#[test]
fn each_operation_says_what_a_reader_and_a_generator_of_clients_need() {
    let api = description();
    assert_eq!(api["openapi"], "3.1.0");
    assert_eq!(api["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        api["components"]["securitySchemes"]["operator_token"],
        json!({"type": "http", "scheme": "bearer"})
    );
    let tags: Vec<&Value> = api["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| &tag["name"])
        .collect();
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations(api) {
        let place = format!("{method} {path}");
        assert!(
            names.insert(operation["operationId"].as_str().unwrap()),
            "{place}"
        );
        assert!(
            operation["summary"].as_str().unwrap().ends_with('.') && tags.contains(&&operation["tags"][0]),
            "{place}"
        );
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(
                parameter["description"].is_string(),
                "{place}: {}",
                parameter["name"]
            );
        }
    }
}

#[tokio::test]
async fn the_page_needs_nothing_from_elsewhere() {
    let site = Site::in_memory();
    let page = site.ask("GET", "/docs", &[], "").await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let script = site.ask("GET", "/docs.js", &[], "").await;
    for text in [&page.text, &script.text] {
        assert!(!text.contains("//cdn") && !text.contains("https:") && !text.contains("innerHTML"));
    }
    assert!(page.text.contains(r#"<script src="docs.js">"#));
    assert!(script.text.contains(r#"fetch("openapi.json")"#));
    assert!(!page.text.contains(TOKEN) && !script.text.contains(TOKEN));
}
