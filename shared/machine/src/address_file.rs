//! The file `address` of the data folder: the URL at which Recado listens, for the command line on the same machine.

use anyhow::{Context, Result};
use recado_domain::web_url::WebUrl;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: &str = "address";

/// Writes the address at which Recado listens now. The file stays when Recado stops: the next start writes it again.
pub fn write_address(data: &Path, address: SocketAddr) -> Result<()> {
    let file = data.join(FILE);
    write_private(&file, &format!("{}\n", local_url(address)))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// Writes a file that nobody else may read or change, whatever the process's mask lets others do.
fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut opened = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)?;
    // A file of an earlier start keeps its mode when it is opened.
    opened.set_permissions(fs::Permissions::from_mode(0o600))?;
    opened.write_all(text.as_bytes())
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
    fn the_file_is_closed_to_others_also_if_it_was_open() {
        let folder = std::env::temp_dir().join(format!("recado-address-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(FILE);
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        write_address(&folder, "127.0.0.1:8080".parse().unwrap()).unwrap();
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        let read = read_address(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((mode, read.as_deref()), (0o600, Some("http://127.0.0.1:8080")));
    }

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
