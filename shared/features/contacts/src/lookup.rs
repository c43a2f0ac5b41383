//! Finds all identities and threads of one person.

use crate::ContactError;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationStatus};
use recado_domain::ids::{ConversationId, InstanceId, TenantId, ThreadId};
use recado_domain::provider::AddressFormat;
use recado_domain::recipient::{RecipientError, parse_person, parse_recipient};
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::derive_thread_id;
use recado_ports::ports::PortResult;
use recado_ports::records::aliases::find_alias;
use recado_ports::records::configuration::load_configuration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum number of threads of one person on one instance that are followed.
const THREADS_MAX: usize = 64;

/// The contact that is asked for.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ContactRequest))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"tenant": "demo", "contact": "+55 11 98888-0000"})))]
pub struct ContactQuery {
    /// Id of the tenant whose contact it is.
    pub tenant: TenantId,
    /// The phone number in any spelling, or an identity without a number (`…@lid`, a business-scoped user id).
    // Personal data: never log it.
    pub contact: String,
    /// Only on this instance. If absent, on all of the tenant.
    pub instance: Option<InstanceId>,
}

/// A conversation of a contact that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ContactConversationView))]
pub struct FoundConversation {
    /// Id of the conversation.
    pub id: ConversationId,
    /// Status of the conversation.
    pub status: ConversationStatus,
    /// Time when its newest message was stored.
    pub last_message_at: Timestamp,
    /// Time at which the contact was erased: only a tombstone is left.
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
    /// The address that was asked for, or the first one that another instance told of the person.
    pub(super) entry: ContactAddress,
    /// Threads of the person, from the one of `entry` on. Each is reached through one before it, or through a thread that another
    /// instance found in an earlier round.
    pub(super) threads: Vec<ThreadId>,
    /// Number of threads that were known at the end of each round, in rounds of the search on all instances.
    rounds: Vec<usize>,
}

impl FoundContact {
    /// Begins a search at an address, in the round with this number.
    async fn start_at(
        deps: &Deps,
        instance: Instance,
        entry: ContactAddress,
        round: usize,
    ) -> PortResult<Self> {
        let first = derive_thread_id(deps, &instance.id, entry.as_str()).await?;
        Ok(Self {
            instance,
            names: BTreeSet::new(),
            addresses: BTreeSet::from([entry.clone()]),
            conversations: Vec::new(),
            entry,
            threads: vec![first],
            rounds: vec![0; round],
        })
    }

    /// Returns the threads that were found in a round, each reached through one before it or of an earlier round.
    pub(super) fn threads_of_round(&self, round: usize) -> &[ThreadId] {
        let begin = round
            .checked_sub(1)
            .map_or(Some(0), |before| self.rounds.get(before).copied());
        let range = begin.zip(self.rounds.get(round).copied());
        range
            .and_then(|(begin, end)| self.threads.get(begin..end))
            .unwrap_or_default()
    }

    /// Returns the number of rounds of the search.
    pub(super) fn count_rounds(&self) -> usize {
        self.rounds.len()
    }

