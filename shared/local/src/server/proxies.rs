//! Finds the client behind a proxy.

use axum::http::HeaderMap;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// The addresses whose `X-Forwarded-For` is trusted: this machine's own, and those that are configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Parses addresses and networks, separated by commas: `10.0.0.7, 192.0.2.0/24`. `None` if a part is neither.
    pub(crate) fn parse_networks(text: &str) -> Option<Self> {
        let network = |text: &str| {
            let address = text
                .parse()
                .ok()
                .map(|address: IpAddr| IpNet::from(address.to_canonical()));
            address.or_else(|| text.parse().ok())
        };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(network).collect::<Option<Vec<IpNet>>>().map(Self)
    }

    /// Returns whether the header `X-Forwarded-For` from this address is trusted.
    pub(crate) fn is_trusted(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns the client whose request `peer` passes on: the first address in `X-Forwarded-For`, read from the right,
    /// that is not a trusted proxy. `None` if `peer` is no trusted proxy, or if the header names no client.
    pub(crate) fn find_client(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.is_trusted(peer) {
            return None;
        }
        let lines: Vec<&str> = headers
            .get_all("x-forwarded-for")
            .iter()
            .map(|line| line.to_str().unwrap_or_default())
            .collect();
        let hops = lines.iter().rev().flat_map(|line| line.rsplit(','));
        // A text that is no address was not written by a trusted proxy, so the search ends there.
        hops.map_while(parse_address).find(|hop| !self.is_trusted(*hop))
    }
}

/// Parses an address, with or without a port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let address = bare
        .parse()
        .ok()
        .or_else(|| text.parse().ok().map(|socket: SocketAddr| socket.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, lines: &[&str]) -> Option<String> {
        let proxies = TrustedProxies::parse_networks("10.0.0.7, 192.0.2.0/24").unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let client = proxies.find_client(peer.parse().unwrap(), &headers);
        client.map(|client| client.to_string())
    }

    #[test]
    fn the_last_address_that_is_no_trusted_proxys_is_the_clients() {
        for (peer, lines, expected) in [
            ("127.0.0.1", &["203.0.113.9"][..], Some("203.0.113.9")),
            ("127.0.0.1", &["1.1.1.1, 203.0.113.9"], Some("203.0.113.9")),
            (
                "127.0.0.1",
                &["1.1.1.1, 203.0.113.9, 10.0.0.7"],
                Some("203.0.113.9"),
            ),
            (
                "10.0.0.7",
                &["1.1.1.1", "203.0.113.9,192.0.2.55"],
                Some("203.0.113.9"),
            ),
            ("::1", &["[2001:db8::1]:443"], Some("2001:db8::1")),
            ("127.0.0.1", &["203.0.113.9:1234"], Some("203.0.113.9")),
            ("127.0.0.1", &["::ffff:203.0.113.9"], Some("203.0.113.9")),
            ("127.0.0.1", &["203.0.113.9, unknown"], None),
            ("127.0.0.1", &["127.0.0.1"], None),
            ("127.0.0.1", &[], None),
            ("10.0.0.8", &["203.0.113.9"], None),
        ] {
            assert_eq!(client(peer, lines).as_deref(), expected, "{peer} {lines:?}");
        }
    }

    #[test]
    fn proxies_are_addresses_and_networks() {
        assert_eq!(
            TrustedProxies::parse_networks(""),
            Some(TrustedProxies::default())
        );
        assert!(TrustedProxies::parse_networks("10.0.0.0/8,::1").is_some());
        for wrong in ["proxy.example", "10.0.0.0/99", "10.0.0.1 10.0.0.2"] {
            assert_eq!(TrustedProxies::parse_networks(wrong), None, "{wrong}");
        }
    }
}
