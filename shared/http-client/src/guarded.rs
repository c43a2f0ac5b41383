//! A client for URLs that others name: in documents, in lists of pages, in the tools of agents.
//!
//! Such a URL may lead into the network of the installation, to services that trust every caller there. So a URL is judged before
//! every request by its text, and the addresses of its name by the resolver; the connection goes to an address that was judged. A
//! proxy would look names up itself, and so none is used.

use crate::failure::RequestFailure;
use crate::resolver::{GuardedResolver, PublicResolver};
use crate::{ClientError, prepare_client};
use recado_domain::web_url::{HostScope, WebUrl};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::timeout;

/// The hosts that a client may ask. No client asks a link-local address or a cloud's metadata service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostReach {
    /// Only hosts of public networks.
    Public,
    /// This machine and private networks, too.
    Private,
}

impl HostReach {
    /// Returns the hosts that may be asked where private ones are allowed or not.
    pub fn from_permission(private_hosts: bool) -> Self {
        if private_hosts {
            Self::Private
        } else {
            Self::Public
        }
    }

    /// Returns the same for a request with words or keys in it. `None`: its URL is not https, which only private hosts may be.
    pub fn for_encrypted(url: &str, private_hosts: bool) -> Option<Self> {
        (private_hosts || url.starts_with("https://")).then(|| Self::from_permission(private_hosts))
    }
}

/// The reason why a URL is not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// The text is no `http` or `https` URL, or one that programs read in different ways.
    #[error("this is no http:// or https:// address of a page, without a user name")]
    Malformed,
    /// The URL leads to this machine or into a private network.
    #[error("the address leads to this machine or into a private network")]
    Private,
    /// The URL leads to a link-local address or to a cloud's metadata service.
    #[error("the address is link-local or a metadata service, which is never asked")]
    LinkLocal,
}

/// The limits of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Longest time for all of it, redirects included.
    pub time: Duration,
    /// Largest body, in bytes.
    pub bytes: u64,
    /// Maximum number of redirects that are followed. Each is judged as the first URL is.
    pub redirects: usize,
}

/// The body that a server returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// The body.
    pub bytes: Vec<u8>,
    /// The type that the server names.
    pub content_type: Option<String>,
}

