//! The way to the endpoints of tenants, and the visibility of their jobs.

use crate::AwsDeps;
use crate::batch::MessageVisibility;
use async_trait::async_trait;
use recado_aws::{AwsSecrets, OsSystem};
use recado_domain::webhook_endpoint::PostError;
use recado_notify::EndpointPoster;
use recado_pipeline::ports::{EndpointPost, EndpointPosts, PortError, PostAnswer};

/// Posts to endpoints, signed with secrets of the stack's master secret. It is read at the first post, and kept for some minutes.
#[derive(Debug, Clone)]
pub struct AwsEndpointPosts {
    poster: EndpointPoster,
    secrets: AwsSecrets<OsSystem>,
}

impl AwsEndpointPosts {
    /// Creates it with the secrets of the installation. Clones share their connections.
    pub fn new(secrets: AwsSecrets<OsSystem>) -> Self {
        Self {
            poster: EndpointPoster::new(Vec::new()),
            secrets,
        }
    }
}

#[async_trait]
impl EndpointPosts for AwsEndpointPosts {
    async fn post_event(&self, post: EndpointPost<'_>) -> Result<PostAnswer, PostError> {
        let masters = self.secrets.webhook_masters().await;
        let masters = masters.map_err(|error| {
            tracing::error!(%error, "the master of the signing secrets cannot be read");
            PostError::Failed("the signing secret cannot be read".to_owned())
        })?;
        let poster = self.poster.clone().with_masters(masters);
        poster.post_event(post).await
    }
}

/// The visibility of jobs from the queue `webhooks`.
#[derive(Debug, Clone, Copy)]
pub struct EndpointJobVisibility<'a> {
    /// Dependencies that reach the queue.
    pub deps: &'a AwsDeps,
}

impl MessageVisibility for EndpointJobVisibility<'_> {
    type Error = PortError;

    async fn change_visibility(&self, receipt: &str, seconds: u32) -> Result<(), PortError> {
        self.deps.queues.change_job_visibility(receipt, seconds).await
    }
}
