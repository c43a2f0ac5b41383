//! Sends requests to the API's router within the process.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tower::ServiceExt;

/// The largest answer that a page reads, in bytes. The API's pages are far smaller.
const ANSWER_MAX: usize = 16 * 1024 * 1024;

/// The API of this process.
#[derive(Debug, Clone)]
pub(crate) struct ApiClient(Router);

/// An answer of the API that is no success.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiRefusal {
    pub(crate) status: StatusCode,
    /// The API's words about it, in English.
    pub(crate) detail: String,
}

impl ApiRefusal {
    fn unreadable() -> Self {
        Self {
            status: StatusCode::BAD_GATEWAY,
            detail: "the answer of the API could not be read".to_owned(),
        }
    }
}

impl ApiClient {
    pub(crate) fn new(api: Router) -> Self {
        Self(api)
    }

    /// Sends a request with the token and returns the answer. `headers` are those that the API is to see.
    pub(crate) async fn send_request(
        &self,
        method: Method,
        path: &str,
        token: &str,
        headers: HeaderMap,
        body: Body,
    ) -> Response {
        let Ok(authorization) = HeaderValue::from_str(&format!("Bearer {token}")) else {
            return StatusCode::UNAUTHORIZED.into_response();
        };
        let built = Request::builder().method(method).uri(path).body(body);
        let Ok(mut request) = built else {
            return StatusCode::NOT_FOUND.into_response();
        };
        *request.headers_mut() = headers;
        request.headers_mut().insert(header::AUTHORIZATION, authorization);
        match self.0.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// Reads what `path` answers to GET.
    pub(crate) async fn read_json_answer(&self, path: &str, token: &str) -> Result<Value, ApiRefusal> {
        let (answer, _) = self.read_answer_with_version(path, token).await?;
        Ok(answer)
    }

    /// Reads what `path` answers to GET, with its version. An answer without a version has an empty one.
    pub(crate) async fn read_answer_with_version(
        &self,
        path: &str,
        token: &str,
    ) -> Result<(Value, String), ApiRefusal> {
        let sent = self.send_request(Method::GET, path, token, HeaderMap::new(), Body::empty());
        let response = sent.await;
        let version = response
            .headers()
            .get(header::ETAG)
            .and_then(|version| version.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        Ok((read_answer(response).await?, version))
    }
}

/// Reads an answer: its JSON if it is a success (`Null` if it has no body), else why it is none.
pub(crate) async fn read_answer(response: Response) -> Result<Value, ApiRefusal> {
    let status = response.status();
    let read = to_bytes(response.into_body(), ANSWER_MAX).await;
    let bytes = read.map_err(|_| ApiRefusal::unreadable())?;
    let json = serde_json::from_slice::<Value>(&bytes);
    if status.is_success() {
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        return json.map_err(|_| ApiRefusal::unreadable());
    }
    let told = json
        .ok()
        .and_then(|problem| Some(problem.get("detail")?.as_str()?.to_owned()));
    let detail = told.unwrap_or_else(|| status.canonical_reason().unwrap_or("error").to_owned());
    Err(ApiRefusal { status, detail })
}
