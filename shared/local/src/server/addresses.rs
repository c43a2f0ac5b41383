//! Limits the number of requests or connections that are served for one address at a time.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The addresses that are being served, with a limit for each.
#[derive(Debug, Clone)]
pub(super) struct AddressLimits {
    each: usize,
    known: Arc<Mutex<HashMap<IpAddr, AddressState>>>,
}

#[derive(Debug)]
struct AddressState {
    places: Arc<Semaphore>,
    /// The number of permits that the address holds or waits for.
    present: usize,
}

/// Registers that an address holds a permit or waits for one. Dropping it removes the registration.
#[derive(Debug)]
struct AddressPresence {
    addresses: AddressLimits,
    address: IpAddr,
}

/// A permit to serve one request or connection of an address.
#[derive(Debug)]
pub(super) struct AddressPermit {
    _permit: OwnedSemaphorePermit,
    _presence: AddressPresence,
}

impl AddressLimits {
    /// Creates the limits. Each address gets `each` permits.
    pub(super) fn with_limit(each: usize) -> Self {
        Self {
            each,
            known: Arc::default(),
        }
    }

    /// Waits for a permit of the address. `None` if as many wait already as there are permits.
    pub(super) async fn acquire_permit(&self, address: IpAddr) -> Option<AddressPermit> {
        let (places, presence) = self.register_presence(address)?;
        let permit = places.acquire_owned().await.ok()?;
        Some(AddressPermit {
            _permit: permit,
            _presence: presence,
        })
    }

    fn register_presence(&self, address: IpAddr) -> Option<(Arc<Semaphore>, AddressPresence)> {
        let address = customer_network(address);
        let mut known = self.lock_addresses();
        let one = known.entry(address).or_insert_with(|| AddressState {
            places: Arc::new(Semaphore::new(self.each)),
            present: 0,
        });
        if one.present >= self.each.saturating_mul(2) {
            return None;
        }
        one.present += 1;
        let presence = AddressPresence {
            addresses: self.clone(),
            address,
        };
        Some((Arc::clone(&one.places), presence))
    }

    fn lock_addresses(&self) -> MutexGuard<'_, HashMap<IpAddr, AddressState>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the address by which a client is counted: an IPv4 address itself, or the network of an IPv6 address, whose
/// 2⁶⁴ addresses count as one.
pub(super) fn customer_network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => {
            let [a, b, c, d, ..] = six.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

impl Drop for AddressPresence {
    fn drop(&mut self) {
        let mut known = self.addresses.lock_addresses();
        if let Some(one) = known.get_mut(&self.address) {
            one.present -= 1;
            if one.present == 0 {
                known.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn one_address_waits_for_its_own_places_and_another_does_not() {
        let addresses = AddressLimits::with_limit(2);
        let [one, other]: [IpAddr; 2] = ["203.0.113.1", "203.0.113.2"].map(|text| text.parse().unwrap());
        let mut held = vec![
            addresses.acquire_permit(one).await.unwrap(),
            addresses.acquire_permit(one).await.unwrap(),
        ];
        let mut third = Box::pin(addresses.acquire_permit(one));
        let mut fourth = Box::pin(addresses.acquire_permit(one));
        assert!((&mut third).now_or_never().is_none() && (&mut fourth).now_or_never().is_none());
        assert!(
            addresses.acquire_permit(one).await.is_none(),
            "as many wait as may"
        );
        held.push(addresses.acquire_permit(other).await.unwrap());
        drop(held.remove(0));
        held.push(third.now_or_never().unwrap().unwrap());
        drop((held, fourth));
        assert!(
            addresses.lock_addresses().is_empty(),
            "nobody is remembered who is gone"
        );
    }

    #[tokio::test]
    async fn an_ipv6_network_counts_as_one_address() {
        let addresses = AddressLimits::with_limit(1);
        let [one, same, other]: [IpAddr; 3] =
            ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"].map(|text| text.parse().unwrap());
        let _held = addresses.acquire_permit(one).await.unwrap();
        assert!(addresses.acquire_permit(same).now_or_never().is_none());
        assert!(addresses.acquire_permit(other).now_or_never().is_some());
    }
}
