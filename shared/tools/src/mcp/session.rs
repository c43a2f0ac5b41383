//! A session with a server: its connection, the list of its tools, and for how long both are kept.

use super::failure::McpFailure;
use crate::{ANSWER_MAX, hide_secret};
use recado_domain::file_text::clean_file_name;
use recado_domain::ids::TenantId;
use recado_domain::secret::Secret;
use recado_domain::tools::{McpListing, McpServer, Tool};
use recado_http_client::{GuardedClients, HostReach};
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams, ProtocolVersion,
    SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a session is kept, with the list of the server's tools.
const KEPT: Duration = Duration::from_secs(300);

/// Greatest number of servers with which sessions are kept.
const KEPT_MAX: usize = 256;

/// Greatest number of pages of one list, and of tools in it.
const PAGES_MAX: usize = 20;
const LISTED_MAX: usize = 500;

/// Time for the check of a list's schemas. It is far more than they need; tools behind it are not listed.
const CHECKED_WITHIN: Duration = Duration::from_secs(2);

/// Greatest size of an error's text that is read, in bytes.
const ERROR_MAX: usize = 4 * 1024;

/// The server of a session, and whose credential it has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ServerKey {
    tenant: TenantId,
    url: String,
    credential: Option<String>,
}

impl ServerKey {
    pub(super) fn new(tool: &Tool, server: &McpServer) -> Self {
        Self {
            tenant: tool.tenant.clone(),
            url: server.url.clone(),
            credential: server.credential.clone().map(String::from),
        }
    }
}

/// The place of a session. Whoever opens one holds it, so that others wait for the same.
type SessionPlace = Arc<tokio::sync::Mutex<Option<Arc<McpSession>>>>;

/// The sessions that are kept.
#[derive(Debug, Default)]
pub(super) struct SessionShelf {
    places: Mutex<BTreeMap<ServerKey, SessionPlace>>,
}

impl SessionShelf {
    /// Returns the place of a server's session. If there are too many, those that nobody uses now are closed.
    pub(super) fn find_place(&self, key: &ServerKey) -> SessionPlace {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= KEPT_MAX && !places.contains_key(key) {
            places.retain(|_, place| Arc::strong_count(place) > 1);
        }
        places.entry(key.clone()).or_default().clone()
    }

    /// Has the next call open another session than this one.
    pub(super) fn close_session(&self, key: &ServerKey, session: &Arc<McpSession>) {
        session.changed.store(true, Ordering::SeqCst);
        let place = self.find_place(key);
        if let Ok(mut kept) = place.try_lock()
            && kept.as_ref().is_some_and(|one| Arc::ptr_eq(one, session))
        {
            *kept = None;
        }
    }
}

/// A session with a server. It is closed when the last user drops it.
#[derive(Debug)]
pub(super) struct McpSession {
    pub(super) running: RunningService<RoleClient, ListWatch>,
    /// The tools that the server listed.
    pub(super) tools: Vec<McpListing>,
    /// The secret that its requests carry.
    pub(super) secret: Option<Secret>,
    changed: Arc<AtomicBool>,
    reach: HostReach,
    opened_at: Instant,
}

/// The handler of a server's messages. Only that the list of tools changed is heard.
#[derive(Debug)]
pub(super) struct ListWatch {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for ListWatch {
    fn get_info(&self) -> ClientConfig {
        let recado = Implementation::new("recado", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), recado)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::SeqCst);
    }
}

impl McpSession {
    /// Opens a session and lists the server's tools.
    pub(super) async fn open(
        clients: &GuardedClients,
        reach: HostReach,
        server: &McpServer,
        secret: Option<Secret>,
    ) -> Result<Self, McpFailure> {
        let refused = |why: String| McpFailure::NothingLeft(why);
        let client = clients.client_for(reach);
        let client = client.map_err(|error| refused(error.to_string()))?;
        let (client, url) = client
            .client_for_url(&server.url)
            .map_err(|why| refused(why.to_string()))?;
        let bytes = usize::try_from(ANSWER_MAX).unwrap_or(usize::MAX);
        let mut config = StreamableHttpClientTransportConfig::with_uri(url)
            .max_json_response_size(bytes)
            .max_sse_event_size(bytes)
            .max_error_response_size(ERROR_MAX)
            // A call of a tool that acts is never repeated, whatever the server said.
            .reinit_on_expired_session(false);
        if let Some(secret) = &secret {
            config = config.auth_header(secret.expose_secret());
        }
        let changed = Arc::new(AtomicBool::new(false));
        let running = start(&client, config, &changed).await;
        let running = running.map_err(|error| McpFailure::from_start(&error, secret.as_ref()))?;
        watch_list(running.peer().clone(), changed.clone());
        let tools = list_tools(running.peer(), secret.as_ref()).await?;
        Ok(Self {
            running,
            tools,
            secret,
            changed,
            reach,
            opened_at: Instant::now(),
        })
    }

