//! The file `address` of the data folder: the URL at which Recado listens, for the command line on the same machine.

use anyhow::{Context, Result};
use recado_domain::web_url::WebUrl;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

const FILE: &str = "address";

/// Writes the address at which Recado listens now. The file stays when Recado stops: the next start writes it again.
pub fn write_address(data: &Path, address: SocketAddr) -> Result<()> {
    let file = data.join(FILE);
    fs::write(&file, format!("{}\n", local_url(address)))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// Reads the URL at which Recado listens, or last listened. `None`: the file is not there or holds no URL.
pub fn read_address(data: &Path) -> Option<String> {
    let text = fs::read_to_string(data.join(FILE)).ok()?;
    let url = text.trim();
    WebUrl::parse(url).map(|_| url.to_owned())
}

/// Returns the URL by which this machine reaches `address`. A server that listens on all addresses is reached at the
/// loopback address.
pub fn local_url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_at_the_loopback_address() {
        for (listens, url) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:8080", "http://[::1]:8080"),
            ("10.0.0.7:8080", "http://10.0.0.7:8080"),
        ] {
            assert_eq!(local_url(listens.parse().unwrap()), url);
        }
    }
}
