//! Posts of published events to the endpoints of tenants, signed as Standard Webhooks defines it.
//!
//! The URL was written by a tenant, so it is judged before every request, as the URL of a tool is. No redirect is followed.

use crate::DELIVERY_TIMEOUT;
use async_trait::async_trait;
use recado_domain::secret::Secret;
use recado_domain::webhook_endpoint::PostError;
use recado_endpoints::derive_signing_secret;
use recado_http_client::{GuardedClients, HostReach, RequestFailure, read_body_within, sign_with_secrets};
use recado_pipeline::ports::{EndpointPost, EndpointPosts, PostAnswer};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response};
use std::fmt::Display;
use std::time::Duration;

/// Largest part of an answer that is read, in bytes. It is read so that the connection can be used again, and left out.
const ANSWER_MAX: u64 = 16 * 1024;

/// The way to the endpoints of tenants. Clones share their connections.
#[derive(Debug, Clone)]
pub struct EndpointPoster {
    clients: GuardedClients,
    masters: Vec<Secret>,
    timeout: Duration,
}

fn failed(why: &dyn Display) -> PostError {
    PostError::Failed(why.to_string())
}

impl EndpointPoster {
    /// Creates it. Signing secrets are made of the master secrets: the present one first, and during a rotation the one before.
    pub fn new(masters: Vec<Secret>) -> Self {
        Self {
            clients: GuardedClients::default(),
            masters,
            timeout: DELIVERY_TIMEOUT,
        }
    }

    /// Returns it with other master secrets, and the same connections.
    #[must_use]
    pub fn with_masters(self, masters: Vec<Secret>) -> Self {
        Self { masters, ..self }
    }

    /// Returns it with another time for an endpoint to answer.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Posts the event once, and returns the answer whatever its status is.
    async fn request_answer(&self, post: &EndpointPost<'_>) -> Result<Response, PostError> {
        let reach = HostReach::for_encrypted(&post.endpoint.url, post.private_hosts)
            .ok_or_else(|| failed(&"its address is not https"))?;
        let of = (post.tenant, &post.endpoint.id);
        let derive = |master| {
            let salts = post.salts.iter();
            salts.map(move |salt| derive_signing_secret(master, of, salt))
        };
        let secrets: Vec<Secret> = self.masters.iter().flat_map(derive).collect();
        let body = serde_json::to_string(post.event).map_err(|_| failed(&"the event cannot be written"))?;
        let signed = sign_with_secrets(&secrets, &post.event.id, post.now.as_second(), &body);
        let client = self.clients.client_for(reach).map_err(|error| failed(&error))?;
        let mut request = client
            .build_request(Method::POST, &post.endpoint.url)
            .map_err(|error| failed(&error))?
            .timeout(self.timeout)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        for (name, value) in signed.map_err(|error| failed(&error))? {
            request = request.header(name, value);
        }
        let sent = request.send().await;
        // The URL is left out: it may be a secret.
        sent.map_err(|error| failed(&RequestFailure::from_error(&error)))
    }
}

#[async_trait]
impl EndpointPosts for EndpointPoster {
    async fn post_event(&self, post: EndpointPost<'_>) -> Result<PostAnswer, PostError> {
        let answer = self.request_answer(&post).await?;
        let status = answer.status();
        // What it says counts for nothing, nor does it when it breaks off.
        let _ = read_body_within(answer, ANSWER_MAX).await;
        match status.as_u16() {
            status @ 200..=299 => Ok(PostAnswer { status }),
            410 => Err(PostError::Gone),
            status @ 300..=399 => Err(failed(&format_args!(
                "it answered {status}: redirects are not followed"
            ))),
            status => Err(failed(&format_args!("it answered {status}"))),
        }
    }
}
