//! The status of the way to WhatsApp that anybody may read.

use recado_domain::Timestamp;
use recado_pipeline::health::HealthStatus;
use serde::Serialize;
use std::sync::{Mutex, PoisonError};

/// Time for which requests without a token get the same cached status, in milliseconds: strangers must not be able to
/// load the store.
const STATUS_KEPT_MS: i64 = 10_000;

/// The status that was last computed for a request without a token, with its time.
#[derive(Debug, Default)]
pub(super) struct PublicStatusCache(Mutex<Option<StatusView>>);

impl PublicStatusCache {
    /// Returns the status if it is not too old.
    pub(super) fn get_if_fresh(&self, now: Timestamp) -> Option<StatusView> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.filter(|view| now.as_millisecond() - view.timestamp.as_millisecond() < STATUS_KEPT_MS)
    }

    /// Keeps the status for the next requests.
    pub(super) fn store_status(&self, view: StatusView) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
    }
}

/// The status that anybody may read.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct StatusView {
    pub(super) status: HealthStatus,
    pub(super) timestamp: Timestamp,
    #[serde(skip)]
    #[cfg_attr(test, schema(ignore))]
    pub(super) shared: bool,
}
