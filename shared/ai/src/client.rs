//! The HTTP client that everything which calls out shares.

use crate::proxy;
use recado_domain::network_address::is_forbidden_address;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long an unused connection is kept. Shorter than the idle time-outs of the load balancers on the other side, so
/// that a request is not written into a connection that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(30);

/// How long connecting may take, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Libraries of this client that write requests and answers to the log when they are asked for details: what people wrote
/// would stand there, and keys.
const BODY_LOGGING_LIBRARIES: [&str; 5] = ["genai", "h2", "hyper", "reqwest", "rustls"];

/// Whether a library, by the target of its log lines, may write what people wrote: whatever the level, only its warnings
/// are to be let through.
pub fn logs_message_bodies(target: &str) -> bool {
    BODY_LOGGING_LIBRARIES
        .iter()
        .any(|library| target.starts_with(library))
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The TLS configuration was refused.
    #[error("the TLS configuration is not usable")]
    Tls(#[source] rustls::Error),
    /// The client could not be built.
    #[error("the HTTP client could not be built")]
    Build(#[source] reqwest::Error),
}

/// The system's resolver, without the addresses to which nothing is sent: a name may lead to them, or begin to between two
/// requests.
#[derive(Debug, Clone, Copy)]
struct GuardedResolver;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(allowed_addresses(found)?.into_iter()) as Addrs)
        })
    }
}

/// The name leads to nothing but addresses to which nothing is sent.
#[derive(Debug, thiserror::Error)]
#[error("the name leads to a link-local address")]
struct ForbiddenAddress;

/// Of the addresses of a name, those to which something may be sent.
fn allowed_addresses(found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, ForbiddenAddress> {
    let allowed: Vec<SocketAddr> = found
        .filter(|address| !is_forbidden_address(address.ip()))
        .collect();
    if allowed.is_empty() {
        return Err(ForbiddenAddress);
    }
    Ok(allowed)
}

/// A client with TLS by `ring` and Mozilla's roots compiled in. (Reading the system's bundle costs several
/// milliseconds at every cold start, and a Lambda image need not have one.)
///
/// No name leads it to a link-local address. It follows no redirect: a provider's API never redirects, and a redirect could
/// carry a key elsewhere. It has no overall time-out: every caller sets its own, by what the call is. Proxies are those of
/// the environment, but never for this machine itself: a proxy elsewhere would be shown keys on their way to a neighbour.
pub fn http_client() -> Result<reqwest::Client, ClientError> {
    let roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(ClientError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    proxy::read_proxies(|name| std::env::var(name).ok())
        .into_iter()
        .fold(
            reqwest::Client::builder().no_proxy(),
            reqwest::ClientBuilder::proxy,
        )
        .tls_backend_preconfigured(tls)
        .dns_resolver(GuardedResolver)
        .redirect(Policy::none())
        .referer(false)
        .pool_idle_timeout(POOL_IDLE)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .user_agent(concat!("recado/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(ClientError::Build)
}

#[cfg(test)]
mod tests {
    use super::{allowed_addresses, http_client, logs_message_bodies};
    use std::net::SocketAddr;

    #[test]
    fn libraries_that_show_bodies_are_known_and_recado_is_not_one() {
        assert!(logs_message_bodies("genai::webc") && logs_message_bodies("hyper_util::client"));
        assert!(!logs_message_bodies("recado_pipeline::send"));
    }

    #[test]
    fn a_client_is_built_without_a_process_wide_tls_provider() {
        http_client().unwrap();
    }

    #[test]
    fn no_name_leads_to_a_link_local_address() {
        let of = |texts: &[&str]| {
            let found: Vec<SocketAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
            allowed_addresses(found.into_iter())
        };
        assert!(
            of(&[
                "169.254.169.254:80",
                "[fe80::1]:80",
                "[::ffff:169.254.169.254]:80"
            ])
            .is_err()
        );
        let mixed = of(&["169.254.169.254:80", "192.0.2.1:80"]).unwrap();
        assert_eq!(mixed, ["192.0.2.1:80".parse().unwrap()]);
        assert!(of(&[]).is_err());
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
        let answer = http_client().unwrap().get(format!("http://localhost:{port}/"));
        assert_eq!(answer.send().await.unwrap().status(), 204);
    }
}
