//! A server of the Model Context Protocol, made with the server side of the official crate.

use super::host::Host;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Router, http};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The versions of the protocol that a server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpVersions {
    /// Those that begin with a handshake.
    WithHandshake,
    /// The newest, too.
    All,
    /// The newest alone, which has no handshake.
    WithoutHandshake,
}

/// The behaviour of a tool when it is called.
#[derive(Debug, Clone)]
pub enum McpDoes {
    /// Returns this text.
    Says(String),
    /// Returns this as structured content.
    Returns(Value),
    /// Says that it failed, in these words.
    Fails(String),
    /// Answers with an error of the protocol.
    Errors(ErrorCode, String),
    /// Never answers.
    Hangs,
}

/// A call as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct McpCall {
    /// Name of the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// The effect's id, from `_meta`.
    pub effect: Option<String>,
    /// The header `Authorization`.
    pub authorization: Option<String>,
}

/// A running server; stopped when dropped.
#[derive(Debug)]
pub struct McpStandIn {
    host: Host,
    book: Arc<McpBook>,
}

#[derive(Debug)]
struct McpBook {
    versions: McpVersions,
    tools: Mutex<BTreeMap<String, (Tool, McpDoes)>>,
    calls: Mutex<Vec<McpCall>>,
    lists: Mutex<usize>,
    token: Mutex<Option<String>>,
    /// Grows with every change of the list.
    changes: watch::Sender<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl McpStandIn {
    /// Starts one on any free port of 127.0.0.1. It has no tools yet.
    ///
    /// # Panics
    /// When there is no free port.
    #[expect(
        clippy::expect_used,
        reason = "a test on a machine without a free port cannot go on"
    )]
    pub fn start(versions: McpVersions) -> Self {
        let book = Arc::new(McpBook {
            versions,
            tools: Mutex::default(),
            calls: Mutex::default(),
            lists: Mutex::default(),
            token: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        let server = McpHandler { book: book.clone() };
        let service: StreamableHttpService<McpHandler, LocalSessionManager> = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::default(),
            StreamableHttpServerConfig::default(),
        );
        let guard = book.clone();
        let router = Router::new()
            .nest_service("/mcp", service)
            .layer(middleware::from_fn(move |request, next| {
                let guard = guard.clone();
                async move { guard.check_token(request, next).await }
            }));
        let host = Host::start(0, router).expect("a free port of 127.0.0.1");
        Self { host, book }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.host.url())
    }

    /// Adds a tool, or changes it. Clients are told that the list changed.
    pub fn set_tool(&self, name: &str, description: &str, arguments: &Value, does: McpDoes) {
        let schema = arguments.as_object().cloned().unwrap_or_default();
        let tool = Tool::new(name.to_owned(), description.to_owned(), schema);
        lock(&self.book.tools).insert(name.to_owned(), (tool, does));
        self.book.changes.send_modify(|changes| *changes += 1);
    }

    /// Removes a tool, and tells nobody.
    pub fn remove_tool(&self, name: &str) {
        lock(&self.book.tools).remove(name);
    }

    /// Requires this bearer token of every request.
    pub fn require_token(&self, token: &str) {
        *lock(&self.book.token) = Some(token.to_owned());
    }

    /// Returns the calls so far.
    pub fn calls(&self) -> Vec<McpCall> {
        lock(&self.book.calls).clone()
    }

    /// Returns how often the tools were listed.
    pub fn count_lists(&self) -> usize {
        *lock(&self.book.lists)
    }
}

impl McpBook {
    async fn check_token(&self, request: Request, next: Next) -> Response {
        let wanted = lock(&self.token).clone();
        let given = read_authorization(request.headers());
        if wanted.is_some_and(|token| given != Some(format!("Bearer {token}"))) {
            return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response();
        }
        next.run(request).await
    }
}

fn read_authorization(headers: &http::HeaderMap) -> Option<String> {
    Some(headers.get(AUTHORIZATION)?.to_str().ok()?.to_owned())
}

#[derive(Debug, Clone)]
struct McpHandler {
    book: Arc<McpBook>,
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match self.book.versions {
            McpVersions::WithHandshake => Cow::Borrowed(&[ProtocolVersion::V_2025_11_25]),
            McpVersions::All => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
            McpVersions::WithoutHandshake => Cow::Borrowed(&[ProtocolVersion::V_2026_07_28]),
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.book.changes.subscribe();
        changes.mark_unchanged();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                told = changes.changed() => {
                    if told.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.book.changes.subscribe();
        changes.mark_unchanged();
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        *lock(&self.book.lists) += 1;
        let tools = lock(&self.book.tools)
            .values()
            .map(|(tool, _)| tool.clone())
            .collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let headers = context.extensions.get::<http::request::Parts>();
        let meta = context
            .meta
            .get("recado/effect_id")
            .or_else(|| request.meta.as_ref()?.get("recado/effect_id"));
        lock(&self.book.calls).push(McpCall {
            tool: request.name.to_string(),
            arguments: Value::Object(request.arguments.clone().unwrap_or_default()),
            effect: meta.and_then(|id| Some(id.as_str()?.to_owned())),
            authorization: headers.and_then(|parts| read_authorization(&parts.headers)),
        });
        let does = lock(&self.book.tools)
            .get(&*request.name)
            .map(|(_, does)| does.clone());
        let does = does.ok_or_else(|| ErrorData::invalid_params("tool not found", None))?;
        Ok(match does {
            McpDoes::Says(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            McpDoes::Returns(value) => CallToolResult::structured(value),
            McpDoes::Fails(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
            McpDoes::Errors(code, text) => return Err(ErrorData::new(code, text, None)),
            McpDoes::Hangs => std::future::pending().await,
        }
        .into())
    }
}
