//! Outgoing webhooks: posts the published events of a tenant to its endpoints, and what people do about that.
//!
//! Each endpoint has a state with its place in the log of events ([`recado_domain::webhook_endpoint`]). A pass posts what is next and
//! then stores the results, so a crash repeats what was under way and loses nothing. The endpoints themselves are configuration.
//!
//! Its types and rules are in [`recado_domain::published_event`] and [`recado_domain::webhook_endpoint`].

mod asked_of_events;
pub mod endpoint_routes;
pub mod event_routes;
mod managing;
mod posting;
pub mod published_events;
mod serving;

pub use crate::managing::{
    ConfiguredEndpoint, FailedChoice, begin_posts, choose_endpoint_tenant, derive_signing_secret,
    list_endpoints, list_failed_events, read_endpoint, redrive_failed_events, replay_events,
    rotate_signing_secret, test_endpoint,
};
pub use crate::posting::{list_posted_endpoints, post_due_events, remove_unknown_states};
pub use crate::serving::{handle_endpoint_job, list_due_jobs, list_jobs_of_news};

use recado_pipeline::steps::invited_tenant::TenantChoiceError;
use recado_ports::ports::PortError;

/// The reason why a request about an endpoint was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The request has no tenant.
    #[error(transparent)]
    Tenant(#[from] TenantChoiceError),
    /// There is no such endpoint.
    #[error("there is no such webhook endpoint")]
    NoEndpoint,
    /// The endpoint has no such failed event.
    #[error("this endpoint has no such failed event")]
    NoFailedEvent,
    /// The store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}
