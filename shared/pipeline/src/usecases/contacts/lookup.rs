//! Finds all identities and threads of one person.

use super::{ContactError, audit_contacts};
use crate::Deps;
use crate::ports::{ConfigurationStore, ContactAliases, Conversations, PortResult, Providers};
use crate::steps::identity::derive_thread_id;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::config::Instance;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationStatus};
use recado_domain::ids::{ConversationId, InstanceId, TenantId, ThreadId};
use recado_domain::recipient::{RecipientError, parse_recipient};
use std::collections::BTreeSet;

/// Maximum number of threads of one person on one instance that are followed.
const THREADS_MAX: usize = 64;

/// The contact that a request is about.
#[derive(Debug, Clone)]
pub struct ContactQuery {
    /// The tenant whose contact it is.
    pub tenant: TenantId,
    /// Only on this instance of the tenant; `None`: on all.
    pub instance: Option<InstanceId>,
    /// The phone number in any spelling, or an identity without a number. Personal data: never log it.
    pub contact: String,
}

/// A conversation of a contact that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundConversation {
    /// Id of the conversation.
    pub id: ConversationId,
    /// Status of the conversation.
    pub status: ConversationStatus,
    /// Time when its newest message was stored.
    pub last_message_at: Timestamp,
    /// Time at which the contact was erased; `None` if it was not.
    pub erased_at: Option<Timestamp>,
}

/// A person as it is known on one instance.
#[derive(Debug, Clone)]
pub struct FoundContact {
    /// The instance.
    pub instance: Instance,
    /// Names by which the person calls itself.
    pub names: BTreeSet<String>,
    /// Addresses of the person, the one that was asked for included.
    pub addresses: BTreeSet<ContactAddress>,
    /// Conversations of the person, the newest of each thread first.
    pub conversations: Vec<FoundConversation>,
    /// The address that was asked for.
    pub(super) entry: ContactAddress,
    /// Threads of the person, from the one that was asked for on: each is reached through one before it.
    pub(super) threads: Vec<ThreadId>,
}

impl FoundContact {
    /// Returns `true` if `address` is one of the person's addresses, in either spelling of a number.
    pub(super) fn has_address(&self, address: &ContactAddress) -> bool {
        let is = |known: &ContactAddress| known == address || known.is_same_number(address);
        self.addresses.iter().any(is)
    }

    /// Returns `true` if the conversation is one of the person's.
    pub(super) fn has_conversation(&self, id: &ConversationId) -> bool {
        self.threads.contains(id.thread_id())
    }
}

/// Finds a contact on the tenant's instances. An instance on which nothing of it is stored is left out.
pub async fn find_contact(
    deps: &impl Deps,
    caller: &Caller,
    query: &ContactQuery,
) -> Result<Vec<FoundContact>, ContactError> {
    let found = find_on_instances(deps, query).await?;
    audit_contacts(deps, caller, AuditAction::ContactFound, &found).await?;
    Ok(found
        .into_iter()
        .filter(|contact| !contact.conversations.is_empty())
        .collect())
}

/// Finds a contact on each of the tenant's instances, also where no conversation of it is stored.
pub(super) async fn find_on_instances(
    deps: &impl Deps,
    query: &ContactQuery,
) -> Result<Vec<FoundContact>, ContactError> {
    let configuration = deps.store().read_configuration(Some(&query.tenant)).await?;
    if !configuration
        .tenants
        .iter()
        .any(|tenant| tenant.id == query.tenant)
    {
        return Err(ContactError::NotFound("tenant"));
    }
    let is_asked = |instance: &Instance| {
        instance.tenant == query.tenant && query.instance.as_ref().is_none_or(|id| *id == instance.id)
    };
    let instances: Vec<Instance> = configuration.instances.into_iter().filter(is_asked).collect();
    if instances.is_empty() {
        return Err(ContactError::NotFound("instance"));
    }
    let (mut found, mut refused) = (Vec::new(), None);
    for instance in instances {
        let format = deps.providers().capabilities(instance.provider).address_format;
        match parse_recipient(format, &query.contact) {
            Ok(entry) => found.push(follow_identities(deps, instance, entry).await?),
            Err(RecipientError::OtherProvider) => {}
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) => Err(error.into()),
        None => Ok(found),
    }
}

/// Follows a person's identities from `entry` on: numbers that were learnt, and conversations that lead to others.
async fn follow_identities(
    deps: &impl Deps,
    instance: Instance,
    entry: ContactAddress,
) -> PortResult<FoundContact> {
    let first = derive_thread_id(deps, &instance.id, entry.as_str()).await?;
    let mut contact = FoundContact {
        instance,
        names: BTreeSet::new(),
        addresses: BTreeSet::from([entry.clone()]),
        conversations: Vec::new(),
        entry,
        threads: vec![first],
    };
    let mut next = 0;
    while let Some(thread) = contact.threads.get(next).cloned() {
        next += 1;
        if let Some(number) = deps.store().find_alias(&thread).await? {
            add_address(deps, &mut contact, number).await?;
        }
        let Some(latest) = deps.store().find_latest_conversation(&thread).await? else {
            continue;
        };
        for conversation in list_thread(deps, latest).await? {
            add_conversation(deps, &mut contact, conversation).await?;
        }
    }
    Ok(contact)
}

/// Lists the conversations of a thread, the newest, `latest`, first.
pub(super) async fn list_thread(deps: &impl Deps, latest: Conversation) -> PortResult<Vec<Conversation>> {
    let (thread, number) = (latest.id.thread_id().clone(), latest.id.number_in_thread());
    let mut found = vec![latest];
    for number in (1..number).rev() {
        let id = ConversationId::new(thread.clone(), number);
        found.extend(deps.store().find_conversation(&id).await?);
    }
    Ok(found)
}

async fn add_conversation(
    deps: &impl Deps,
    contact: &mut FoundContact,
    conversation: Conversation,
) -> PortResult<()> {
    contact.names.extend(conversation.name.clone());
    for linked in conversation.linked_conversations() {
        add_thread(contact, linked.thread_id().clone());
    }
    let known = [Some(conversation.address), conversation.known_as];
    for address in known
        .into_iter()
        .flatten()
        .filter(|address| !address.is_removed())
    {
        add_address(deps, contact, address).await?;
    }
    contact.conversations.push(FoundConversation {
        id: conversation.id,
        status: conversation.status,
        last_message_at: conversation.last_message_at,
        erased_at: conversation.erased_at,
    });
    Ok(())
}

async fn add_address(
    deps: &impl Deps,
    contact: &mut FoundContact,
    address: ContactAddress,
) -> PortResult<()> {
    let thread = derive_thread_id(deps, &contact.instance.id, address.as_str()).await?;
    add_thread(contact, thread);
    contact.addresses.insert(address);
    Ok(())
}

fn add_thread(contact: &mut FoundContact, thread: ThreadId) {
    if !contact.threads.contains(&thread) && contact.threads.len() < THREADS_MAX {
        contact.threads.push(thread);
    }
}
