use crate::faulty_ports::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::{CorrelationId, TenantId};
use recado_pipeline::ports::{CorrelatedRecords, OverdueWork, PortError, PortResult, RecordIndexes, Store};

#[async_trait]
impl<S: Store> RecordIndexes for FaultyPort<S> {
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        self.around(
            "find_by_correlation",
            self.inner.find_by_correlation(correlation, tenant, limit),
        )
        .await
    }

    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        let listed = self.inner.list_overdue(now, limit);
        let mut overdue = self.around("list_overdue", listed).await?;
        if self.injector.lacks(Mutation::UnreadableFailsAll) && self.injector.common.machine.is_damaged() {
            return Err(PortError::invalid("list_overdue", "a row cannot be read"));
        }
        if self.injector.lacks(Mutation::FilesForgotten) {
            overdue.retain(|work| !matches!(work, OverdueWork::File { .. }));
        }
        Ok(overdue)
    }
}
