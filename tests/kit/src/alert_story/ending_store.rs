//! A store at one of whose calls the process ends.

use crate::delegate_calls;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::TenantId;
use recado_domain::usage::{Date, UsageSum};
use recado_ports::ports::{
    ConversationFilter, Gauges, OpenWork, Page, PageRequest, PortResult, Store, TroubledInstances,
    UnacknowledgedCounts, UnacknowledgedFilter, UsageRecords, WaitingForPerson,
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

impl<S: Store> Table for EndingStore<'_, S> {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, PortResult<Option<StoredItem>>> {
        Box::pin(self.around("get", self.inner.get(key)))
    }

    fn get_cached<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, PortResult<Option<StoredItem>>> {
        Box::pin(self.around("get_cached", self.inner.get_cached(key)))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, PortResult<Vec<StoredItem>>> {
        Box::pin(self.around("get_many", self.inner.get_many(keys)))
    }

    fn write<'a>(&'a self, writes: &'a [Write]) -> BoxFuture<'a, PortResult<WriteResult>> {
        Box::pin(self.around("write", self.inner.write(writes)))
    }

    fn page<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, PortResult<ItemPage>> {
        Box::pin(self.around("page", self.inner.page(query)))
    }

    fn count<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, PortResult<u64>> {
        Box::pin(self.around("count", self.inner.count(query)))
    }

    fn list_due<'a>(
        &'a self,
        kind: &'a Kind,
        now: Timestamp,
        limit: usize,
    ) -> BoxFuture<'a, PortResult<Vec<Key>>> {
        Box::pin(self.around("list_due", self.inner.list_due(kind, now, limit)))
    }
}

impl<S: Store> Gauges for EndingStore<'_, S> {
    delegate_calls! {
        read_open_work(of: Option<&[Instance]>, limit: usize) -> OpenWork;
        list_troubled_instances(limit: usize) -> TroubledInstances;
        list_waiting_for_person(before: Timestamp, limit: usize) -> WaitingForPerson;
        list_waiting_conversations(filter: &ConversationFilter, page: &PageRequest) -> Page<Conversation>;
        count_unacknowledged(range: (Timestamp, Timestamp), limit: usize) -> UnacknowledgedCounts;
        list_unacknowledged(filter: &UnacknowledgedFilter, now: Timestamp, page: &PageRequest) -> Page<UnacknowledgedMessage>;
    }
}

impl<S: Store> UsageRecords for EndingStore<'_, S> {
    delegate_calls! {
        list_usage(tenant: &TenantId, from: Date, to: Date) -> Vec<UsageSum>;
    }
}
