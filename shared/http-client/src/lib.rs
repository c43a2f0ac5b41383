//! The HTTP client for all outgoing requests.

mod failure;
mod guarded;
mod proxy;
mod resolver;
mod standard_webhook;

pub use failure::{RequestFailure, url_origin};
pub use guarded::{
    FetchError, FetchLimits, FetchedPage, GuardedClient, GuardedClients, HostReach, UrlRefusal, judge_url,
    read_body_within,
};
pub use standard_webhook::{NoSigningSecret, sign_webhook, sign_with_secrets};

use reqwest::dns::Resolve;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use resolver::{GuardedResolver, PublicResolver};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;

/// Time for which an unused connection is kept. It is shorter than the idle time-outs of the servers on the other side, so
/// that a request is not written into a connection that is being closed: the outcome would be unknown. Node.js, which
/// Evolution runs on, closes after 5 s (<https://nodejs.org/api/http.html#serverkeepalivetimeout>).
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Longest time for connecting, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Libraries of this client whose detailed logs contain requests and answers, and so the text of messages and keys.
const BODY_LOGGING_LIBRARIES: [&str; 5] = ["genai", "h2", "hyper", "reqwest", "rustls"];

/// Returns `true` if the log lines with this target come from a library that may log the text of messages. At every log
/// level, only its warnings may be let through.
pub fn logs_message_bodies(target: &str) -> bool {
    BODY_LOGGING_LIBRARIES
        .iter()
        .any(|library| target.starts_with(library))
}

/// The reason why the client could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The TLS configuration was refused.
    #[error("the TLS configuration is not usable")]
    Tls(#[source] rustls::Error),
    /// The client could not be built.
    #[error("the HTTP client could not be built")]
    Build(#[source] reqwest::Error),
}

/// Builds an HTTP client with TLS by `ring` and with Mozilla's root certificates compiled in. (Reading the system's
/// bundle costs several milliseconds at every cold start, and a Lambda image need not have one.)
///
/// The client connects to no link-local address that a name leads to. It follows no redirects: a provider's API never
/// redirects, and a redirect could carry a key to another host. It has no overall time-out: every caller sets its own.
/// Proxies are taken from the environment, but never used for this machine itself: a proxy elsewhere would see keys that
/// are meant for a program on this machine.
pub fn build_http_client() -> Result<reqwest::Client, ClientError> {
    build_with_proxies(prepare_client(GuardedResolver)?)
}

/// Builds a client as [`build_http_client`] does, for names that strangers choose. It connects to no address of this machine or
/// of a private network to which a name leads. (A URL that holds an address itself is looked up by nobody: the caller judges it
/// by its text.) It downloads files from URLs that others name.
pub fn build_public_http_client() -> Result<reqwest::Client, ClientError> {
    build_with_proxies(prepare_client(PublicResolver)?)
}

/// Lets a client use the proxies of the environment, and builds it.
fn build_with_proxies(client: reqwest::ClientBuilder) -> Result<reqwest::Client, ClientError> {
    proxy::read_proxies(|name| std::env::var(name).ok())
        .into_iter()
        .fold(client, reqwest::ClientBuilder::proxy)
        .build()
        .map_err(ClientError::Build)
}

/// Builds a TLS configuration by `ring` that trusts Mozilla's root certificates, and `more`.
pub fn build_tls_config(more: Vec<CertificateDer<'_>>) -> Result<ClientConfig, ClientError> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    roots.add_parsable_certificates(more);
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(ClientError::Tls)?;
    Ok(tls.with_root_certificates(roots).with_no_client_auth())
}

/// Prepares a client that looks names up by this resolver, and uses no proxy.
fn prepare_client(resolver: impl Resolve + 'static) -> Result<reqwest::ClientBuilder, ClientError> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_backend_preconfigured(build_tls_config(Vec::new())?)
        .dns_resolver(resolver)
        .redirect(Policy::none())
        .referer(false)
        .pool_idle_timeout(POOL_IDLE)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .user_agent(concat!("recado/", env!("CARGO_PKG_VERSION")));
    Ok(client)
}

/// Returns the seconds that an answer asks to wait. The header's other form, a date, is not read.
pub fn read_retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{build_http_client, build_public_http_client, logs_message_bodies};

    #[test]
    fn libraries_that_show_bodies_are_known_and_recado_is_not_one() {
        assert!(logs_message_bodies("genai::webc") && logs_message_bodies("hyper_util::client"));
        assert!(!logs_message_bodies("recado_pipeline::send"));
    }

    #[test]
    fn a_client_is_built_without_a_process_wide_tls_provider() {
        build_http_client().unwrap();
    }

    #[tokio::test]
    async fn a_client_for_public_hosts_asks_no_name_of_this_machine() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let refused = build_public_http_client().unwrap().get(url).send().await;
        assert!(refused.unwrap_err().is_connect());
    }

    #[tokio::test]
    async fn a_name_is_looked_up_by_the_guarded_resolver() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let read = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 4096]).await;
            assert!(read.unwrap() > 0);
            let answer = b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
            tokio::io::AsyncWriteExt::write_all(&mut stream, answer)
                .await
                .unwrap();
        });
        let answer = build_http_client()
            .unwrap()
            .get(format!("http://localhost:{port}/"));
        assert_eq!(answer.send().await.unwrap().status(), 204);
    }
}
