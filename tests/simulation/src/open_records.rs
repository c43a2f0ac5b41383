//! The records that wait for something: what the index of open records names, and the records of the table that have a time.

use jiff::Timestamp;
use recado_domain::ids::{BatchId, InvitationId, TenantId, ThreadId};
use recado_domain::scheduled::ScheduledId;
use recado_pipeline::ports::{OverdueWork, PortResult, Store};
use recado_pipeline::records::batches::list_due_batches;
use recado_pipeline::records::effects::list_due_journals;
use recado_pipeline::records::invitations::list_due_emails;
use recado_pipeline::records::scheduled_messages::list_due_scheduled;

/// A record that waits for something.
#[derive(Debug)]
pub enum OpenRecord {
    /// What the index of open records names.
    Indexed(OverdueWork),
    /// A scheduled message.
    Scheduled(TenantId, ScheduledId),
    /// The journal of a thread.
    Journal(TenantId, ThreadId),
    /// The e-mail of an invitation.
    Email(TenantId, InvitationId),
    /// A batch of invitations.
    Batch(TenantId, BatchId),
}

/// Lists the records that are due at `now`, at most `limit` of each kind.
pub async fn list_open_records(
    store: &dyn Store,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<OpenRecord>> {
    let indexed = store.list_overdue(now, limit).await?.into_iter();
    let scheduled = list_due_scheduled(store, now, limit).await?.into_iter();
    let journals = list_due_journals(store, now, limit).await?.into_iter();
    let emails = list_due_emails(store, now, limit).await?.into_iter();
    let batches = list_due_batches(store, now, limit).await?.into_iter();
    let of_table = scheduled
        .map(|(tenant, id)| OpenRecord::Scheduled(tenant, id))
        .chain(journals.map(|(tenant, thread)| OpenRecord::Journal(tenant, thread)))
        .chain(emails.map(|(tenant, id)| OpenRecord::Email(tenant, id)))
        .chain(batches.map(|(tenant, id)| OpenRecord::Batch(tenant, id)));
    Ok(indexed.map(OpenRecord::Indexed).chain(of_table).collect())
}