    /// Returns `true` if the session may be used for another call.
    pub(super) fn is_usable(&self, reach: HostReach) -> bool {
        let is_young = self.opened_at.elapsed() < KEPT;
        let is_open = !self.running.is_closed() && !self.running.peer().is_transport_closed();
        is_young && is_open && self.reach == reach && !self.changed.load(Ordering::SeqCst)
    }
}

/// Begins to speak with a server: in the newest version of the protocol, or in one with a handshake if it knows no newer.
async fn start(
    client: &reqwest::Client,
    config: StreamableHttpClientTransportConfig,
    changed: &Arc<AtomicBool>,
) -> Result<RunningService<RoleClient, ListWatch>, ClientInitializeError> {
    let begin = |lifecycle| {
        let watch = ListWatch {
            changed: changed.clone(),
        };
        let transport = StreamableHttpClientTransport::with_client(client.clone(), config.clone());
        watch.serve_with_lifecycle(transport, lifecycle)
    };
    let newest = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: None,
    };
    match Box::pin(begin(newest)).await {
        Err(ClientInitializeError::NoCompatibleProtocolVersion { .. }) => {
            Box::pin(begin(ClientLifecycleMode::Initialize)).await
        }
        started => started,
    }
}

/// Hears of changes of the list from a server that tells them only to who asked for them. Others tell them unasked.
fn watch_list(peer: Peer<RoleClient>, changed: Arc<AtomicBool>) {
    let info = peer.peer_info();
    let is_asked = info.is_some_and(|info| info.protocol_version >= ProtocolVersion::STANDARD_HEADERS);
    if !is_asked {
        return;
    }
    tokio::spawn(async move {
        let wanted = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut subscription) = peer.listen(wanted).await else {
            return;
        };
        if let Ok(Some(_)) = subscription.next().await {
            changed.store(true, Ordering::SeqCst);
        }
    });
}

async fn list_tools(peer: &Peer<RoleClient>, secret: Option<&Secret>) -> Result<Vec<McpListing>, McpFailure> {
    let (mut listed, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await;
        let page = page.map_err(|error| McpFailure::from_service_error(&error, secret))?;
        listed.extend(page.tools.iter().filter_map(|tool| read_listing(tool, secret)));
        cursor = page.next_cursor;
        if cursor.is_none() || listed.len() >= LISTED_MAX {
            break;
        }
    }
    listed.truncate(LISTED_MAX);
    check_listings(listed).await
}

/// The name, the description and the schema of a tool.
type ListedTool = (String, String, Map<String, Value>);

/// Checks the schemas of a list, on a thread of its own: they were written by a stranger.
async fn check_listings(listed: Vec<ListedTool>) -> Result<Vec<McpListing>, McpFailure> {
    let check = |(name, description, schema)| McpListing::check_listing(name, description, schema);
    let checking = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        let in_time = listed
            .into_iter()
            .take_while(|_| began.elapsed() < CHECKED_WITHIN);
        in_time.map(check).collect()
    });
    let listed: Vec<McpListing> = checking
        .await
        .map_err(|_| McpFailure::NothingLeft("its list could not be checked".to_owned()))?;
    for (listing, refused) in listed.iter().filter_map(|one| Some((one, one.refused.as_ref()?))) {
        let name = clean_file_name(&listing.name);
        tracing::warn!(tool = %name, %refused, "a tool of a server is not offered to agents");
    }
    Ok(listed)
}

/// Reads what a server tells of a tool, without the secret if it repeats that.
fn read_listing(tool: &rmcp::model::Tool, secret: Option<&Secret>) -> Option<ListedTool> {
    let arguments = Value::Object((*tool.input_schema).clone()).to_string();
    Some((
        hide_secret(&tool.name, secret),
        hide_secret(tool.description.as_deref().unwrap_or_default(), secret),
        serde_json::from_str(&hide_secret(&arguments, secret)).ok()?,
    ))
}
