//! The bounded parts of a removal, in the order in which they are done.

use crate::RemovalReport;
use jiff::SignedDuration;
use recado_contacts::conversation_erasure::{ConversationErasure, erase_conversation, erase_journal};
use recado_contacts::dead_letter_erasure::{
    erase_dead_letters, erase_dead_queue, erase_scheduled_message, settle_without_body,
};
use recado_domain::config::{ConfigDocument, ConfigRemoval, EntryRef, Instance};
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName, QueuedJob};
use recado_domain::event::InboundJob;
use recado_domain::ids::TenantId;
use recado_domain::millis::add_duration;
use recado_domain::provider::Provider;
use recado_knowledge::knowledge_reading::delete_knowledge;
use recado_pipeline::Deps;
use recado_ports::ports::{ConversationFilter, DeadQueueMessage, EventOwners, PageRequest, PortResult};
use recado_ports::records::configuration::{load_configuration, remove_configuration};
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use recado_ports::records::effects::list_journals;
use recado_ports::records::knowledge::list_knowledge;
use recado_ports::records::notices::delete_notices;
use recado_ports::records::removed_instances::note_removed_instances;
use recado_ports::records::scheduled_messages::list_pending_scheduled;
use std::collections::BTreeSet;

/// Number of events, conversations, and other records of a kind that one call removes at most.
const EVENTS: usize = 500;
const CONVERSATIONS: usize = 100;
const RECORDS: usize = 500;
const KNOWLEDGE: usize = 100;
const JOURNALS: usize = 100;

/// Number of messages after which a call looks at no further conversation.
const MESSAGES: usize = 500;

/// Time for which it is known that an instance was removed. What comes for it later is of an unknown instance.
const KNOWN_AS_REMOVED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Removes a part of the tenant. `report.done` tells that nothing is left.
pub(super) async fn remove_part(
    deps: &Deps,
    tenant: &TenantId,
    document: &ConfigDocument,
    report: &mut RemovalReport,
) -> PortResult<()> {
    let of = Removed { tenant, document };
    if of.settle_events(deps, report).await? {
        return Ok(());
    }
    of.erase_dead(deps, report).await?;
    for instance in &document.instances {
        for scheduled in list_pending_scheduled(deps.store(), tenant, &instance.id).await? {
            report.scheduled += usize::from(erase_scheduled_message(deps, scheduled).await?);
        }
    }
    if of.erase_conversations(deps, report).await? {
        return Ok(());
    }
    if of.remove_journals(deps, report).await? || of.remove_knowledge(deps, report).await? {
        return Ok(());
    }
    let mut removed = deps
        .store()
        .delete_tenant_records(tenant, &document.instances, RECORDS)
        .await?;
    for (provider, account) in of.list_own_accounts(deps).await? {
        removed += delete_notices(deps.store(), provider, &account, RECORDS).await?;
    }
    report.records += removed;
    if removed >= RECORDS {
        return Ok(());
    }
    of.remove_configuration(deps, report).await
}

/// The tenant that is being removed, with its agents and instances.
struct Removed<'a> {
    tenant: &'a TenantId,
    document: &'a ConfigDocument,
}

