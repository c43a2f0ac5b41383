use super::TrustedProxies;
use std::time::Duration;

/// What connections may cost.
#[derive(Debug, Clone)]
pub(crate) struct ServerLimits {
    /// `RECADO_CONNECTIONS_MAX`: how many there may be, unless descriptors are fewer.
    pub(crate) connections: usize,
    /// `RECADO_CONNECTIONS_PER_ADDRESS`: how many of them are served at a time for one address.
    pub(crate) per_address: usize,
    /// `RECADO_HEADER_TIMEOUT_SECONDS`: how long a request's headers may take.
    pub(crate) header_time: Duration,
    /// `RECADO_BODY_TIMEOUT_SECONDS`: how long its body may take.
    pub(crate) body_time: Duration,
    /// `RECADO_TRUSTED_PROXIES`: whose `X-Forwarded-For` is believed.
    pub(crate) proxies: TrustedProxies,
}

impl ServerLimits {
    /// How long a connection without a request is kept: longer than proxies keep theirs.
    pub(crate) const IDLE: Duration = Duration::from_secs(75);

    /// How long a connection is kept after an answer that ends it.
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