    fn end_round(&mut self) {
        self.rounds.push(self.threads.len());
    }

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

/// Returns the addresses of a person on all instances.
fn collect_addresses(found: &[FoundContact]) -> BTreeSet<ContactAddress> {
    found
        .iter()
        .flat_map(|contact| contact.addresses.iter().cloned())
        .collect()
}

impl ContactQuery {
    /// Returns the addresses of the person that was asked for: those that the instances know. A tenant without instances may have
    /// guests and opt-outs, which the number leads to.
    pub(super) fn collect_addresses(&self, found: &[FoundContact]) -> BTreeSet<ContactAddress> {
        if found.is_empty() {
            return parse_person(&self.contact).into_iter().collect();
        }
        collect_addresses(found)
    }
}

/// Finds a contact on each of the tenant's instances, also where no conversation of it is stored. A tenant without instances has it
/// on none.
pub(super) async fn find_on_instances(
    deps: &Deps,
    query: &ContactQuery,
) -> Result<Vec<FoundContact>, ContactError> {
    let configuration = load_configuration(deps.store(), Some(&query.tenant)).await?;
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
    if instances.is_empty() && query.instance.is_some() {
        return Err(ContactError::NotFound("instance"));
    }
    if instances.is_empty() {
        parse_person(&query.contact)?;
    }
    let (mut found, mut others, mut refused) = (Vec::new(), Vec::new(), None);
    for instance in instances {
        match parse_recipient(address_format(deps, &instance), &query.contact) {
            Ok(entry) => found.push(FoundContact::start_at(deps, instance, entry, 0).await?),
            Err(RecipientError::OtherProvider) => others.push(instance),
            Err(error) => refused = Some(error),
        }
    }
    if let Some(error) = refused {
        return Err(error.into());
    }
    for contact in &mut found {
        follow_threads(deps, contact, 0).await?;
        contact.end_round();
    }
    follow_across_instances(deps, &mut found, others).await?;
    Ok(found)
}

fn address_format(deps: &Deps, instance: &Instance) -> AddressFormat {
    deps.providers().capabilities(instance.provider).address_format
}

/// Follows on each instance what another one learnt: a number that one of them knows of an identity is the person's on all.
/// `others` are instances whose provider knows no such address as was asked for.
async fn follow_across_instances(
    deps: &Deps,
    found: &mut Vec<FoundContact>,
    mut others: Vec<Instance>,
) -> PortResult<()> {
    for round in 1.. {
        let known = collect_addresses(found);
        let mut is_done = true;
        for contact in found.iter_mut() {
            let format = address_format(deps, &contact.instance);
            let from = contact.threads.len();
            for address in known.iter().filter_map(|address| write_address(format, address)) {
                if !contact.has_address(&address) {
                    add_address(deps, contact, address).await?;
                }
            }
            if contact.threads.len() > from {
                follow_threads(deps, contact, from).await?;
                is_done = false;
            }
        }
        for instance in std::mem::take(&mut others) {
            let format = address_format(deps, &instance);
            match known.iter().find_map(|address| write_address(format, address)) {
                Some(entry) => {
                    let mut contact = FoundContact::start_at(deps, instance, entry, round).await?;
                    follow_threads(deps, &mut contact, 0).await?;
                    found.push(contact);
                    is_done = false;
                }
                None => others.push(instance),
            }
        }
        if is_done {
            break;
        }
        found.iter_mut().for_each(FoundContact::end_round);
    }
    Ok(())
}

/// Writes an address of a person as a provider writes it. `None`: the provider knows no such address.
fn write_address(format: AddressFormat, address: &ContactAddress) -> Option<ContactAddress> {
    let number = address.phone_number();
    parse_recipient(format, number.as_deref().unwrap_or(address.as_str())).ok()
}

/// Follows a person's identities from the thread with the index `next` on: numbers that were learnt, and conversations that lead to
/// others. What is found belongs to one round.
async fn follow_threads(deps: &Deps, contact: &mut FoundContact, mut next: usize) -> PortResult<()> {
    while let Some(thread) = contact.threads.get(next).cloned() {
        next += 1;
        if let Some(number) = find_alias(deps.store(), &thread).await? {
            add_address(deps, contact, number).await?;
        }
        let Some(latest) = deps.store().find_latest_conversation(&thread).await? else {
            continue;
        };
        for conversation in list_thread(deps, latest).await? {
            add_conversation(deps, contact, conversation).await?;
        }
    }
    Ok(())
}

/// Lists the conversations of a thread, the newest, `latest`, first.
pub(super) async fn list_thread(deps: &Deps, latest: Conversation) -> PortResult<Vec<Conversation>> {
    let (thread, number) = (latest.id.thread_id().clone(), latest.id.number_in_thread());
    let mut found = vec![latest];
    for number in (1..number).rev() {
        let id = ConversationId::new(thread.clone(), number);
        found.extend(deps.store().find_conversation(&id).await?);
    }
    Ok(found)
}

async fn add_conversation(
    deps: &Deps,
    contact: &mut FoundContact,
    conversation: Conversation,
) -> PortResult<()> {
    contact.names.extend(conversation.contact.name.clone());
    for linked in conversation.linked_conversations() {
        add_thread(contact, linked.thread_id().clone());
    }
    let known = [Some(conversation.address), conversation.contact.known_as];
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

async fn add_address(deps: &Deps, contact: &mut FoundContact, address: ContactAddress) -> PortResult<()> {
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
