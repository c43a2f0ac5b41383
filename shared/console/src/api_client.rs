//! Sends requests to the API's router within the process.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recado_domain::access::{ConsoleRequest, SESSION_PATH};
use recado_domain::secret::Secret;
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
    fn wrong_token() -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            detail: "the token is wrong".to_owned(),
        }
    }

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

    /// Sends a request within a session and returns the answer. `headers` are those that the API is to see.
    pub(crate) async fn send_request(
        &self,
        method: Method,
        path: &str,
        session: &Secret,
        headers: HeaderMap,
        body: Body,
    ) -> Response {
        let console = ConsoleRequest::Session(session.clone());
        self.send_as(console, method, path, headers, body).await
    }

    /// Begins a session on a token. Returns its text.
    pub(crate) async fn begin_session(&self, token: &str) -> Result<Secret, ApiRefusal> {
        let authorization =
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ApiRefusal::wrong_token())?;
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, authorization)]);
        let sent = self.send_as(
            ConsoleRequest::SignIn,
            Method::POST,
            SESSION_PATH,
            headers,
            Body::empty(),
        );
        let answer = read_answer(sent.await).await?;
        let session = answer
            .get("session")
            .and_then(Value::as_str)
            .and_then(Secret::new);
        session.ok_or_else(ApiRefusal::unreadable)
    }

    /// Ends a session on the server.
    pub(crate) async fn end_session(&self, session: &Secret) -> Result<(), ApiRefusal> {
        let sent = self.send_request(
            Method::DELETE,
            SESSION_PATH,
            session,
            HeaderMap::new(),
            Body::empty(),
        );
        read_answer(sent.await).await.map(drop)
    }

    async fn send_as(
        &self,
        console: ConsoleRequest,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Body,
    ) -> Response {
        let built = Request::builder().method(method).uri(path).body(body);
        let Ok(mut request) = built else {
            return StatusCode::NOT_FOUND.into_response();
        };
        *request.headers_mut() = headers;
        request.extensions_mut().insert(console);
        match self.0.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// Reads what `path` answers to GET.
    pub(crate) async fn read_json_answer(&self, path: &str, session: &Secret) -> Result<Value, ApiRefusal> {
        let (answer, _) = self.read_answer_with_version(path, session).await?;
        Ok(answer)
    }

    /// Reads what `path` answers to GET, with its version. An answer without a version has an empty one.
    pub(crate) async fn read_answer_with_version(
        &self,
        path: &str,
        session: &Secret,
    ) -> Result<(Value, String), ApiRefusal> {
        let sent = self.send_request(Method::GET, path, session, HeaderMap::new(), Body::empty());
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
