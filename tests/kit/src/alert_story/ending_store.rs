//! A store at one of whose calls the process ends.

use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::{CorrelationId, TenantId};
use recado_domain::usage::{Date, UsageSum};
use recado_ports::ports::{
    ConversationFilter, CorrelatedRecords, OpenWork, OverdueWork, Overviews, Page, PageRequest, PortResult,
    Store, TroubledInstances, UnacknowledgedCounts, UnacknowledgedFilter, WaitingForPerson,
};
use recado_ports::table::{ItemPage, Key, Kind, Query, StoredItem, Table, Write, WriteResult};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

/// A store at one of whose calls the process ends.
#[derive(Debug)]
pub(super) struct EndingStore<'a, S> {
    pub(super) inner: &'a S,
    pub(super) calls: AtomicUsize,
    pub(super) at_call: usize,
    pub(super) after: bool,
    pub(super) is_over: AtomicBool,
}

impl<S> EndingStore<'_, S> {
    async fn around<T>(&self, _: &'static str, call: impl Future<Output = PortResult<T>>) -> PortResult<T> {
        let ends = self.calls.fetch_add(1, Ordering::SeqCst) == self.at_call;
        if !ends || self.after {
            let done = call.await;
            if !ends {
                return done;
            }
        }
        self.is_over.store(true, Ordering::SeqCst);
        std::future::pending().await
    }

    /// Runs `pass` until it finishes (`true`) or the process ends.
    pub(super) async fn run_until_end<T>(&self, pass: impl Future<Output = T>) -> bool {
        let mut pass = std::pin::pin!(pass);
        std::future::poll_fn(|context| {
            if pass.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            if self.is_over.load(Ordering::SeqCst) {
                return Poll::Ready(false);
            }
            Poll::Pending
        })
        .await
    }
}

#[async_trait]
impl<S: Store> Table for EndingStore<'_, S> {
    async fn get(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        self.around("get", self.inner.get(key)).await
    }

    async fn get_cached(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        self.around("get_cached", self.inner.get_cached(key)).await
    }

    async fn get_many(&self, keys: &[Key]) -> PortResult<Vec<StoredItem>> {
        self.around("get_many", self.inner.get_many(keys)).await
    }

    async fn write(&self, writes: &[Write]) -> PortResult<WriteResult> {
        self.around("write", self.inner.write(writes)).await
    }

    async fn page(&self, query: &Query) -> PortResult<ItemPage> {
        self.around("page", self.inner.page(query)).await
    }

    async fn count(&self, query: &Query) -> PortResult<u64> {
        self.around("count", self.inner.count(query)).await
    }

    async fn list_due(&self, kind: &Kind, now: Timestamp, limit: usize) -> PortResult<Vec<Key>> {
        self.around("list_due", self.inner.list_due(kind, now, limit))
            .await
    }
}

#[async_trait]
impl<S: Store> Overviews for EndingStore<'_, S> {
    async fn read_open_work(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork> {
        self.around("read_open_work", self.inner.read_open_work(of, limit))
            .await
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

    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        self.around("list_overdue", self.inner.list_overdue(now, limit))
            .await
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

    async fn list_usage(&self, tenant: &TenantId, from: Date, to: Date) -> PortResult<Vec<UsageSum>> {
        self.around("list_usage", self.inner.list_usage(tenant, from, to))
            .await
    }
}
