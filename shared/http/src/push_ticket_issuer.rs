//! The way to tickets of push connections: the program that serves the API brings it where there is a WebSocket API.

use futures::future::BoxFuture;
use recado_domain::ids::TenantId;
use recado_pipeline::ports::{PortResult, PushTicket};
use std::fmt;
use std::sync::Arc;

/// The part of the program that makes tickets of push connections.
#[derive(Clone)]
pub struct PushTicketIssuer {
    url: Arc<str>,
    make_ticket: Arc<MakeTicket>,
}

type MakeTicket = dyn Fn(Option<TenantId>) -> MadeTicket + Send + Sync;

type MadeTicket = BoxFuture<'static, PortResult<PushTicket>>;

impl PushTicketIssuer {
    /// Creates it with the URL of the WebSocket API. `make_ticket` makes a ticket of a tenant, or (`None`) of the installation.
    pub fn new(
        url: &str,
        make_ticket: impl Fn(Option<TenantId>) -> MadeTicket + Send + Sync + 'static,
    ) -> Self {
        Self {
            url: url.into(),
            make_ticket: Arc::new(make_ticket),
        }
    }

    /// Returns the URL that opens a connection with a ticket.
    pub fn write_connection_url(&self, ticket: &PushTicket) -> String {
        format!("{}?ticket={}", self.url, ticket.text.expose_secret())
    }

    /// Makes a ticket of a tenant, or (`None`) of the installation.
    pub async fn make_ticket(&self, tenant: Option<TenantId>) -> PortResult<PushTicket> {
        (self.make_ticket)(tenant).await
    }
}

impl fmt::Debug for PushTicketIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushTicketIssuer")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
