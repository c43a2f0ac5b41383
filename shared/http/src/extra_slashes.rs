//! Webhook paths with slashes too many, as people write them into a provider's page: `/webhooks/meta/`, `//webhooks/meta`.

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::middleware::map_request;
use recado_whatsapp::webhook_handlers;

/// Returns `router` with webhook paths read without their empty segments. All other paths stay as they are.
pub fn accept_extra_slashes(router: Router) -> Router {
    // A layer of the router itself would run after the route was chosen.
    Router::new()
        .fallback_service(router)
        .layer(map_request(async |mut request: Request| {
            if let Some(uri) = remove_extra_slashes(request.uri()) {
                *request.uri_mut() = uri;
            }
            request
        }))
}

/// Returns the URI of a webhook without the empty segments of its path. `None`: it has none, or it is no webhook's.
fn remove_extra_slashes(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !path.contains("//") && !path.ends_with('/') {
        return None;
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    if !is_webhook_path(&segments) {
        return None;
    }
    let mut written = format!("/{}", segments.join("/"));
    if let Some(query) = uri.query() {
        written.push('?');
        written.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(written).ok()?);
    Uri::from_parts(parts).ok()
}

/// Returns `true` if a provider has paths that begin with the first two of `segments`.
fn is_webhook_path(segments: &[&str]) -> bool {
    let begin = |path: &'static str| path.split('/').skip(1).take(2);
    segments.len() >= 2
        && webhook_handlers()
            .flat_map(|(_, handler)| handler.paths())
            .any(|path| begin(path).eq(segments.iter().copied().take(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_webhook_paths_lose_their_empty_segments() {
        let written = |uri: &str| remove_extra_slashes(&uri.parse().unwrap()).map(|uri| uri.to_string());
        for (uri, expected) in [
            ("/webhooks/meta/", "/webhooks/meta"),
            ("//webhooks//meta//?a=b//&c", "/webhooks/meta?a=b//&c"),
            (
                "/webhooks/evolution//messages-upsert",
                "/webhooks/evolution/messages-upsert",
            ),
            ("/wa/webhook//100000000000002/", "/wa/webhook/100000000000002"),
            (
                "https://h.example//webhook/whatsapp/?x=1",
                "https://h.example/webhook/whatsapp?x=1",
            ),
        ] {
            assert_eq!(written(uri).as_deref(), Some(expected), "{uri}");
        }
        for uri in [
            "/",
            "//",
            "/health/",
            "/v1//messages",
            "/webhooks/",
            "/webhooks/telegram/",
            "/webhooks/meta",
            "/console/",
        ] {
            assert_eq!(written(uri), None, "{uri}");
        }
    }
}
