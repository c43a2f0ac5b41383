mod claims;
mod conversations;
mod inbox;
mod instances;

use super::Tap;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::config::{ConfigDocument, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, DeadLetterDeletion};
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{CorrelationId, ExternalId, InstanceId, ThreadId};
use recado_domain::message::Message;
use recado_domain::notice::Notice;
use recado_domain::provider::Provider;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};
use recado_pipeline::ports::{
    CommitOutcome, ConfigurationStore, ContactAliases, CorrelatedRecords, CorrelationIndex, DeadLetterFilter,
    DeadLetters, Deliveries, Gauges, IdempotencyClaim, IdentityKeyStore, Notices, OpenWork, OverdueIndex,
    OverdueWork, Page, PageRequest, PortResult, ScheduledMessages, Store, WriteOutcome,
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

    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        self.hand.call("delivery", self.inner.find_delivery(key)).await
    }

    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        self.hand
            .call("deliveries", self.inner.find_deliveries(keys))
            .await
    }
}

/// A process asks for it once, so it is no step at which something may happen.
impl<S: Store> IdentityKeyStore for Tap<S> {
    async fn find_identity_key(&self) -> PortResult<Option<IdentityKey>> {
        self.inner.find_identity_key().await
    }

    async fn put_identity_key_if_absent(&self, new: &IdentityKey) -> PortResult<IdentityKey> {
        self.inner.put_identity_key_if_absent(new).await
    }
}

impl<S: Store> ContactAliases for Tap<S> {
    async fn find_alias(&self, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
        self.hand.call("alias", self.inner.find_alias(other)).await
    }

    async fn save_alias(&self, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
        let effect = self.inner.save_alias(other, address);
        self.hand.call("learn_alias", effect).await
    }
}

impl<S: Store> Notices for Tap<S> {
    async fn put_notice(&self, notice: &Notice, expires: Timestamp) -> PortResult<()> {
        self.hand
            .call("put_notice", self.inner.put_notice(notice, expires))
            .await
    }

    async fn list_notices(&self, provider: Provider, account: &str) -> PortResult<Vec<Notice>> {
        self.hand
            .call("notices", self.inner.list_notices(provider, account))
            .await
    }
}

impl<S: Store> DeadLetters for Tap<S> {
    async fn put_dead_letter(&self, letter: &DeadLetter) -> PortResult<()> {
        self.hand
            .call("put_dead_letter", self.inner.put_dead_letter(letter))
            .await
    }

    async fn find_dead_letter(&self, id: &str) -> PortResult<Option<DeadLetter>> {
        self.hand
            .call("dead_letter", self.inner.find_dead_letter(id))
            .await
    }

    async fn remove_dead_letter(&self, id: &str, died: Timestamp) -> PortResult<bool> {
        let effect = self.inner.remove_dead_letter(id, died);
        self.hand.call("remove_dead_letter", effect).await
    }

    async fn delete_dead_letter(&self, deletion: &DeadLetterDeletion) -> PortResult<bool> {
        let effect = self.inner.delete_dead_letter(deletion);
        self.hand.call("delete_dead_letter", effect).await
    }

    async fn list_deletions(&self, page: &PageRequest) -> PortResult<Page<DeadLetterDeletion>> {
        self.hand.call("deletions", self.inner.list_deletions(page)).await
    }

    async fn list_dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> PortResult<Page<DeadLetter>> {
        self.hand
            .call("dead_letters", self.inner.list_dead_letters(filter, page))
            .await
    }

    async fn count_dead_letters(&self, instance: Option<&InstanceId>) -> PortResult<u64> {
        self.hand
            .call("count_dead_letters", self.inner.count_dead_letters(instance))
            .await
    }
}

impl<S: Store> ConfigurationStore for Tap<S> {
    async fn read_configuration(&self) -> PortResult<ConfigDocument> {
        self.hand
            .call("configuration", self.inner.read_configuration())
            .await
    }

    async fn apply_configuration(&self, change: &ConfigDocument) -> PortResult<()> {
        self.hand
            .call("apply", self.inner.apply_configuration(change))
            .await
    }

    async fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> PortResult<Option<InstanceConfig>> {
        self.hand
            .call("bound", self.inner.find_instance_config(provider, external))
            .await
    }

    async fn instance_config(&self, id: &InstanceId) -> PortResult<Option<InstanceConfig>> {
        let bound = self
            .hand
            .call("bound_by_id", self.inner.instance_config(id))
            .await?;
        if let Some(bound) = &bound {
            self.hand.saw(&bound.tenant.id);
        }
        Ok(bound)
    }
}

impl<S: Store> OverdueIndex for Tap<S> {
    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        self.hand
            .call("overdue", self.inner.list_overdue(now, limit))
            .await
    }
}

impl<S: Store> Gauges for Tap<S> {
    async fn read_open_work(&self, limit: usize) -> PortResult<OpenWork> {
        self.hand
            .call("open_work", self.inner.read_open_work(limit))
            .await
    }
}

impl<S: Store> ScheduledMessages for Tap<S> {
    async fn put_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        key: Option<&IdempotencyClaim>,
    ) -> PortResult<CommitOutcome> {
        let key = key.filter(|_| !self.hand.lacks(Mutation::KeyForgotten));
        self.hand
            .call("put_scheduled", self.inner.put_scheduled(scheduled, key))
            .await
    }

    async fn find_scheduled(&self, id: &ScheduledId) -> PortResult<Option<ScheduledMessage>> {
        self.hand.call("scheduled", self.inner.find_scheduled(id)).await
    }

    async fn save_scheduled(&self, scheduled: &ScheduledMessage) -> PortResult<WriteOutcome> {
        self.hand
            .call("save_scheduled", self.inner.save_scheduled(scheduled))
            .await
    }

    async fn commit_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        conversation: &Conversation,
        message: &Message,
    ) -> PortResult<WriteOutcome> {
        let effect = async {
            let written = self
                .inner
                .commit_scheduled(scheduled, conversation, message)
                .await?;
            if written == WriteOutcome::Written {
                self.note_commit(std::slice::from_ref(message));
            }
            Ok(written)
        };
        self.hand.call("fall_due", effect).await
    }
}

impl<S: Store> CorrelationIndex for Tap<S> {
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        self.hand
            .call("traced", self.inner.find_by_correlation(correlation, limit))
            .await
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests;
