//! Serves a router as a function behind the HTTP API.

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::routing::any;
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Error};
use lambda_runtime::LambdaEvent;
use lambda_runtime::tower::ServiceExt;
use recado_http::HttpProblem;

/// The route of requests whose URI cannot be read. It takes the place of their path.
const UNREADABLE: &str = "/unreadable-uri";

/// Serves a router. A request whose URI cannot be read is answered 400; `lambda_http` alone would end the invocation.
pub async fn serve_router(router: Router) -> Result<(), Error> {
    let service = Adapter::from(add_refusal(router)).map_request(replace_unreadable_uri);
    lambda_runtime::run(service).await
}

fn add_refusal(router: Router) -> Router {
    router.route(UNREADABLE, any(refuse_request))
}

async fn refuse_request() -> HttpProblem {
    HttpProblem::new(StatusCode::BAD_REQUEST, "the URI cannot be read")
}

fn replace_unreadable_uri(mut event: LambdaEvent<LambdaRequest>) -> LambdaEvent<LambdaRequest> {
    if let LambdaRequest::ApiGatewayV2(request) = &mut event.payload {
        let path = request.raw_path.as_deref().unwrap_or_default();
        let query = request.raw_query_string.as_deref().unwrap_or_default();
        if !is_readable(path, query) {
            request.raw_path = Some(UNREADABLE.to_owned());
            request.raw_query_string = None;
        }
    }
    event
}

/// Returns `true` if a path, which is escaped first, and a query make a URI.
fn is_readable(path: &str, query: &str) -> bool {
    let url = reqwest::Url::parse(&format!("https://localhost{path}"));
    url.is_ok_and(|url| format!("{url}?{query}").parse::<Uri>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_runtime::Context;
    use serde_json::{Value, json};

    async fn ask(path: &str, query: &str) -> Value {
        let http = json!({"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.1", "userAgent": "test"});
        let context = json!({"http": http, "stage": "$default", "accountId": "1", "apiId": "api", "domainName": "api.example",
            "domainPrefix": "api", "requestId": "1", "routeKey": "$default", "time": "now", "timeEpoch": 1});
        let request = json!({"version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query,
            "headers": {"host": "api.example"}, "requestContext": context, "isBase64Encoded": false});
        let request: LambdaRequest = serde_json::from_value(request).unwrap();
        let router = add_refusal(Router::new().route("/health", any(|| async { "fine" })));
        let service = Adapter::from(router).map_request(replace_unreadable_uri);
        let answer = service
            .oneshot(LambdaEvent::new(request, Context::default()))
            .await;
        serde_json::to_value(answer.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_uri_that_cannot_be_read_is_a_bad_request() {
        assert_eq!(ask("/health", "a=b%3C").await["statusCode"], 200);
        for query in ["a=<script>", "a=b c", "a=\u{7f}"] {
            assert_eq!(ask("/health", query).await["statusCode"], 400, "{query}");
        }
    }
}
