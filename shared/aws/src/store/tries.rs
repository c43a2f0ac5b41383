//! How often the SDK sent a request. A conditional write that it repeated may find its own earlier try.

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts the tries of one operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tries(Arc<AtomicU32>);

impl Tries {
    /// Whether it was sent more than once.
    pub(crate) fn repeated(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

impl Intercept for Tries {
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
        let tries = Tries::default();
        tries.clone().0.fetch_add(1, Ordering::Relaxed);
        assert!(!tries.repeated());
        tries.clone().0.fetch_add(1, Ordering::Relaxed);
        assert!(tries.repeated());
    }
}
