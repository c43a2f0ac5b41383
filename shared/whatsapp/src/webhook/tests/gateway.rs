//! The routes of the stack's HTTP API are the handlers' own.

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

/// Method and path of every route of every handler, with `x` for each parameter.
fn handler_paths() -> Vec<(&'static str, String)> {
    let fill = |path: &str| {
        let segments = path.split('/');
        let filled = segments.map(|segment| if segment.starts_with('{') { "x" } else { segment });
        filled.collect::<Vec<_>>().join("/")
    };
    let of_handler = |(_, handler): (Provider, &'static dyn WebhookHandler)| {
        let methods = ["POST"].into_iter().chain(handler.handshake().map(|_| "GET"));
        methods.flat_map(move |method| handler.paths().iter().map(move |path| (method, fill(path))))
    };
    webhook_handlers().flat_map(of_handler).collect()
}

#[test]
fn each_path_of_a_handler_leads_to_the_webhook_function() {
    let routes = routes();
    let all = handler_paths();
    assert!(all.len() > 15, "{all:?}");
    for (method, path) in all {
        let led = routes
            .iter()
            .any(|(known, route, webhook)| *known == method && *webhook && takes(route, &path));
        assert!(led, "{method} {path}");
    }
}

#[test]
fn each_route_to_the_webhook_function_is_a_handlers_path() {
    let handlers = handler_paths();
    let of_webhooks = routes().into_iter().filter(|(_, _, webhook)| *webhook);
    for (method, route, _) in of_webhooks {
        let found = handlers
            .iter()
            .any(|(known, path)| *known == method && takes(route, path));
        assert!(found, "{method} {route} leads nowhere");
    }
}