/// The reason why nothing was fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The URL, or one that it redirects to, is not asked. A repetition would be refused again.
    #[error(transparent)]
    Refused(#[from] UrlRefusal),
    /// There was no answer. A repetition may help.
    #[error(transparent)]
    NoAnswer(#[from] RequestFailure),
    /// The server answered with an error.
    #[error("the server answers with the status {0}")]
    Status(u16),
    /// A redirect names no URL.
    #[error("the server redirects, and names no address")]
    NoDestination,
    /// The redirects do not end within their limit.
    #[error("the server redirects more than {0} times")]
    TooManyRedirects(usize),
    /// The body is larger than the limit.
    #[error("there are more than {0} bytes")]
    TooLarge(u64),
}

/// A client for URLs that others name.
#[derive(Debug, Clone)]
pub struct GuardedClient {
    http: Client,
    reach: HostReach,
}

impl GuardedClient {
    /// Builds a client for these hosts. It follows no redirects by itself and uses no proxy.
    pub fn new(reach: HostReach) -> Result<Self, ClientError> {
        let client = match reach {
            HostReach::Public => prepare_client(PublicResolver)?,
            HostReach::Private => prepare_client(GuardedResolver)?,
        };
        let http = client.build().map_err(ClientError::Build)?;
        Ok(Self { http, reach })
    }

    /// Begins a request to a URL, unless it leads where this client does not ask. The caller sets time-outs.
    pub fn build_request(&self, method: Method, url: &str) -> Result<RequestBuilder, UrlRefusal> {
        let url = judge_url(url, self.reach)?;
        Ok(self.http.request(method, url))
    }

    /// Returns the client and the URL as it asks it, unless the URL leads where this client does not ask. It is for many requests
    /// to this URL alone.
    pub fn client_for_url(&self, url: &str) -> Result<(Client, String), UrlRefusal> {
        let url = judge_url(url, self.reach)?;
        Ok((self.http.clone(), url.into()))
    }

    /// Fetches what a URL leads to, within limits. Every redirect is judged as the URL is.
    pub async fn fetch_page(&self, url: &str, limits: FetchLimits) -> Result<FetchedPage, FetchError> {
        let fetching = self.follow_redirects(url, limits);
        match timeout(limits.time, fetching).await {
            Ok(fetched) => fetched,
            Err(_) => Err(RequestFailure::TimedOut.into()),
        }
    }

    async fn follow_redirects(&self, url: &str, limits: FetchLimits) -> Result<FetchedPage, FetchError> {
        let mut url = url.to_owned();
        for _ in 0..=limits.redirects {
            let request = self.build_request(Method::GET, &url)?;
            let answer = request
                .send()
                .await
                .map_err(|error| RequestFailure::from_error(&error))?;
            if answer.status().is_redirection() {
                url = find_destination(&answer).ok_or(FetchError::NoDestination)?;
                continue;
            }
            if !answer.status().is_success() {
                return Err(FetchError::Status(answer.status().as_u16()));
            }
            let content_type = answer.headers().get(CONTENT_TYPE);
            let content_type = content_type.and_then(|value| Some(value.to_str().ok()?.to_owned()));
            let bytes = read_body_within(answer, limits.bytes).await?;
            return Ok(FetchedPage { bytes, content_type });
        }
        Err(FetchError::TooManyRedirects(limits.redirects))
    }
}

/// Returns the URL as it will be asked, unless it leads where a client of this reach does not ask.
pub fn judge_url(url: &str, reach: HostReach) -> Result<Url, UrlRefusal> {
    let url = Url::parse(url.trim()).map_err(|_| UrlRefusal::Malformed)?;
    // What is judged is the URL as it will be asked: the parser may write a host in another way.
    let scope = WebUrl::parse(url.as_str()).map(|url| url.scope);
    match (scope, reach) {
        (None, _) => Err(UrlRefusal::Malformed),
        (Some(HostScope::LinkLocal), _) => Err(UrlRefusal::LinkLocal),
        (Some(HostScope::Loopback | HostScope::Private), HostReach::Public) => Err(UrlRefusal::Private),
        (Some(_), _) => Ok(url),
    }
}

/// The clients for URLs that others name. Each is built when it is first asked for: most processes need one at most.
#[derive(Debug, Clone, Default)]
pub struct GuardedClients {
    built: Arc<[OnceLock<GuardedClient>; 2]>,
}

impl GuardedClients {
    /// Returns the client for these hosts.
    pub fn client_for(&self, reach: HostReach) -> Result<&GuardedClient, ClientError> {
        let [public, private] = &*self.built;
        let place = match reach {
            HostReach::Public => public,
            HostReach::Private => private,
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let client = GuardedClient::new(reach)?;
        Ok(place.get_or_init(|| client))
    }
}

/// Returns the URL to which an answer redirects.
fn find_destination(answer: &Response) -> Option<String> {
    let named = answer.headers().get(LOCATION)?.to_str().ok()?;
    Some(answer.url().join(named).ok()?.into())
}

/// Reads the body of an answer, at most `bytes_max` bytes: what is larger is not read to its end. Nothing is decompressed.
pub async fn read_body_within(mut answer: Response, bytes_max: u64) -> Result<Vec<u8>, FetchError> {
    if answer.content_length().is_some_and(|bytes| bytes > bytes_max) {
        return Err(FetchError::TooLarge(bytes_max));
    }
    let mut bytes = Vec::new();
    let broken = |error: reqwest::Error| RequestFailure::from_error(&error);
    while let Some(piece) = answer.chunk().await.map_err(broken)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > bytes_max {
            return Err(FetchError::TooLarge(bytes_max));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
