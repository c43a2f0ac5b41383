//! Counts how often the SDK sent a request. A conditional write that it repeated may find its own earlier attempt.

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A counter of the attempts of one operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestAttempts(Arc<AtomicU32>);

impl RequestAttempts {
    /// Returns whether the request was sent more than once.
    pub(crate) fn was_repeated(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

impl Intercept for RequestAttempts {
    fn name(&self) -> &'static str {
        "Tries"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_try_is_no_repetition_and_clones_count_together() {
        let tries = RequestAttempts::default();
        tries.clone().0.fetch_add(1, Ordering::Relaxed);
        assert!(!tries.was_repeated());
        tries.clone().0.fetch_add(1, Ordering::Relaxed);
        assert!(tries.was_repeated());
    }
}
