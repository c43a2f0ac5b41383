//! Finds, exports and erases the data of a person, deletes what its retention ends, and fetches contacts' pictures.
//!
//! Its types and rules are in [`recado_domain::contact`] and [`recado_domain::retention`].

mod belongings;
pub mod contact_pictures;
pub mod contact_routes;
pub mod conversation_erasure;
pub mod dead_letter_erasure;
mod erase;
mod export;
mod lookup;
pub mod retention;

pub use crate::belongings::ExportedEvent;
use crate::belongings::{derive_recipient_keys, list_opt_outs, list_scheduled, list_unapplied_events};
pub use crate::erase::{EraseReport, erase_contact};
pub use crate::export::{
    ContactExport, ExportCursor, ExportedFile, ExportedGuest, ExportedMessageFile, export_contact,
};
use crate::lookup::find_on_instances;
pub use crate::lookup::{ContactQuery, FoundContact, FoundConversation};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::counting::count_things;
use recado_domain::recipient::RecipientError;
use recado_occasions::guests::find_guests;
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_actions;
use recado_ports::ports::{PortError, PortResult};

/// The reason for which a request about a contact was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ContactError {
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The contact is named by neither a number nor an identity.
    #[error(transparent)]
    Recipient(#[from] RecipientError),
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Notes in the audit what `caller` does with a contact, on each instance that knows it, or the first. Its
/// thread, a keyed hash, stands for it. Where there is no instance, the keyed hash of its number does.
async fn audit_contacts(
    deps: &Deps,
    caller: &Caller,
    action: AuditAction,
    (query, contacts): (&ContactQuery, &[FoundContact]),
) -> PortResult<()> {
    if contacts.is_empty() {
        let addresses = query.collect_addresses(contacts);
        let keys = derive_recipient_keys(deps, &query.tenant, &addresses).await?;
        let actions = keys.iter().map(|key| {
            let done = action.on_object(Some(&query.tenant), "contact", key.as_str());
            done.with_result("the tenant has no instance")
        });
        return audit_actions(deps, caller, actions).await;
    }
    let known = contacts
        .iter()
        .filter(|contact| !contact.conversations.is_empty());
    let nowhere = contacts
        .iter()
        .take(1)
        .filter(|_| contacts.iter().all(|contact| contact.conversations.is_empty()));
    let actions = known.chain(nowhere).map(|contact| {
        let thread = contact.threads.first().map_or("", |thread| thread.as_str());
        let done = action.on_object(Some(&contact.instance.tenant), "contact", thread);
        let conversations = count_things(contact.conversations.len() as u64, "conversation");
        done.with_result(format!("{conversations} on {}", contact.instance.id))
    });
    audit_actions(deps, caller, actions).await
}

/// A person as a tenant knows it.
#[derive(Debug)]
pub struct FoundPerson {
    /// The person on each instance. An instance on which no conversation of it is stored is left out.
    pub contacts: Vec<FoundContact>,
    /// Number of events that are not applied, pending ones and dead ones.
    pub events: usize,
    /// Number of messages to it that are to be sent later.
    pub scheduled: usize,
    /// Number of occasions of which it is a guest.
    pub guests: usize,
    /// Number of its preferences about messages that nobody asked for.
    pub opt_outs: usize,
}

impl FoundPerson {
    /// Returns `true` if nothing is stored of the person.
    pub fn is_unknown(&self) -> bool {
        self.contacts.is_empty() && self.events + self.scheduled + self.guests + self.opt_outs == 0
    }
}

/// Finds a contact on the tenant's instances.
pub async fn find_contact(
    deps: &Deps,
    caller: &Caller,
    query: &ContactQuery,
) -> Result<FoundPerson, ContactError> {
    let found = find_on_instances(deps, query).await?;
    audit_contacts(deps, caller, AuditAction::ContactFound, (query, &found)).await?;
    let addresses = query.collect_addresses(&found);
    let (mut events, mut scheduled) = (0, 0);
    for contact in &found {
        events += list_unapplied_events(deps, contact).await?.len();
        scheduled += list_scheduled(deps, contact).await?.len();
    }
    Ok(FoundPerson {
        events,
        scheduled,
        guests: find_guests(deps, &query.tenant, &addresses).await?.len(),
        opt_outs: list_opt_outs(deps, &query.tenant, &addresses).await?.len(),
        contacts: found
            .into_iter()
            .filter(|contact| !contact.conversations.is_empty())
            .collect(),
    })
}
