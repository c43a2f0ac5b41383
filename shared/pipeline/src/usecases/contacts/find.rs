//! Finds a contact, and counts what is stored of it beside its conversations.

use super::belongings::{list_opt_outs, list_scheduled, list_unapplied_events};
use super::lookup::{ContactQuery, FoundContact, find_on_instances};
use super::{ContactError, audit_contacts};
use crate::steps::guests::find_guests;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_ports::Deps;

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
