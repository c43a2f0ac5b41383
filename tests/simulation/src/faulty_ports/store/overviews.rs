use crate::faulty_ports::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::{CorrelationId, TenantId};
use recado_domain::usage::UsageSum;
use recado_pipeline::ports::{
    ConversationFilter, CorrelatedRecords, DiskSpace, OpenWork, OverdueWork, Overviews, Page, PageRequest,
    PortError, PortResult, Store, TroubledInstances, UnacknowledgedCounts, UnacknowledgedFilter,
    WaitingForPerson,
};

#[async_trait]
impl<S: Store> Overviews for FaultyPort<S> {
    async fn read_open_work(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork> {
        self.around("read_open_work", self.inner.read_open_work(of, limit))
            .await
    }

    async fn read_disk_space(&self) -> PortResult<Option<DiskSpace>> {
        self.around("read_disk_space", self.inner.read_disk_space()).await
    }

    async fn list_troubled_instances(&self, limit: usize) -> PortResult<TroubledInstances> {
        self.around(
            "list_troubled_instances",
            self.inner.list_troubled_instances(limit),
        )
        .await
    }

    async fn list_waiting_for_person(&self, before: Timestamp, limit: usize) -> PortResult<WaitingForPerson> {
        self.around(
            "list_waiting_for_person",
            self.inner.list_waiting_for_person(before, limit),
        )
        .await
    }

    async fn list_waiting_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        self.around(
            "list_waiting_conversations",
            self.inner.list_waiting_conversations(filter, page),
        )
        .await
    }

    async fn count_unacknowledged(
        &self,
        range: (Timestamp, Timestamp),
        limit: usize,
    ) -> PortResult<UnacknowledgedCounts> {
        self.around(
            "count_unacknowledged",
            self.inner.count_unacknowledged(range, limit),
        )
        .await
    }

    async fn list_unacknowledged(
        &self,
        filter: &UnacknowledgedFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> PortResult<Page<UnacknowledgedMessage>> {
        self.around(
            "list_unacknowledged",
            self.inner.list_unacknowledged(filter, now, page),
        )
        .await
    }

    async fn list_usage(&self, tenant: &TenantId, from: Date, to: Date) -> PortResult<Vec<UsageSum>> {
        let mut sums = self
            .around("list_usage", self.inner.list_usage(tenant, from, to))
            .await?;
        if self.injector.lacks(Mutation::SpentTokensIgnored) {
            sums.clear();
        }
        Ok(sums)
    }

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
