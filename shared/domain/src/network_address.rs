//! Rules about the network addresses that a provider may have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The addresses outside of the link-local networks at which clouds give a machine's credentials to every caller: Alibaba Cloud,
/// Oracle Cloud and Azure.
const METADATA_SERVICES: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// Returns `true` for an address to which Recado never sends. Such an address is link-local (`169.254.0.0/16`,
/// `fe80::/10`), where clouds give a machine's credentials to every caller, or belongs to such a service elsewhere: under
/// IPv6 of AWS (`fd00:ec2::/32`) or of Google Cloud (`fd20:ce::/32`), and a few of IPv4. An IPv4 address inside an IPv6 address
/// is judged as an IPv4 address.
pub fn is_forbidden_address(address: IpAddr) -> bool {
    match unwrap_embedded_ipv4(address) {
        IpAddr::V4(address) => address.is_link_local() || METADATA_SERVICES.contains(&address),
        IpAddr::V6(address) => {
            let first = address.segments();
            first[0] & 0xffc0 == 0xfe80 || matches!(first[..2], [0xfd00, 0x0ec2] | [0xfd20, 0x00ce])
        }
    }
}

/// Returns `true` for an address of this machine or of a private network. A provider may be reached there without TLS.
pub fn is_local_or_private(address: IpAddr) -> bool {
    match unwrap_embedded_ipv4(address) {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.segments()[0] & 0xfe00 == 0xfc00,
    }
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped, compatible, translated (`64:ff9b::/96`) or 6to4. Any
/// other address is returned unchanged.
pub(crate) fn unwrap_embedded_ipv4(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else {
        return address;
    };
    embedded_ipv4(six).map_or(address, IpAddr::V4)
}

fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        // Loopback (`::1`) and the unspecified address (`::`) belong to IPv6 itself.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_local_addresses_are_forbidden_in_every_form() {
        for text in [
            "169.254.169.254",
            "169.254.0.1",
            "fe80::1",
            "febf::1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "::ffff:168.63.129.16",
        ] {
            assert!(is_forbidden_address(text.parse().unwrap()), "{text}");
            assert!(!is_local_or_private("169.254.169.254".parse().unwrap()), "{text}");
        }
        for text in [
            "127.0.0.1",
            "10.0.0.1",
            "::1",
            "fd00::1",
            "8.8.8.8",
            "2001:db8::1",
        ] {
            assert!(!is_forbidden_address(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn this_machine_and_private_networks_are_near() {
        for text in [
            "127.0.0.1",
            "127.1.2.3",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "::1",
            "fd12::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_local_or_private(text.parse().unwrap()), "{text}");
        }
        for text in [
            "8.8.8.8",
            "172.32.0.1",
            "0.0.0.0",
            "100.64.0.1",
            "2001:db8::1",
            "::",
        ] {
            assert!(!is_local_or_private(text.parse().unwrap()), "{text}");
        }
    }
}
