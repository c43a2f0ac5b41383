//! The HTTP client that everything which calls out shares.

use reqwest::redirect::Policy;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;

/// How long an unused connection is kept. Shorter than the idle time-outs of the load balancers on the other side, so
/// that a request is not written into a connection that is being closed.
const POOL_IDLE: Duration = Duration::from_secs(30);

/// How long connecting may take, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

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

/// A client with TLS by `ring` and Mozilla's roots compiled in. (Reading the system's bundle costs several
/// milliseconds at every cold start, and a Lambda image need not have one.)
///
/// It follows no redirect: a provider's API never redirects, and a redirect could carry a key elsewhere. It has no
/// overall time-out: every caller sets its own, by what the call is.
pub fn http_client() -> Result<reqwest::Client, ClientError> {
    let roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(ClientError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
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
    #[test]
    fn a_client_is_built_without_a_process_wide_tls_provider() {
        super::http_client().unwrap();
    }
}
