//! A session with a server: its connection, the list of its tools, and for how long both are kept.

use super::connection::McpConnection;
use super::failure::McpFailure;
use crate::hide_secret;
use recado_domain::file_text::clean_file_name;
use recado_domain::ids::TenantId;
use recado_domain::secret::Secret;
use recado_domain::tools::{McpListing, McpServer, Tool};
use recado_http_client::{GuardedClients, HostReach};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Time for which a session is kept, with the list of the server's tools.
const KEPT: Duration = Duration::from_secs(300);

/// Greatest number of servers with which sessions are kept.
const KEPT_MAX: usize = 256;

/// Greatest number of pages of one list, and of tools in it.
const PAGES_MAX: usize = 20;
const LISTED_MAX: usize = 500;

/// Time for the check of a list's schemas. It is far more than they need; tools behind it are not listed.
const CHECKED_WITHIN: Duration = Duration::from_secs(2);

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
pub(super) struct SessionCache {
    places: Mutex<BTreeMap<ServerKey, SessionPlace>>,
}

impl SessionCache {
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
        session.connection.note_change();
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
    pub(super) connection: Arc<McpConnection>,
    /// The tools that the server listed.
    pub(super) tools: Vec<McpListing>,
    reach: HostReach,
    opened_at: Instant,
    _notifications: NotificationTask,
}

/// The task that receives a server's notifications. It ends when this is dropped.
#[derive(Debug)]
struct NotificationTask(JoinHandle<()>);

impl Drop for NotificationTask {
    fn drop(&mut self) {
        self.0.abort();
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
        let opened_at = Instant::now();
        let connection = Arc::new(McpConnection::open(client, url, secret).await?);
        let notifications = NotificationTask(tokio::spawn(connection.clone().receive_notifications(KEPT)));
        let tools = list_tools(&connection).await?;
        Ok(Self {
            connection,
            tools,
            reach,
            opened_at,
            _notifications: notifications,
        })
    }

    /// Returns `true` if the session may be used for another call.
    pub(super) fn is_usable(&self, reach: HostReach) -> bool {
        self.opened_at.elapsed() < KEPT && self.reach == reach && !self.connection.has_changed()
    }
}

async fn list_tools(connection: &McpConnection) -> Result<Vec<McpListing>, McpFailure> {
    let secret = connection.secret.as_ref();
    let (mut listed, mut params) = (Vec::new(), json!({}));
    for _ in 0..PAGES_MAX {
        let page = connection.send_request("tools/list", &params).await?;
        let tools = page["tools"].as_array().ok_or_else(McpFailure::other_result)?;
        listed.extend(tools.iter().filter_map(|tool| read_listing(tool, secret)));
        match &page["nextCursor"] {
            Value::String(cursor) if listed.len() < LISTED_MAX => params = json!({"cursor": cursor}),
            _ => break,
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
fn read_listing(tool: &Value, secret: Option<&Secret>) -> Option<ListedTool> {
    let arguments = tool["inputSchema"].to_string();
    Some((
        hide_secret(tool["name"].as_str()?, secret),
        hide_secret(tool["description"].as_str().unwrap_or_default(), secret),
        serde_json::from_str(&hide_secret(&arguments, secret)).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::connection::tests::{open_with, says};

    #[tokio::test]
    async fn a_list_is_read_page_by_page() {
        let page = |id: u64, name: &str, cursor: Option<&str>| {
            let tool = json!({"name": name, "inputSchema": {"type": "object"}});
            let result = json!({"tools": [tool, {"name": "without a schema"}], "nextCursor": cursor});
            let page = json!({"jsonrpc": "2.0", "id": id, "result": result});
            says(200, "application/json", &page.to_string())
        };
        let pages = vec![page(2, "find", Some("c2")), page(3, "open", None)];
        let (connection, stand_in) = open_with(pages).await;
        let listed = list_tools(&connection).await.unwrap();
        let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["find", "open"]);
        assert_eq!(stand_in.requests()[3].body["params"], json!({"cursor": "c2"}));
    }
}
