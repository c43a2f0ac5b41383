//! The way to the endpoints of tenants for the API's test of one: any program that serves the API may bring its own.

use futures::future::BoxFuture;
use recado_domain::Timestamp;
use recado_domain::config::WebhookEndpoint;
use recado_domain::ids::{Nonce, TenantId};
use recado_domain::published_event::PublishedEvent;
use recado_domain::webhook_endpoint::PostError;
use recado_pipeline::ports::{EndpointPost, EndpointPosts, PostAnswer};
use std::fmt;
use std::sync::Arc;

/// The part of the program that posts to the endpoints of tenants.
#[derive(Clone)]
pub struct EndpointDesk(Arc<PostOnce>);

type PostOnce = dyn Fn(OwnedPost) -> BoxFuture<'static, Result<PostAnswer, PostError>> + Send + Sync;

/// A post that borrows nothing.
struct OwnedPost {
    tenant: TenantId,
    endpoint: WebhookEndpoint,
    salts: Vec<Nonce>,
    event: PublishedEvent,
    now: Timestamp,
    private_hosts: bool,
}

impl EndpointDesk {
    /// Creates it of what posts events.
    pub fn new(posts: impl EndpointPosts + Clone + 'static) -> Self {
        let post_once = move |owned: OwnedPost| -> BoxFuture<'static, Result<PostAnswer, PostError>> {
            let posts = posts.clone();
            Box::pin(async move {
                let salts: Vec<&Nonce> = owned.salts.iter().collect();
                let post = EndpointPost {
                    tenant: &owned.tenant,
                    endpoint: &owned.endpoint,
                    salts: &salts,
                    event: &owned.event,
                    now: owned.now,
                    private_hosts: owned.private_hosts,
                };
                posts.post_event(post).await
            })
        };
        Self(Arc::new(post_once))
    }
}

impl fmt::Debug for EndpointDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndpointDesk")
    }
}

impl EndpointPosts for EndpointDesk {
    async fn post_event(&self, post: EndpointPost<'_>) -> Result<PostAnswer, PostError> {
        let owned = OwnedPost {
            tenant: post.tenant.clone(),
            endpoint: post.endpoint.clone(),
            salts: post.salts.iter().map(|salt| (*salt).clone()).collect(),
            event: post.event.clone(),
            now: post.now,
            private_hosts: post.private_hosts,
        };
        (self.0)(owned).await
    }
}
