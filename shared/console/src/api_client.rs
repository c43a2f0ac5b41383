//! Sends requests to the API's router within the process.

use crate::form_body::FormError;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recado_domain::access::{ConsoleRequest, SESSION_PATH};
use recado_domain::secret::Secret;
use serde::Serialize;
use serde_json::Value;
use tower::ServiceExt;

/// The largest answer that a page reads, in bytes. The API's pages are far smaller.
const ANSWER_MAX: usize = 16 * 1024 * 1024;

/// The API of this process.
#[derive(Debug, Clone)]
pub(crate) struct ApiClient(Router);

/// The marks of an entry of the configuration in the headers of an answer. An answer about anything else has empty texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AnswerMarks {
    /// Version of the entry.
    pub(crate) version: String,
    /// Source of the entry: `file`, `changed_since` or `api`.
    pub(crate) source: String,
}

impl AnswerMarks {
    fn from_headers(headers: &HeaderMap) -> Self {
        let read = |name: &str| {
            let text = headers.get(name).and_then(|text| text.to_str().ok());
            text.unwrap_or_default().to_owned()
        };
        Self {
            version: read(header::ETAG.as_str()),
            source: read("x-entry-source"),
        }
    }
}

/// An answer of the API that is no success.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ApiRefusal {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// The kind of the refusal, if the API names it. Pages have words of their own for it.
    pub(crate) code: Option<String>,
    /// The API's words about it, in English.
    pub(crate) detail: String,
}

impl ApiRefusal {
    /// Makes a refusal without a kind.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            code: None,
            detail: detail.into(),
        }
    }

    /// Makes a refusal of a kind, for which pages have words of their own.
    fn of_kind(status: StatusCode, code: &str) -> Self {
        Self {
            code: Some(code.to_owned()),
            ..Self::new(status, "")
        }
    }

    fn wrong_token() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "the token is wrong")
    }

    /// Makes the refusal of a request that the role of the token does not include.
    pub(crate) fn closed_to_role() -> Self {
        Self::of_kind(StatusCode::FORBIDDEN, "role")
    }

    /// Makes the refusal of a form that is too large.
    pub(crate) fn too_large() -> Self {
        Self::of_kind(StatusCode::PAYLOAD_TOO_LARGE, "too_large")
    }

    /// Makes the refusal of a form that cannot become a request.
    pub(crate) fn wrong_form(wrong: &FormError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, wrong.to_string())
    }

    fn unreadable() -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "the answer of the API could not be read")
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
        let (answer, _) = self.read_answer_with_marks(path, session).await?;
        Ok(answer)
    }

    /// Reads what `path` answers to GET, with the marks of an entry.
    pub(crate) async fn read_answer_with_marks(
        &self,
        path: &str,
        session: &Secret,
    ) -> Result<(Value, AnswerMarks), ApiRefusal> {
        let sent = self.send_request(Method::GET, path, session, HeaderMap::new(), Body::empty());
        let response = sent.await;
        let marks = AnswerMarks::from_headers(response.headers());
        Ok((read_answer(response).await?, marks))
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
    let problem = json.unwrap_or_default();
    let read = |name: &str| problem.get(name).and_then(Value::as_str).map(str::to_owned);
    let detail = read("detail").unwrap_or_else(|| status.canonical_reason().unwrap_or("error").to_owned());
    let code = read("code");
    Err(ApiRefusal { status, code, detail })
}
