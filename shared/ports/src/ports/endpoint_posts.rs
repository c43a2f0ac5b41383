use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::WebhookEndpoint;
use recado_domain::ids::{Nonce, TenantId};
use recado_domain::published_event::PublishedEvent;
use recado_domain::webhook_endpoint::PostError;

/// A post of an event to an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct EndpointPost<'a> {
    /// The tenant of the endpoint.
    pub tenant: &'a TenantId,
    /// The endpoint.
    pub endpoint: &'a WebhookEndpoint,
    /// The salts of the secrets with which the post is signed, the present one first.
    pub salts: &'a [&'a Nonce],
    /// The event.
    pub event: &'a PublishedEvent,
    /// Time of the post.
    pub now: Timestamp,
    /// `true` if the endpoint may be on this machine or in a private network.
    pub private_hosts: bool,
}

/// The answer of an endpoint that accepted a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostAnswer {
    /// The status of the answer, of the class 2xx.
    pub status: u16,
}

/// The way to the endpoints of tenants.
#[async_trait]
pub trait EndpointPosts: Send + Sync {
    /// Posts an event within some seconds. The same event may be posted again: the endpoint gets its id, and so recognizes it.
    async fn post_event(&self, post: EndpointPost<'_>) -> Result<PostAnswer, PostError>;
}
