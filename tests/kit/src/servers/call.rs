//! A request as the stand-ins read it, and what all of them do with one.

use super::behaviour::{Behaviour, answer};
use super::cut::Cut;
use super::journal::{Journal, Recorded};
use axum::Json;
use axum::body::Bytes;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use recado_domain::Timestamp;
use recado_domain::secret::hmac_sha256;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A request that came in full. It stands in the journal already.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) request: Recorded,
    journal: Arc<Journal>,
    cut: Cut,
}

impl FromRequest<Arc<Journal>> for Call {
    type Rejection = Response;

    async fn from_request(request: Request, journal: &Arc<Journal>) -> Result<Self, Response> {
        let cut = request
            .extensions()
            .get::<ConnectInfo<Cut>>()
            .map(|info| info.0.clone())
            .unwrap_or_default();
        let method = request.method().to_string();
        let path = request.uri().path().to_owned();
        let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = request
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect();
        let bytes = Bytes::from_request(request, journal)
            .await
            .map_err(IntoResponse::into_response)?;
        let body = match serde_json::from_slice(&bytes) {
            Ok(body) => body,
            Err(_) if bytes.is_empty() => Value::Null,
            Err(_) => Value::String(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let request = Recorded {
            method,
            path,
            headers,
            body,
            at: Timestamp::now(),
        };
        journal.record(request.clone());
        Ok(Self {
            request,
            journal: journal.clone(),
            cut,
        })
    }
}

/// Why a request is refused.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    /// The key is not the expected one: a test's doing.
    Credential,
    /// It is wrong.
    Wrong(String),
}

/// A request that is wrong for this reason.
pub(super) fn wrong<T>(what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Wrong(what.into()))
}

impl Call {
    /// A header, if it is there and not empty.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.request
            .headers
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Checks the key of a request.
    pub(super) fn check_credential(&self, shown: Option<&str>, missing: &str) -> Result<(), Refusal> {
        match shown {
            None => wrong(missing),
            Some(shown) if self.journal.is_credential(shown) => Ok(()),
            Some(_) => Err(Refusal::Credential),
        }
    }

    /// Checks that the body is declared as JSON and is an object.
    pub(super) fn check_json(&self) -> Result<(), Refusal> {
        let kind = self.header("content-type").unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return wrong("content-type is not application/json");
        }
        if self.request.body.is_object() {
            Ok(())
        } else {
            wrong("the body is no JSON object")
        }
    }

    /// A text in the body that is not empty.
    pub(super) fn text(&self, pointer: &str) -> Result<&str, Refusal> {
        match self.request.body.pointer(pointer) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            Some(Value::String(_)) => wrong(format!("{pointer} is empty")),
            Some(_) => wrong(format!("{pointer} is no string")),
            None => wrong(format!("{pointer} is missing")),
        }
    }

    /// Enters what is wrong into the journal.
    pub(super) fn violate(&self, what: &str) {
        self.journal.violate(&self.request.path, what);
    }

    /// Breaks the connection; what is returned never leaves.
    fn dropped(&self) -> Response {
        self.cut.now();
        StatusCode::NO_CONTENT.into_response()
    }

    /// Does what is next, where `accept` is what it does if all is well.
    pub(super) async fn perform(
        self,
        accept: impl FnOnce(&Journal, &Recorded) -> Response + Send + 'static,
    ) -> Response {
        match self.journal.take_behaviour(&self.request) {
            Behaviour::Normal => accept(&self.journal, &self.request),
            Behaviour::Status { code, body, headers } => answer(code, body, &headers),
            Behaviour::AcceptThenDrop => {
                let response = accept(&self.journal, &self.request);
                self.cut.now();
                response
            }
            Behaviour::Drop => self.dropped(),
            Behaviour::Swallow(wait) => {
                tokio::time::sleep(wait).await;
                self.dropped()
            }
            Behaviour::Hang(wait) => {
                let journal = self.journal.clone();
                let waiting = Waiting(journal.clone(), false);
                let hanging = async move { journal.hang(wait).await };
                let response = late(hanging, move || accept(&self.journal, &self.request)).await;
                waiting.answered();
                response
            }
        }
    }
}

/// A client that waits for its answer; it is noted if it gives up.
struct Waiting(Arc<Journal>, bool);

impl Waiting {
    fn answered(mut self) {
        self.1 = true;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.1 {
            self.0.note_given_up();
        }
    }
}

/// Accepts later, in a task of its own: a client that gives up ends only the waiting for it.
async fn late(
    hanging: impl Future<Output = ()> + Send + 'static,
    accept: impl FnOnce() -> Response + Send + 'static,
) -> Response {
    let accepting = tokio::spawn(async move {
        hanging.await;
        accept()
    });
    accepting
        .await
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, body: Value) -> Response {
    (status, Json(body)).into_response()
}

/// 40 hexadecimal digits that no other call gives, in this process or the next: a provider's ids do not begin anew when
/// it restarts.
pub(super) fn fresh() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = Timestamp::now().as_nanosecond();
    digits(&format!("{now}.{count}.{}", std::process::id()))
}

/// 40 hexadecimal digits, the same for the same text.
pub(super) fn digits(text: &str) -> String {
    hex::encode(&hmac_sha256(b"stand-in", text.as_bytes())[..20])
}