impl Removed<'_> {
    /// Removes the knowledge of the tenant's agents. Returns `true` if there may be more.
    async fn remove_knowledge(&self, deps: &Deps, report: &mut RemovalReport) -> PortResult<bool> {
        let found = list_knowledge(deps.store(), self.tenant, KNOWLEDGE).await?;
        for knowledge in &found {
            delete_knowledge(deps, knowledge).await?;
        }
        report.records += found.len();
        Ok(found.len() == KNOWLEDGE)
    }

    /// Removes the journals of effects with the cells of their events. Returns `true` if there may be more.
    async fn remove_journals(&self, deps: &Deps, report: &mut RemovalReport) -> PortResult<bool> {
        let found = list_journals(deps.store(), self.tenant, JOURNALS).await?;
        for journal in &found {
            erase_journal(deps, self.tenant, &journal.thread).await?;
        }
        report.records += found.len();
        Ok(found.len() == JOURNALS)
    }

    /// Settles the events that are not applied yet. Returns `true` if there may be more.
    async fn settle_events(&self, deps: &Deps, report: &mut RemovalReport) -> PortResult<bool> {
        let instances = &self.document.instances;
        let found = deps
            .store()
            .list_pending_events(EventOwners::Instances(instances, EVENTS))
            .await?;
        for record in &found {
            settle_without_body(deps, &record.job).await?;
        }
        report.events += found.len();
        Ok(found.len() == EVENTS)
    }

    /// Erases the tenant's dead letters. Their copies go first, since the dead letters tell whose they are.
    async fn erase_dead(&self, deps: &Deps, report: &mut RemovalReport) -> PortResult<()> {
        let ids = self.list_dead_letters(deps).await?;
        for queue in QueueName::ALL {
            let is_theirs = |message: &DeadQueueMessage| {
                let copy_of = message.copy_of.as_ref();
                copy_of.is_some_and(|copy| ids.contains(&copy.dead_letter)) || self.owns_job(message)
            };
            report.dead_letters += erase_dead_queue(deps, queue, is_theirs).await?;
        }
        report.dead_letters +=
            erase_dead_letters(deps, self.tenant, |dead_letter| self.owns_letter(dead_letter)).await?;
        Ok(())
    }

    /// Lists the ids of the tenant's dead letters.
    async fn list_dead_letters(&self, deps: &Deps) -> PortResult<BTreeSet<String>> {
        let filter = DeadLetterFilter::of_tenant(self.tenant);
        let (mut ids, mut next) = (BTreeSet::new(), Some(PageRequest::first(RECORDS)));
        while let Some(page) = next {
            let found = list_dead_letters(deps.store(), &filter, &page).await?;
            ids.extend(found.items.into_iter().map(|dead_letter| dead_letter.id));
            next = page.follow(found.next_cursor);
        }
        Ok(ids)
    }

    fn owns_letter(&self, dead_letter: &DeadLetter) -> bool {
        let of_instance = |instance: &Instance| dead_letter.instance.as_ref() == Some(&instance.id);
        dead_letter.tenant.as_ref() == Some(self.tenant)
            || self.document.instances.iter().any(of_instance)
            || matches!(&dead_letter.what, DeadLetterContent::Event(job) if self.owns_event(job))
    }

    /// Returns `true` if a queue message shows by itself that it is the tenant's.
    fn owns_job(&self, message: &DeadQueueMessage) -> bool {
        match QueuedJob::parse(message.queue, &message.body) {
            Ok(QueuedJob::Inbound(job)) => self.owns_event(&job),
            Ok(job) => job.tenant() == Some(self.tenant),
            Err(_) => false,
        }
    }

    fn owns_event(&self, job: &InboundJob) -> bool {
        self.document.instances.iter().any(|instance| {
            instance.provider == job.provider
                && instance.resolve_external_id().as_ref() == Some(&job.external)
        })
    }

    /// Erases conversations, each with its messages and what lies beside them. Returns `true` if there may be more.
    async fn erase_conversations(&self, deps: &Deps, report: &mut RemovalReport) -> PortResult<bool> {
        let mut filter = ConversationFilter::of_tenant(self.tenant);
        let page = PageRequest::first(CONVERSATIONS);
        let listed = deps.store().search_conversations(&filter, &page).await?;
        let mut found = listed.items;
        let has_more = listed.next_cursor.is_some();
        if !has_more {
            filter.unlisted = true;
            let unlisted = deps.store().search_conversations(&filter, &page).await?;
            found.extend(unlisted.items);
        }
        let is_whole_page = found.len() >= CONVERSATIONS;
        for conversation in found {
            if self.erase_one(deps, conversation, report).await? {
                return Ok(true);
            }
        }
        Ok(has_more || is_whole_page)
    }

    /// Erases a conversation. Returns `true` if the call has done enough.
    async fn erase_one(
        &self,
        deps: &Deps,
        conversation: Conversation,
        report: &mut RemovalReport,
    ) -> PortResult<bool> {
        let is_its = |instance: &&Instance| instance.id == conversation.instance;
        let how = ConversationErasure {
            instance: self.document.instances.iter().find(is_its),
            kept_identity: None,
            leaves_tombstone: false,
            messages_max: MESSAGES,
        };
        let part = erase_conversation(deps, &how, conversation).await?;
        report.messages += part.messages;
        report.conversations += usize::from(part.is_whole);
        Ok(report.messages >= MESSAGES)
    }

    /// Lists the accounts of the tenant's instances. One that an instance of another tenant names too is left out: its notices stay.
    async fn list_own_accounts(&self, deps: &Deps) -> PortResult<BTreeSet<(Provider, String)>> {
        let account_of = |instance: &Instance| Some((instance.provider, instance.account_id.clone()?));
        let mut own: BTreeSet<_> = self.document.instances.iter().filter_map(account_of).collect();
        if own.is_empty() {
            return Ok(own);
        }
        let all = load_configuration(deps.store(), None).await?.instances;
        for other in all.iter().filter(|other| other.tenant != *self.tenant) {
            if let Some(shared) = account_of(other) {
                own.remove(&shared);
            }
        }
        Ok(own)
    }

    /// Removes what is configured, with the tenant itself last: until then it leads to the rest.
    async fn remove_configuration(&self, deps: &Deps, report: &mut RemovalReport) -> PortResult<()> {
        let store = deps.store();
        let expires = add_duration(deps.system().now(), KNOWN_AS_REMOVED);
        note_removed_instances(store, &self.document.instances, expires).await?;
        let names = self.document.list_entry_names().into_iter();
        let rest: ConfigRemoval = names
            .filter(|name| !matches!(name, EntryRef::Tenant(_)))
            .collect();
        remove_configuration(store, &rest).await?;
        store.overwrite_deleted().await?;
        let itself = [EntryRef::Tenant(self.tenant.clone())];
        remove_configuration(store, &itself.into_iter().collect()).await?;
        report.agents = self.document.agents.len();
        report.instances = self.document.instances.len();
        report.done = true;
        Ok(())
    }
}
