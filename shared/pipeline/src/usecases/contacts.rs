//! What a person may ask of those who hold its data: to be found, to get a copy of everything, to be erased.

mod belongings;
mod erase;
mod erase_report;
mod export;
mod find;
mod lookup;
mod thread_erasure;

use crate::steps::audit::audit_actions;
pub use belongings::ExportedEvent;
use belongings::derive_recipient_keys;
pub use erase::erase_contact;
pub use erase_report::EraseReport;
pub use export::{
    ContactExport, ExportCursor, ExportedFile, ExportedGuest, ExportedMessageFile, export_contact,
};
pub use find::{FoundPerson, find_contact};
pub use lookup::{ContactQuery, FoundContact, FoundConversation};
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::counting::count_things;
use recado_domain::recipient::RecipientError;
use recado_ports::Deps;
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
            let done = AuditedAction::on_object(action, Some(&query.tenant), "contact", key.as_str());
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
        let done = AuditedAction::on_object(action, Some(&contact.instance.tenant), "contact", thread);
        let conversations = count_things(contact.conversations.len() as u64, "conversation");
        done.with_result(format!("{conversations} on {}", contact.instance.id))
    });
    audit_actions(deps, caller, actions).await
}
