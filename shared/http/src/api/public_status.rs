//! The status of the way to WhatsApp that anybody may read.

use recado_domain::Timestamp;
use recado_domain::health::HealthStatus;
use serde::Serialize;
use std::sync::{Mutex, PoisonError};

/// Time for which requests without a token get the same cached status, in milliseconds: strangers must not be able to
/// load the store.
const STATUS_KEPT_MS: i64 = 10_000;

/// The status that was last computed for a request without a token, with its time.
#[derive(Debug, Default)]
pub struct PublicStatusCache(Mutex<Option<StatusView>>);

impl PublicStatusCache {
    /// Returns the status if it is not too old.
    pub fn get_if_fresh(&self, now: Timestamp) -> Option<StatusView> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.filter(|view| now.as_millisecond() - view.timestamp.as_millisecond() < STATUS_KEPT_MS)
    }

    /// Keeps the status for the next requests.
    pub fn store_status(&self, view: StatusView) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
    }
}

/// The status that anybody may read.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StatusView {
    pub status: HealthStatus,
    pub timestamp: Timestamp,
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub shared: bool,
}
