//! Runs the checks of arguments on threads of their own, each for a limited time.
//!
//! A check cannot be stopped from outside. One that is given up keeps its thread, and with it its places, until it ends: so what one
//! tenant's schemas and arguments cost takes neither more than one thread at a time nor the place of another tenant for long.

use recado_domain::ids::TenantId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Greatest number of checks at a time in the process.
const CHECKS_AT_ONCE: usize = 8;

/// Longest time of a check, with the wait for its places. A check that the size of schemas allows takes far less.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The words for a check that was given up.
const GIVEN_UP: &str = "their check took too long: send fewer and shorter values, or do without this call";

/// The places of the checks. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentChecks {
    all: Arc<Semaphore>,
    /// One place for each tenant that has a check now.
    tenants: Arc<Mutex<BTreeMap<TenantId, Arc<Semaphore>>>>,
}

impl Default for ArgumentChecks {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(CHECKS_AT_ONCE)),
            tenants: Arc::default(),
        }
    }
}

impl ArgumentChecks {
    /// Runs a check of a tenant's tool, for at most `within`.
    ///
    /// # Errors
    ///
    /// What the check says, or that it was given up.
    pub(crate) async fn run_check(
        &self,
        tenant: &TenantId,
        within: Duration,
        check: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        let checking = async {
            let places = self.take_places(tenant).await?;
            let checking = tokio::task::spawn_blocking(move || {
                let checked = check();
                drop(places);
                checked
            });
            // A check that panicked says nothing of the arguments.
            checking
                .await
                .unwrap_or_else(|_| Err("they could not be checked".to_owned()))
        };
        let checked = timeout(within.min(CHECK_TIMEOUT), checking).await;
        checked.unwrap_or_else(|_| {
            tracing::warn!(%tenant, "a check of arguments took too long and was given up");
            Err(GIVEN_UP.to_owned())
        })
    }

    /// Waits for the place of the tenant, then for one of the process.
    async fn take_places(
        &self,
        tenant: &TenantId,
    ) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), String> {
        let closed = |_| GIVEN_UP.to_owned();
        let own = self.find_place(tenant).acquire_owned().await.map_err(closed)?;
        let one = Arc::clone(&self.all).acquire_owned().await.map_err(closed)?;
        Ok((own, one))
    }

    fn find_place(&self, tenant: &TenantId) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        // Places that nobody holds or waits for are known here alone.
        tenants.retain(|_, place| Arc::strong_count(place) > 1);
        let place = tenants.entry(tenant.clone());
        Arc::clone(place.or_insert_with(|| Arc::new(Semaphore::new(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn tenant(id: &str) -> TenantId {
        TenantId::parse(id).unwrap()
    }

    #[tokio::test]
    async fn a_check_that_does_not_end_holds_its_tenant_up_and_nobody_else() {
        let checks = ArgumentChecks::default();
        let (end, wait) = mpsc::channel::<()>();
        let hang = move || wait.recv().map_err(|error| error.to_string());
        let short = Duration::from_millis(50);
        let refused = checks.run_check(&tenant("clinic"), short, hang).await;
        assert_eq!(refused, Err(GIVEN_UP.to_owned()));
        // The thread goes on, and no second one of the tenant begins.
        let next = || panic!("no check of this tenant may begin");
        let refused = checks.run_check(&tenant("clinic"), short, next).await;
        assert_eq!(refused, Err(GIVEN_UP.to_owned()));
        let other = checks.run_check(&tenant("shop"), CHECK_TIMEOUT, || Ok(())).await;
        assert_eq!(other, Ok(()));
        end.send(()).unwrap();
        let again = checks
            .run_check(&tenant("clinic"), CHECK_TIMEOUT, || Ok(()))
            .await;
        assert_eq!(again, Ok(()));
        let known = checks.tenants.lock().unwrap().len();
        assert!(known <= 1, "{known}");
    }

    #[tokio::test]
    async fn checks_that_do_not_end_take_a_bounded_number_of_threads() {
        let checks = ArgumentChecks::default();
        let mut ends = Vec::new();
        for number in 0..CHECKS_AT_ONCE + 3 {
            let (end, wait) = mpsc::channel::<()>();
            ends.push(end);
            let hang = move || wait.recv().map_err(|error| error.to_string());
            let name = tenant(&format!("t{number}"));
            let refused = checks.run_check(&name, Duration::from_millis(20), hang).await;
            assert_eq!(refused, Err(GIVEN_UP.to_owned()));
        }
        assert_eq!(checks.all.available_permits(), 0);
        drop(ends);
        let done = checks
            .run_check(&tenant("clinic"), CHECK_TIMEOUT, || Ok(()))
            .await;
        assert_eq!(done, Ok(()));
    }

    #[tokio::test]
    async fn what_a_check_says_is_told_and_a_panic_is_a_refusal() {
        let checks = ArgumentChecks::default();
        let clinic = tenant("clinic");
        let says = checks.run_check(&clinic, CHECK_TIMEOUT, || Err("no".to_owned()));
        assert_eq!(says.await, Err("no".to_owned()));
        let panics = checks.run_check(&clinic, CHECK_TIMEOUT, || panic!("as the test wants"));
        assert!(panics.await.is_err());
        let again = checks.run_check(&clinic, CHECK_TIMEOUT, || Ok(()));
        assert_eq!(again.await, Ok(()));
    }
}
