mod claims;
mod conversations;
mod inbox;
mod instances;

use super::Tap;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::config::{Bound, Document};
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, Deletion};
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{CorrelationId, ExternalId, InstanceId, ThreadId};
use recado_domain::message::Message;
use recado_domain::notice::Notice;
use recado_domain::provider::Provider;
use recado_domain::scheduled::{Scheduled, ScheduledId};
use recado_pipeline::ports::{
    Aliases, Committed, DeadLetterFilter, DeadLetters, Deliveries, Directory, Gauges, Identity, KeyClaim,
    Notices, OpenWork, Overdue, OverdueWork, Page, PageRequest, PortResult, Scheduling, Store, Traced,
    Traces, Written,
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

/// A process asks for it once, so it is no step at which something may happen.
impl<S: Store> Identity for Tap<S> {
    async fn identity_key(&self) -> PortResult<Option<IdentityKey>> {
        self.inner.identity_key().await
    }

    async fn keep_identity_key(&self, new: &IdentityKey) -> PortResult<IdentityKey> {
        self.inner.keep_identity_key(new).await
    }
}

impl<S: Store> Aliases for Tap<S> {
    async fn alias(&self, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
        self.hand.call("alias", self.inner.alias(other)).await
    }

    async fn learn_alias(&self, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
        let effect = self.inner.learn_alias(other, address);
        self.hand.call("learn_alias", effect).await
    }
}

impl<S: Store> Notices for Tap<S> {
    async fn put_notice(&self, notice: &Notice, expires: Timestamp) -> PortResult<()> {
        self.hand
            .call("put_notice", self.inner.put_notice(notice, expires))
            .await
    }

    async fn notices(&self, provider: Provider, account: &str) -> PortResult<Vec<Notice>> {
        self.hand
            .call("notices", self.inner.notices(provider, account))
            .await
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

    async fn remove_dead_letter(&self, id: &str, died: Timestamp) -> PortResult<bool> {
        let effect = self.inner.remove_dead_letter(id, died);
        self.hand.call("remove_dead_letter", effect).await
    }

    async fn delete_dead_letter(&self, deletion: &Deletion) -> PortResult<bool> {
        let effect = self.inner.delete_dead_letter(deletion);
        self.hand.call("delete_dead_letter", effect).await
    }

    async fn deletions(&self, page: &PageRequest) -> PortResult<Page<Deletion>> {
        self.hand.call("deletions", self.inner.deletions(page)).await
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

impl<S: Store> Scheduling for Tap<S> {
    async fn put_scheduled(&self, scheduled: &Scheduled, key: Option<&KeyClaim>) -> PortResult<Committed> {
        let key = key.filter(|_| !self.hand.lacks(Mutation::KeyForgotten));
        self.hand
            .call("put_scheduled", self.inner.put_scheduled(scheduled, key))
            .await
    }

    async fn scheduled(&self, id: &ScheduledId) -> PortResult<Option<Scheduled>> {
        self.hand.call("scheduled", self.inner.scheduled(id)).await
    }

    async fn save_scheduled(&self, scheduled: &Scheduled) -> PortResult<Written> {
        self.hand
            .call("save_scheduled", self.inner.save_scheduled(scheduled))
            .await
    }

    async fn fall_due(
        &self,
        scheduled: &Scheduled,
        conversation: &Conversation,
        message: &Message,
    ) -> PortResult<Written> {
        let effect = async {
            let written = self.inner.fall_due(scheduled, conversation, message).await?;
            if written == Written::Yes {
                self.note_commit(std::slice::from_ref(message));
            }
            Ok(written)
        };
        self.hand.call("fall_due", effect).await
    }
}

impl<S: Store> Traces for Tap<S> {
    async fn traced(&self, correlation: &CorrelationId, limit: usize) -> PortResult<Traced> {
        self.hand
            .call("traced", self.inner.traced(correlation, limit))
            .await
    }
}
