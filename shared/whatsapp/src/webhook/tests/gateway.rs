//! The routes of the stack's HTTP API are the doors' own.

use super::*;

const TEMPLATE: &str = include_str!("../../../../../template.yaml");

/// Method and path of each route, and whether it leads to the webhook function.
fn routes() -> Vec<(&'static str, &'static str, bool)> {
    let mut lines = TEMPLATE.lines();
    let mut routes = Vec::new();
    while let Some(line) = lines.next() {
        let Some(key) = line.trim().strip_prefix("RouteKey: ") else {
            continue;
        };
        let target = lines.next().unwrap();
        if let Some((method, path)) = key.split_once(' ') {
            routes.push((method, path, target.contains("WebhookIntegration")));
        }
    }
    routes
}

/// Whether a route's path takes this one: a segment in braces takes any, one with a plus all that follow.
fn takes(route: &str, path: &str) -> bool {
    let (mut route, mut path) = (route.split('/'), path.split('/'));
    loop {
        match (route.next(), path.next()) {
            (None, None) => return true,
            (Some(wanted), Some(_)) if wanted.ends_with("+}") => return true,
            (Some(wanted), Some(found)) if wanted == found || wanted.starts_with('{') => {}
            _ => return false,
        }
    }
}

/// Every path of every door, with as many segments behind it as it may have.
fn doors_paths() -> Vec<(WebhookMethod, String)> {
    let rests = ["", "/x", "/x/y", "/k/x/y"];
    let mut all = Vec::new();
    for path in all_path_prefixes() {
        for path in rests.map(|rest| format!("{path}{rest}")) {
            let methods = [WebhookMethod::Get, WebhookMethod::Post];
            let has = |method: &WebhookMethod| WebhookRoute::for_path(Some(*method), &path).is_ok();
            all.extend(
                methods
                    .into_iter()
                    .filter(has)
                    .map(|method| (method, path.clone())),
            );
        }
    }
    all
}

#[test]
fn each_path_of_a_door_leads_to_the_webhook_function() {
    let routes = routes();
    let all = doors_paths();
    assert!(all.len() > 15, "{all:?}");
    for (method, path) in all {
        let name = if method == WebhookMethod::Get {
            "GET"
        } else {
            "POST"
        };
        let led = routes
            .iter()
            .any(|(known, route, webhook)| *known == name && *webhook && takes(route, &path));
        assert!(led, "{name} {path}");
    }
}

#[test]
fn each_route_to_the_webhook_function_is_a_doors_path() {
    let doors = doors_paths();
    let of_webhooks = routes().into_iter().filter(|(_, _, webhook)| *webhook);
    for (method, route, _) in of_webhooks {
        let wanted = if method == "GET" {
            WebhookMethod::Get
        } else {
            WebhookMethod::Post
        };
        let found = doors
            .iter()
            .any(|(method, path)| *method == wanted && takes(route, path));
        assert!(found, "{method} {route} leads nowhere");
    }
}
