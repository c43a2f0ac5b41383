use super::TrustedProxies;
use std::time::Duration;

/// The limits of connections.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// `RECADO_CONNECTIONS_MAX`: the number of connections at most. With fewer descriptors there are fewer.
    pub connections: usize,
    /// `RECADO_CONNECTIONS_PER_ADDRESS`: the number of connections that are served for one address at a time.
    pub per_address: usize,
    /// `RECADO_HEADER_TIMEOUT_SECONDS`: the longest time that a request's headers may take.
    pub header_time: Duration,
    /// `RECADO_BODY_TIMEOUT_SECONDS`: the longest time that a request's body may take.
    pub body_time: Duration,
    /// `RECADO_TRUSTED_PROXIES`: the proxies whose `X-Forwarded-For` is trusted.
    pub proxies: TrustedProxies,
}

impl ServerLimits {
    /// Time for which a connection without a request is kept, and one whose client reads nothing: longer than proxies keep theirs.
    pub(crate) const IDLE: Duration = Duration::from_secs(75);

    /// Time for which a connection is kept after its last answer.
    pub(crate) const ENDING: Duration = Duration::from_secs(1);
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            per_address: 128,
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            proxies: TrustedProxies::default(),
        }
    }
}
