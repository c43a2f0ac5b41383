//! The Model Context Protocol over HTTP: a request is a POST, which is answered in JSON or by a stream of events.

use super::events::McpEventReader;
use super::failure::McpFailure;
use crate::ANSWER_MAX;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::secret::Secret;
use recado_http_client::read_body_within;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

/// The newest version of the protocol that begins with a handshake. A server may choose an older one.
const NEWEST_WITH_HANDSHAKE: &str = "2025-11-25";

/// The version without handshakes and sessions, in which each request names its sender. It is for servers that know no other.
const WITHOUT_HANDSHAKE: &str = "2026-07-28";

/// The headers with the version that is spoken, and with the name that the server gave the session.
const VERSION_HEADER: &str = "mcp-protocol-version";
const SESSION_HEADER: &str = "mcp-session-id";

/// The headers that a request without a session has besides: its method, and the tool that it calls.
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

/// The header with the last event of a stream that is asked for again.
const LAST_EVENT_HEADER: &str = "last-event-id";

/// The beginning of a header's value that is written in base64.
const IN_BASE64: &str = "=?base64?";

/// The types of answers.
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The code of a request that is not known here.
const METHOD_NOT_FOUND: i64 = -32_601;

/// Waits before a stream that ended is asked for again: the usual one, and the longest that a server may name.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(30);

/// Greatest time for the request that ends a session.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// A connection to a server: what each request to it carries. Its session is ended when the last user drops it.
#[derive(Debug)]
pub(super) struct McpConnection {
    client: Client,
    url: String,
    /// The secret that its requests carry.
    pub(super) secret: Option<Secret>,
    version: Option<HeaderValue>,
    session: Option<HeaderValue>,
    next_id: AtomicU64,
    has_changed: AtomicBool,
}

impl McpConnection {
    /// Begins to speak with a server.
    pub(super) async fn open(
        client: Client,
        url: String,
        secret: Option<Secret>,
    ) -> Result<Self, McpFailure> {
        let mut connection = Self {
            client,
            url,
            secret,
            version: None,
            session: None,
            next_id: AtomicU64::new(1),
            has_changed: AtomicBool::new(false),
        };
        match connection.perform_handshake().await {
            Err(refused @ (McpFailure::Rejected(_) | McpFailure::Failed(_))) => {
                connection.version = Some(HeaderValue::from_static(WITHOUT_HANDSHAKE));
                connection.session = None;
                let asked = connection.send_request("server/discover", &json!({})).await;
                asked.map_err(|_| refused)?;
            }
            result => result?,
        }
        Ok(connection)
    }

    async fn perform_handshake(&mut self) -> Result<(), McpFailure> {
        let hello = json!({
            "protocolVersion": NEWEST_WITH_HANDSHAKE,
            "capabilities": {},
            "clientInfo": describe_client(),
        });
        let (welcome, session) = self.exchange("initialize", &hello).await?;
        let version = welcome["protocolVersion"].as_str();
        let version = version.filter(|version| *version < WITHOUT_HANDSHAKE);
        let version = version.and_then(|version| HeaderValue::from_str(version).ok());
        self.version = Some(version.ok_or_else(McpFailure::other_version)?);
        self.session = session;
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post_message(&begun).await?;
        Ok(())
    }

    fn has_no_sessions(&self) -> bool {
        self.version
            .as_ref()
            .is_some_and(|version| version.as_bytes() == WITHOUT_HANDSHAKE.as_bytes())
    }

    /// Sends a request, and returns its result.
    pub(super) async fn send_request(&self, method: &str, params: &Value) -> Result<Value, McpFailure> {
        let (result, _) = self.exchange(method, params).await?;
        Ok(result)
    }

