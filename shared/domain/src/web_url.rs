//! The destination of a URL, judged by its text alone: no name is looked up.

use crate::network_address::{is_forbidden_address, unwrap_embedded_ipv4};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network in which a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostScope {
    /// This machine.
    Loopback,
    /// A private network: a private address, a name without a dot, or a name that ends in `.local` or `.internal`.
    Private,
    /// A link-local address, which only machines on the same network segment reach, or a cloud's metadata service.
    LinkLocal,
    /// Any other host.
    Public,
}

/// An HTTP or HTTPS URL, reduced to its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebUrl<'a> {
    /// `true` for `https`, `false` for `http`.
    pub https: bool,
    /// The host, without its port and without the brackets of IPv6.
    pub host: &'a str,
    /// Network in which the host is.
    pub scope: HostScope,
}

impl<'a> WebUrl<'a> {
    /// Reads `http://` and `https://` URLs in lower-case spelling. Returns `None` for any other text, and for URLs that
    /// programs read in different ways: with a user name and password before the host, with a `\`, with spaces or control
    /// characters, or with a numeric host that is not an IPv4 address of four numbers (`127.1`).
    pub fn parse(text: &'a str) -> Option<Self> {
        if text
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || c == '\\')
        {
            return None;
        }
        let (https, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return None,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        if authority.contains('@') {
            return None;
        }
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => authority,
        };
        if let Some(address) = host.strip_prefix('[') {
            let address = address.strip_suffix(']')?;
            let place = scope_of_address(IpAddr::V6(address.parse().ok()?));
            return Some(Self {
                https,
                host: address,
                scope: place,
            });
        }
        let place = scope_of_name(host)?;
        Some(Self {
            https,
            host,
            scope: place,
        })
    }
}

/// Returns `true` if `url` leads to a public host by https: what a token of a tenant may name where the installation allows no other
/// hosts. A name that leads into a private network all the same is refused when it is looked up, before each connection.
pub fn is_public_https(url: &str) -> bool {
    WebUrl::parse(url).is_some_and(|url| url.https && url.scope == HostScope::Public)
}

/// Returns `true` if a host is public, by the rules for URLs. `host` is a name or an address of IPv4.
pub fn is_public_host(host: &str) -> bool {
    scope_of_name(host) == Some(HostScope::Public)
}

/// Returns `true` if requests to `url` leave this machine unencrypted.
pub fn is_sent_unencrypted(url: &str) -> bool {
    WebUrl::parse(url).is_some_and(|url| !url.https && url.scope != HostScope::Loopback)
}

fn scope_of_name(host: &str) -> Option<HostScope> {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || name.contains("..") || !name.chars().all(fine) {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
        return name
            .parse()
            .ok()
            .map(|address| scope_of_address(IpAddr::V4(address)));
    }
    let private = !name.contains('.') || [".local", ".internal"].iter().any(|end| name.ends_with(end));
    Some(match name.as_str() {
        "localhost" => HostScope::Loopback,
        name if name.ends_with(".localhost") => HostScope::Loopback,
        "metadata.google.internal" => HostScope::LinkLocal,
        _ if private => HostScope::Private,
        _ => HostScope::Public,
    })
}

/// Returns the network in which an address is.
pub fn scope_of_address(address: IpAddr) -> HostScope {
    if is_forbidden_address(address) {
        return HostScope::LinkLocal;
    }
    match unwrap_embedded_ipv4(address) {
        IpAddr::V4(address) => scope_of_ipv4(address),
        IpAddr::V6(address) => scope_of_ipv6(address),
    }
}

fn scope_of_ipv4(address: Ipv4Addr) -> HostScope {
    let [a, b, c, _] = address.octets();
    // Carrier-grade NAT, `100.64.0.0/10` (RFC 6598), networks for benchmarks, `198.18.0.0/15`, and for protocols, `192.0.0.0/24`.
    let shared = (a == 100 && (64..128).contains(&b))
        || (a == 198 && (b == 18 || b == 19))
        || (a, b, c) == (192, 0, 0);
    if address.is_loopback() || a == 0 {
        HostScope::Loopback
    } else if address.is_private() || shared || address.is_multicast() || a >= 240 {
        HostScope::Private
    } else {
        HostScope::Public
    }
}

fn scope_of_ipv6(address: Ipv6Addr) -> HostScope {
    let [a, b, c, ..] = address.segments();
    // Site-local addresses of old, `fec0::/10`, a network's own translation to IPv4, `64:ff9b:1::/48`, and Teredo, `2001::/32`.
    let translated = a & 0xffc0 == 0xfec0 || (a, b, c) == (0x64, 0xff9b, 1) || (a, b) == (0x2001, 0);
    if address.is_loopback() || address.is_unspecified() {
        HostScope::Loopback
    } else if a & 0xfe00 == 0xfc00 || translated || address.is_multicast() {
        HostScope::Private
    } else {
        HostScope::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_it_leads() {
        for (url, place) in [
            ("https://example.org", HostScope::Public),
            ("https://example.org:8443/a?b#c", HostScope::Public),
            ("https://8.8.8.8/", HostScope::Public),
            ("https://[2606:4700::1111]:443/", HostScope::Public),
            ("http://localhost:8080", HostScope::Loopback),
            ("http://LOCALHOST.", HostScope::Loopback),
            ("http://a.localhost", HostScope::Loopback),
            ("http://127.0.0.1", HostScope::Loopback),
            ("http://127.9.9.9", HostScope::Loopback),
            ("http://0.0.0.0", HostScope::Loopback),
            ("http://[::1]:1/a", HostScope::Loopback),
            ("http://[::ffff:127.0.0.1]", HostScope::Loopback),
            ("http://evolution:8080", HostScope::Private),
            ("http://evolution.local", HostScope::Private),
            ("http://10.1.2.3", HostScope::Private),
            ("http://172.16.0.1", HostScope::Private),
            ("http://192.168.0.1", HostScope::Private),
            ("http://100.64.0.1", HostScope::Private),
            ("http://[fd12::1]", HostScope::Private),
            ("http://192.0.0.8", HostScope::Private),
            ("http://[fec0::1]", HostScope::Private),
            ("http://[64:ff9b:1::a00:1]", HostScope::Private),
            ("http://[2001:0:a00:1::]", HostScope::Private),
            ("http://169.254.169.254/latest", HostScope::LinkLocal),
            ("http://[::ffff:169.254.169.254]/latest", HostScope::LinkLocal),
            ("http://[fe80::1]", HostScope::LinkLocal),
            ("http://[fd00:ec2::254]/latest", HostScope::LinkLocal),
            ("http://metadata.google.internal", HostScope::LinkLocal),
        ] {
            assert_eq!(WebUrl::parse(url).map(|url| url.scope), Some(place), "{url}");
        }
    }

    #[test]
    fn what_programs_read_in_different_ways_leads_nowhere() {
        for url in [
            "",
            "https://",
            "https:///a",
            "ftp://example.org",
            "file:///etc/passwd",
            "HTTPS://example.org",
            "https://ana:secret@example.org",
            "http://localhost\\@example.org/",
            "https://example.org\\a",
            "https://exa mple.org",
            "https://example.org/\n",
            "https://127.1",
            "https://0x7f.1",
            "https://2130706433",
            "https://0177.0.0.1",
            "https://[::1",
            "https://[example]",
            "https://a..b",
            "https://.a",
            "https://a%2eb",
            "https://127。0。0。1",
        ] {
            assert_eq!(WebUrl::parse(url), None, "{url}");
        }
    }
}
