//! The ports as a running function has them: every call goes through its [`FaultInjector`], and a mutation drops its safeguard
//! here.

mod queues;
mod store;

use crate::fault_injector::FaultInjector;
use recado_pipeline::ports::PortResult;

/// A port as one function has it.
#[derive(Debug, Clone)]
pub struct FaultyPort<P> {
    inner: P,
    injector: FaultInjector,
}

impl<P> FaultyPort<P> {
    /// `inner`, as the function of `injector` has it.
    pub fn new(inner: P, injector: FaultInjector) -> Self {
        Self { inner, injector }
    }

    /// Makes `call`, the port's method `name`, through the injector: it may fail, and the function may die before or after it.
    async fn around<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<T> {
        self.injector.call(name, call).await
    }
}
