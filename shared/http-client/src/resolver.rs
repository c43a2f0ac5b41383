//! Resolvers that leave addresses out. A client connects to what its resolver returned, so an address is checked at every look-up,
//! and no second look-up can return another one (DNS rebinding).

use recado_domain::network_address::is_forbidden_address;
use recado_domain::web_url::{HostScope, scope_of_address};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::SocketAddr;

/// The system's resolver without forbidden addresses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuardedResolver;

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(allowed_addresses(found)?.into_iter()) as Addrs)
        })
    }
}

/// The system's resolver without the addresses of this machine and of private networks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(public_addresses(found)?.into_iter()) as Addrs)
        })
    }
}

/// The error for a name that leads only to addresses that may not be asked, or to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressRefusal {
    /// Every address is link-local, or there is none.
    #[error("the name leads to no address that may be asked")]
    Forbidden,
    /// Every other address is one of this machine or of a private network.
    #[error("the name leads to no public address")]
    Private,
}

/// Returns the addresses of a name that are not forbidden (see [`is_forbidden_address`]). Fails if none is left.
fn allowed_addresses(found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, AddressRefusal> {
    let allowed: Vec<SocketAddr> = found
        .filter(|address| !is_forbidden_address(address.ip()))
        .collect();
    if allowed.is_empty() {
        return Err(AddressRefusal::Forbidden);
    }
    Ok(allowed)
}

/// Returns the public addresses of a name. Fails if none is left.
fn public_addresses(found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, AddressRefusal> {
    let mut public = allowed_addresses(found)?;
    public.retain(|address| scope_of_address(address.ip()) == HostScope::Public);
    if public.is_empty() {
        return Err(AddressRefusal::Private);
    }
    Ok(public)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> std::vec::IntoIter<SocketAddr> {
        let parsed: Vec<SocketAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
        parsed.into_iter()
    }

    #[test]
    fn no_name_leads_to_a_link_local_address() {
        let of = |texts: &[&str]| allowed_addresses(addresses(texts));
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

    #[test]
    fn of_the_addresses_of_a_name_the_public_ones_are_left() {
        let of = |texts: &[&str]| public_addresses(addresses(texts));
        let mixed = of(&["10.0.0.1:80", "8.8.8.8:80", "[::1]:80"]).unwrap();
        assert_eq!(mixed, ["8.8.8.8:80".parse().unwrap()]);
        assert_eq!(of(&["10.0.0.1:80", "127.0.0.1:80"]), Err(AddressRefusal::Private));
        assert_eq!(of(&["169.254.169.254:80"]), Err(AddressRefusal::Forbidden));
    }
}
