mod claims;
mod conversations;
mod inbox;
mod instances;

use super::Tap;
use jiff::Timestamp;
use recado_domain::config::{Bound, Document};
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::event::Provider;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::message::Message;
use recado_pipeline::ports::{
    DeadLetterFilter, DeadLetters, Deliveries, Directory, Gauges, OpenWork, Overdue, OverdueWork, Page,
    PageRequest, PortResult, Store,
};

impl<S: Store> Tap<S> {
    fn saw(&self, messages: &[Message]) {
        for message in messages {
            self.hand.saw(&message.tenant);
        }
    }

    fn saw_conversation(&self, conversation: Option<&Conversation>) {
        if let Some(conversation) = conversation {
            self.hand.saw(&conversation.tenant);
        }
    }
}

impl<S: Store> Deliveries for Tap<S> {
    async fn record_status(&self, update: &StatusUpdate, expires: Timestamp) -> PortResult<()> {
        self.hand
            .call("record_status", self.inner.record_status(update, expires))
            .await
    }

    async fn delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        self.hand.call("delivery", self.inner.delivery(key)).await
    }

    async fn deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        self.hand.call("deliveries", self.inner.deliveries(keys)).await
    }
}

impl<S: Store> DeadLetters for Tap<S> {
    async fn put_dead_letter(&self, letter: &DeadLetter) -> PortResult<()> {
        self.hand
            .call("put_dead_letter", self.inner.put_dead_letter(letter))
            .await
    }

    async fn dead_letter(&self, id: &str) -> PortResult<Option<DeadLetter>> {
        self.hand.call("dead_letter", self.inner.dead_letter(id)).await
    }

    async fn remove_dead_letter(&self, id: &str) -> PortResult<bool> {
        self.hand
            .call("remove_dead_letter", self.inner.remove_dead_letter(id))
            .await
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> PortResult<Page<DeadLetter>> {
        self.hand
            .call("dead_letters", self.inner.dead_letters(filter, page))
            .await
    }

    async fn count_dead_letters(&self, instance: Option<&InstanceId>) -> PortResult<u64> {
        self.hand
            .call("count_dead_letters", self.inner.count_dead_letters(instance))
            .await
    }
}

impl<S: Store> Directory for Tap<S> {
    async fn configuration(&self) -> PortResult<Document> {
        self.hand.call("configuration", self.inner.configuration()).await
    }

    async fn apply(&self, change: &Document) -> PortResult<()> {
        self.hand.call("apply", self.inner.apply(change)).await
    }

    async fn bound(&self, provider: Provider, external: &ExternalId) -> PortResult<Option<Bound>> {
        self.hand
            .call("bound", self.inner.bound(provider, external))
            .await
    }

    async fn bound_by_id(&self, id: &InstanceId) -> PortResult<Option<Bound>> {
        let bound = self.hand.call("bound_by_id", self.inner.bound_by_id(id)).await?;
        if let Some(bound) = &bound {
            self.hand.saw(&bound.tenant.id);
        }
        Ok(bound)
    }
}

impl<S: Store> Overdue for Tap<S> {
    async fn overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        self.hand.call("overdue", self.inner.overdue(now, limit)).await
    }
}

impl<S: Store> Gauges for Tap<S> {
    async fn open_work(&self, limit: usize) -> PortResult<OpenWork> {
        self.hand.call("open_work", self.inner.open_work(limit)).await
    }
}
