//! What stands in the repository about the API is what the description says.

use crate::routes::compare_routes;
use crate::tests::Site;
use crate::tests::description::agreement::fits;
use crate::tests::description::{Value, description, is_providers, operations};
use std::collections::BTreeSet;

const HTTP_PAGE: &str = include_str!("../../../../../docs/http-api.md");
const EXAMPLES: &str = include_str!("../../../../../docs/http-examples.md");
const TEMPLATE: &str = include_str!("../../../../../template.yaml");
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

/// With `UPDATE_DOCS=1` in the environment the file is written.
#[test]
fn the_kept_description_is_the_routers() {
    let text = format!("{}\n", serde_json::to_string_pretty(description()).unwrap());
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(KEPT, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(KEPT).is_ok_and(|kept| kept == text),
        "docs/openapi.json is not what the lists of routes say. Run: UPDATE_DOCS=1 cargo test -p recado-features kept_description"
    );
}

/// The router takes method and path of a handler from the lists, the description takes them from the handler.
#[test]
fn the_kept_description_puts_each_handler_where_the_router_does() {
    let mut listed = BTreeSet::new();
    for (place, described) in compare_routes() {
        assert_eq!(
            place, described,
            "api.rs lists another method or path than the handler names"
        );
        let (methods, path) = place;
        let method = methods[0].as_str().unwrap().to_uppercase();
        assert!(
            listed.insert(format!("{method} {path}")),
            "{method} {path} is listed twice"
        );
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(KEPT).unwrap()).unwrap();
    let described: BTreeSet<_> = operations(&kept)
        .filter(|(_, _, operation)| !is_providers(operation))
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    assert_eq!(listed, described);
}

#[tokio::test]
async fn the_kept_description_is_served() {
    let served = Site::in_memory().ask("GET", "/openapi.json", &[], "").await;
    assert_eq!(served.header("content-type"), Some("application/json"));
    assert_eq!(served.text, std::fs::read_to_string(KEPT).unwrap());
}

/// The rows of the tables name the routes, each `METHOD /path` or `METHOD, METHOD /path` in backquotes.
#[test]
fn the_page_names_every_route_and_no_other() {
    let routes = HTTP_PAGE.split("\n## Routes\n").nth(1).unwrap();
    let routes = routes.split("\n## ").next().unwrap();
    let (before, after) = routes.split_once("\n### Webhooks\n").unwrap();
    let after = after.split_once("\n### ").unwrap().1;
    let mut told = BTreeSet::new();
    for row in [before, after].iter().flat_map(|part| part.lines()) {
        let cell = row.strip_prefix("| `").and_then(|row| row.split(" | ").next());
        for route in cell.into_iter().flat_map(|cell| cell.split('`').step_by(2)) {
            let (methods, path) = route.rsplit_once(' ').unwrap();
            told.extend(methods.split(", ").map(|method| format!("{method} {path}")));
        }
    }
    let described: BTreeSet<_> = operations(description())
        .filter(|(_, _, operation)| !is_providers(operation))
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    assert_eq!(told, described);
}

/// API Gateway sends the webhooks to their function, and what fits no route of the template to the function `api`.
#[test]
fn the_stack_sends_every_described_path_to_its_function() {
    let rest = TEMPLATE.split("RouteKey: $default").nth(1).unwrap();
    assert!(
        rest.trim()
            .starts_with(r#"Target: !Sub "integrations/${ApiIntegration}""#)
    );
    let prefixes: Vec<_> = TEMPLATE
        .lines()
        .filter_map(|line| line.trim().strip_prefix("RouteKey: ")?.split_once(' '))
        .map(|(_, path)| path.split("/{").next().unwrap())
        .collect();
    assert!(prefixes.contains(&"/webhooks"), "{prefixes:?}");
    for (_, path, operation) in operations(description()) {
        assert_eq!(
            prefixes.iter().any(|prefix| path.starts_with(prefix)),
            is_providers(operation),
            "{path} and {prefixes:?}"
        );
    }
}

/// Each route has an example, which a test of `functions/local` runs. The page and its script are for browsers, the webhooks
/// for providers.
#[test]
fn every_route_has_an_example() {
    let page = EXAMPLES.replace("\\\n", " ");
    let calls = page.split("curl -sS").skip(1).filter_map(|call| {
        let call = call.split("\ncurl ").next()?.split("\n```").next()?;
        let path = call.split_once("\"$RECADO")?.1.split(['"', '?']).next()?;
        let stated = call
            .split_once("-X ")
            .map(|(_, rest)| rest.split(' ').next().unwrap());
        let posts = call.contains("--json") || call.contains("--data");
        Some((stated.unwrap_or(if posts { "POST" } else { "GET" }), path))
    });
    let calls: Vec<_> = calls.collect();
    for (method, route, operation) in operations(description()) {
        let shown = |(said, path): &(&str, &str)| *said == method && fits(route, path);
        assert!(
            route.starts_with("/docs") || is_providers(operation) || calls.iter().any(shown),
            "docs/http-examples.md has no {method} {route}"
        );
    }
}
