//! The state and the options that every handler of the API works with.

use crate::api::metrics_page::{MetricsPage, ReadingCache};
use crate::api::provider_setup::ProviderSetup;
use crate::api::public_status::PublicStatusCache;
use crate::api::refused_tokens::RefusedTokens;
use crate::event_feed::EventFeed;
use crate::health_probe::HealthProbe;
use crate::keys::Keys;
use crate::push_ticket_issuer::PushTicketIssuer;
use recado_domain::access::Permission;
use recado_pipeline::Deps;
use recado_pipeline::ports::{EndpointPosts, QueueDepths};
use recado_whatsapp::SimulatedOutbox;
use std::fmt;
use std::sync::Arc;

/// The largest body that the API accepts, in bytes. A whole configuration with its prompts fits.
pub const BODY_MAX: usize = 1024 * 1024;

/// The settings and sources that the API needs besides the ports.
#[derive(Clone)]
pub struct ApiOptions {
    /// The base URL at which providers reach this installation, without a slash at its end.
    pub public_url: Option<String>,
    /// The base URL at which this machine reaches the installation. It is shown where `public_url` is not known.
    pub listening_url: Option<String>,
    /// The messages that the simulated provider accepted. `None` where a real provider sends.
    pub simulator: Option<SimulatedOutbox>,
    /// The source of the queues' depths.
    pub depths: Arc<dyn QueueDepths>,
    /// The function that writes the metrics. `None` where they are elsewhere.
    pub metrics: Option<MetricsPage>,
    /// The check that the store accepts writes.
    pub health_probe: HealthProbe,
    /// `true` if this process has the model's key, so that it can ask the model.
    pub asks_models: bool,
    /// The part that sets instances up at their providers. `None`: this process does not.
    pub provider_setup: Option<ProviderSetup>,
    /// `true` if events are published, so that there is something to read and to post.
    pub publishes_events: bool,
    /// The feed of published events for streams. `None`: there are no streams.
    pub event_feed: Option<EventFeed>,
    /// The way to tickets of push connections. `None`: there is no WebSocket API.
    pub push_ticket_issuer: Option<PushTicketIssuer>,
    /// The part that posts a test event to an endpoint of a tenant. `None`: this process posts to none.
    pub endpoint_posts: Option<Arc<dyn EndpointPosts>>,
    /// `true` if a start of this program applies a configuration file.
    pub applies_file: bool,
}

impl fmt::Debug for ApiOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ApiOptions")
            .field("public_url", &self.public_url)
            .finish_non_exhaustive()
    }
}

/// A route that reads a token: its method, its path, and the permission that the token's role must include.
/// [`TokenRole::permits`](recado_domain::access::TokenRole::permits) says which roles have it.
pub type RoutePermission = (&'static str, &'static str, Permission);

/// The state that every handler gets.
#[derive(Clone)]
pub struct Api {
    pub deps: Arc<Deps>,
    pub keys: Arc<dyn Keys>,
    pub options: Arc<ApiOptions>,
    /// The permissions of all routes.
    pub permissions: &'static [RoutePermission],
    /// The status that a request without a token got last.
    pub last_status: Arc<PublicStatusCache>,
    /// The number of refused tokens.
    pub refused_tokens: Arc<RefusedTokens>,
    /// The reading of which the metrics were last made.
    pub last_reading: Arc<ReadingCache>,
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Api")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Api {
    pub fn new(
        deps: Arc<Deps>,
        keys: Arc<dyn Keys>,
        options: ApiOptions,
        permissions: &'static [RoutePermission],
    ) -> Self {
        Self {
            deps,
            keys,
            options: Arc::new(options),
            permissions,
            last_status: Arc::default(),
            refused_tokens: Arc::default(),
            last_reading: Arc::default(),
        }
    }
}