    /// Returns `true` if the list of the server's tools may be another one now.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::SeqCst)
    }

    /// Notes that the list of the server's tools may be another one now.
    pub(super) fn note_change(&self) {
        self.has_changed.store(true, Ordering::SeqCst);
    }

    /// Receives the server's notifications, for at most so long. A server need not have such a stream. One that ends without an event is
    /// not asked for again.
    pub(super) async fn receive_notifications(self: Arc<Self>, within: Duration) {
        let listens = async {
            while let Some(mut events) = self.open_notifications().await {
                let mut has_told = false;
                while let Ok(Some(event)) = events.next_event().await {
                    has_told = true;
                    self.handle_message(&event, None).await;
                }
                if !has_told {
                    return;
                }
                sleep(AGAIN_AFTER).await;
            }
        };
        let _ = timeout(within, listens).await;
    }

    async fn open_notifications(&self) -> Option<McpEventReader> {
        let answer = if self.has_no_sessions() {
            let wanted = json!({"notifications": {"toolsListChanged": true}});
            let (_, message) = self.write_request("subscriptions/listen", &wanted);
            self.post_message(&message).await.ok()
        } else {
            self.session.as_ref()?;
            let asked = self.build_request(Method::GET).header(ACCEPT, EVENTS);
            asked.send().await.ok()
        };
        answer.and_then(read_stream)
    }

    /// Asks for the rest of a stream that ended before its answer. `None`: the server gave its events no ids, or has no more.
    async fn ask_for_rest(&self, ended: &McpEventReader) -> Option<McpEventReader> {
        let last = ended.last_id()?;
        sleep(ended.retry_after().unwrap_or(AGAIN_AFTER).min(AGAIN_AFTER_MAX)).await;
        let asked = self.build_request(Method::GET).header(ACCEPT, EVENTS);
        let asked = asked.header(LAST_EVENT_HEADER, last);
        asked.send().await.ok().and_then(read_stream)
    }

    /// Sends a request. Returns its result, and the session's name if the answer has one.
    async fn exchange(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<(Value, Option<HeaderValue>), McpFailure> {
        let (id, message) = self.write_request(method, params);
        let mut awaited = AwaitedRequest {
            connection: self,
            cancelled_id: (method != "initialize" && !self.has_no_sessions()).then_some(id),
        };
        let answered = self.await_result(&message, id).await;
        awaited.cancelled_id = None;
        answered
    }

    async fn await_result(
        &self,
        message: &Value,
        id: u64,
    ) -> Result<(Value, Option<HeaderValue>), McpFailure> {
        let answer = self.post_message(message).await?;
        let session = answer.headers().get(SESSION_HEADER).cloned();
        Ok((self.read_result(answer, id).await?, session))
    }

    /// Writes a request, and returns its id with it.
    fn write_request(&self, method: &str, params: &Value) -> (u64, Value) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if self.has_no_sessions() {
            let meta = &mut message["params"]["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(WITHOUT_HANDSHAKE);
            meta["io.modelcontextprotocol/clientInfo"] = describe_client();
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        (id, message)
    }

    fn build_request(&self, method: Method) -> RequestBuilder {
        let mut request = self.client.request(method, self.url.as_str());
        if let Some(secret) = &self.secret {
            request = request.bearer_auth(secret.expose_secret());
        }
        let named = [(VERSION_HEADER, &self.version), (SESSION_HEADER, &self.session)];
        for (name, value) in named {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        request
    }

    /// Posts a message. Returns the answer if the server took it.
    async fn post_message(&self, message: &Value) -> Result<Response, McpFailure> {
        let mut request = self.build_request(Method::POST);
        if self.has_no_sessions() {
            let named = [
                (METHOD_HEADER, &message["method"]),
                (NAME_HEADER, &message["params"]["name"]),
            ];
            for (header, name) in named {
                if let Some(name) = name.as_str() {
                    request = request.header(header, write_header_value(name));
                }
            }
        }
        let request = request.header(ACCEPT, format!("{JSON}, {EVENTS}")).json(message);
        let sent = request.send().await;
        let answer = sent.map_err(|error| McpFailure::from_request_error(&error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(self.read_refusal(answer).await)
    }

    /// Judges an answer that is no success. It may carry an error of the protocol.
    async fn read_refusal(&self, answer: Response) -> McpFailure {
        let status = answer.status();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return McpFailure::Credentials,
            StatusCode::NOT_FOUND if self.session.is_some() => return McpFailure::SessionEnded,
            StatusCode::TOO_MANY_REQUESTS => return McpFailure::from_status(status.as_u16()),
            _ if !is_of_type(&answer, JSON) => return McpFailure::from_status(status.as_u16()),
            _ => {}
        }
        let message = match read_body_within(answer, ANSWER_MAX).await {
            Ok(body) => serde_json::from_slice::<Value>(&body).unwrap_or_default(),
            Err(_) if status.is_server_error() => return McpFailure::from_status(status.as_u16()),
            Err(_) => return McpFailure::broken_answer(),
        };
        if message["error"].is_object() {
            return McpFailure::from_error(&message["error"], self.secret.as_ref());
        }
        McpFailure::from_status(status.as_u16())
    }

    /// Reads the result of a request from its answer.
    async fn read_result(&self, answer: Response, id: u64) -> Result<Value, McpFailure> {
        if is_of_type(&answer, EVENTS) {
            let mut events = McpEventReader::new(answer);
            loop {
                while let Some(event) = events.next_event().await? {
                    if let Some(result) = self.handle_message(&event, Some(id)).await {
                        return result;
                    }
                }
                let rest = self.ask_for_rest(&events).await;
                events = rest.ok_or_else(|| events.into_failure())?;
            }
        }
        if !is_of_type(&answer, JSON) {
            return Err(McpFailure::other_protocol());
        }
        let body = read_body_within(answer, ANSWER_MAX).await;
        let body = body.map_err(|_| McpFailure::broken_answer())?;
        let result = self.handle_message(&body, Some(id)).await;
        result.unwrap_or_else(|| Err(McpFailure::other_protocol()))
    }

    /// Hears a message of the server. Returns the result if it answers the request with this id.
    async fn handle_message(&self, message: &[u8], id: Option<u64>) -> Option<Result<Value, McpFailure>> {
        let mut message: Value = serde_json::from_slice(message).ok()?;
        if let Some(method) = message["method"].as_str() {
            match &message["id"] {
                Value::Null if method == "notifications/tools/list_changed" => self.note_change(),
                Value::Null => {}
                asked => self.answer_server(method, asked).await,
            }
            return None;
        }
        let (id, named) = (id?, &message["id"]);
        let is_same = named.as_u64() == Some(id) || named.as_str() == Some(id.to_string().as_str());
        if message["error"].is_object() && (is_same || named.is_null()) {
            return Some(Err(McpFailure::from_error(
                &message["error"],
                self.secret.as_ref(),
            )));
        }
        let result = message.get_mut("result").filter(|_| is_same)?;
        Some(Ok(result.take()))
    }

    /// Answers a request of the server. Nothing but a ping is known here.
    async fn answer_server(&self, method: &str, id: &Value) {
        let answer = if method == "ping" {
            json!({"jsonrpc": "2.0", "id": id, "result": {}})
        } else {
            let error = json!({"code": METHOD_NOT_FOUND, "message": "it is not known here"});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        };
        // The server may take it or not.
        let _ = self.post_message(&answer).await;
    }
}

/// A request whose answer is awaited. The server is told if nobody waits for it any more.
struct AwaitedRequest<'a> {
    connection: &'a McpConnection,
    /// The id by which the server is told; `None`: it need not know.
    cancelled_id: Option<u64>,
}

impl Drop for AwaitedRequest<'_> {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.cancelled_id, Handle::try_current()) {
            let params = json!({"requestId": id, "reason": "nobody waits for the answer any more"});
            let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            let tells = self.connection.build_request(Method::POST);
            let tells = tells.header(ACCEPT, format!("{JSON}, {EVENTS}")).json(&message);
            runtime.spawn(tells.timeout(END_TIMEOUT).send());
        }
    }
}

impl Drop for McpConnection {
    fn drop(&mut self) {
        if let (Some(_), Ok(runtime)) = (&self.session, Handle::try_current()) {
            let ends = self.build_request(Method::DELETE).timeout(END_TIMEOUT);
            runtime.spawn(ends.send());
        }
    }
}

fn describe_client() -> Value {
    json!({"name": "recado", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns the events of an answer; `None` if it is no stream of events.
fn read_stream(answer: Response) -> Option<McpEventReader> {
    let is_stream = answer.status().is_success() && is_of_type(&answer, EVENTS);
    is_stream.then(|| McpEventReader::new(answer))
}

/// Writes a name as a header may have it: in base64 if it has characters that no header has.
fn write_header_value(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && name.trim() == name;
    if is_plain && !name.starts_with(IN_BASE64) {
        return name.to_owned();
    }
    format!("{IN_BASE64}{}?=", STANDARD.encode(name))
}

fn is_of_type(answer: &Response, wanted: &str) -> bool {
    let named = answer.headers().get(CONTENT_TYPE);
    let named = named.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = named.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
pub(super) mod tests;
