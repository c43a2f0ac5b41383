//! Finds what belongs to a person beside its conversations: events that are not applied, scheduled messages, opt-outs.

use crate::lookup::FoundContact;
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::{EventId, TenantId};
use recado_domain::opt_out::{OptOut, RecipientAddress, RecipientKey};
use recado_domain::scheduled::ScheduledMessage;
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::load_identity_key;
use recado_ports::ports::{EventOwners, PageRequest, PortResult};
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use recado_ports::records::opt_outs::find_opt_outs;
use recado_ports::records::scheduled_messages::list_pending_scheduled;
use recado_ports::table::Versioned;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: usize = 100;

/// Greatest number of opt-outs that are found at once.
const OPT_OUTS: usize = 10;

/// An event of a person that is not applied: it is pending, or was given up.
#[derive(Debug, Serialize)]
pub struct ExportedEvent {
    /// The event.
    pub event: EventId,
    /// Time at which its webhook arrived.
    pub received_at: Timestamp,
    /// `true` if it was given up: it is a dead letter.
    pub is_dead: bool,
    /// Body as the provider told it; `None` if it is not stored any more.
    pub body: Option<Value>,
}

/// Lists the person's events that are not applied, pending ones and dead ones, by their ids.
pub(super) async fn list_unapplied_events(
    deps: &Deps,
    contact: &FoundContact,
) -> PortResult<Vec<(InboundJob, bool)>> {
    let groups = list_groups(deps, contact).await?;
    let pending = deps
        .store()
        .list_pending_events(EventOwners::Groups(&groups))
        .await?;
    let mut events: Vec<(InboundJob, bool)> = pending.into_iter().map(|record| (record.job, false)).collect();
    for (tenant, of_nobody) in [(Some(contact.instance.tenant.clone()), false), (None, true)] {
        let filter = DeadLetterFilter {
            tenant,
            of_nobody,
            ..DeadLetterFilter::default()
        };
        let mut next = Some(PageRequest::first(PAGE));
        while let Some(page) = next {
            let found = list_dead_letters(deps.store(), &filter, &page).await?;
            for dead_letter in found.items {
                if let DeadLetterContent::Event(job) = dead_letter.what
                    && groups.contains(&job.group)
                {
                    events.push((*job, true));
                }
            }
            next = page.follow(found.next_cursor);
        }
    }
    events.sort_by(|(a, _), (b, _)| a.event.cmp(&b.event));
    Ok(events)
}

/// Reads an event with its body.
pub(super) async fn read_event(deps: &Deps, job: InboundJob, is_dead: bool) -> PortResult<ExportedEvent> {
    let body = match job.payload {
        EventPayload::Inline(body) => Some(body),
        EventPayload::Stored(key) => deps.queues().find_payload(&key).await?,
    };
    Ok(ExportedEvent {
        event: job.event,
        received_at: job.received_at,
        is_dead,
        body,
    })
}

/// Lists the messages to the person that are to be sent later, by their ids.
pub(super) async fn list_scheduled(
    deps: &Deps,
    contact: &FoundContact,
) -> PortResult<Vec<Versioned<ScheduledMessage>>> {
    let instance = &contact.instance;
    let mut found = list_pending_scheduled(deps.store(), &instance.tenant, &instance.id).await?;
    found.retain(|found| contact.has_address(&found.record.to));
    found.sort_by(|a, b| a.record.id.cmp(&b.record.id));
    Ok(found)
}

/// Returns the keys of these addresses of a person in preferences about messages.
pub(super) async fn derive_recipient_keys(
    deps: &Deps,
    tenant: &TenantId,
    addresses: &BTreeSet<ContactAddress>,
) -> PortResult<Vec<RecipientKey>> {
    let key = load_identity_key(deps).await?;
    let mut keys: Vec<RecipientKey> = Vec::new();
    for address in addresses {
        let derived = key.derive_recipient_key(tenant, RecipientAddress::WhatsApp(address.as_str()));
        if !keys.contains(&derived) {
            keys.push(derived);
        }
    }
    Ok(keys)
}

/// Lists the person's preferences about messages that nobody asked for.
pub(super) async fn list_opt_outs(
    deps: &Deps,
    tenant: &TenantId,
    addresses: &BTreeSet<ContactAddress>,
) -> PortResult<Vec<OptOut>> {
    let mut found = Vec::new();
    for keys in derive_recipient_keys(deps, tenant, addresses)
        .await?
        .chunks(OPT_OUTS)
    {
        found.extend(find_opt_outs(deps.store(), tenant, keys).await?);
    }
    Ok(found)
}

/// Returns the FIFO groups of the person's events.
pub(super) async fn list_groups(deps: &Deps, contact: &FoundContact) -> PortResult<BTreeSet<String>> {
    let key = load_identity_key(deps).await?;
    let (provider, external) = (contact.instance.provider, contact.instance.resolve_external_id());
    let group = |address: &str| {
        let external = external.as_ref()?;
        Some(key.derive_event_group(provider, external, Some(address)))
    };
    let mut groups = BTreeSet::new();
    for address in &contact.addresses {
        let user = address
            .as_str()
            .split_once('@')
            .map_or(address.as_str(), |(user, _)| user);
        for spelling in [
            address.as_str().to_owned(),
            user.to_owned(),
            format!("{user}@s.whatsapp.net"),
        ] {
            groups.extend(group(&spelling));
        }
    }
    Ok(groups)
}

/// Returns `true` if a dead letter is about the person.
pub(super) fn is_letter_of_contact(
    dead_letter: &DeadLetter,
    contact: &FoundContact,
    groups: &BTreeSet<String>,
) -> bool {
    match &dead_letter.what {
        DeadLetterContent::Event(job) => groups.contains(&job.group),
        DeadLetterContent::Message { message } => message
            .conversation_and_ordinal()
            .is_ok_and(|(conversation, _)| contact.has_conversation(&conversation)),
        // It names nothing of the person, whose e-mail goes with the guest.
        DeadLetterContent::Email { .. } => false,
        DeadLetterContent::Turns(job) => job
            .conversation()
            .is_some_and(|conversation| contact.has_conversation(conversation)),
        DeadLetterContent::Unreadable { body: text } | DeadLetterContent::Damaged { record: text } => {
            names_contact(text, contact)
        }
    }
}

/// Fewest characters of an address that is searched for in a text.
const SEARCHED_MIN: usize = 8;

/// Returns `true` if an unreadable text contains one of the person's numbers or identities.
pub(super) fn names_contact(text: &str, contact: &FoundContact) -> bool {
    contact.addresses.iter().any(|address| {
        let user = address.as_str().split('@').next().unwrap_or_default();
        user.len() >= SEARCHED_MIN && text.contains(user)
    })
}
