//! The preferences of recipients to get no messages, or to get them again. A recipient is a keyed hash.

use super::check_cursor;
use crate::ports::{Page, PageRequest, PortError, PortResult};
use crate::retry_write::{WriteAttempt, retry_lost_write};
use crate::table::{
    Partition, Query, Record, Table, Versioned, find_many, find_with_version, list_records, save_record,
};
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, OptOutChange, RecipientKey};

impl Record for OptOut {
    const KIND: &'static str = "opt-outs";

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.recipient.as_str().to_owned()
    }
}

async fn find_opt_out(
    table: &dyn Table,
    tenant: &TenantId,
    recipient: &RecipientKey,
) -> PortResult<Option<Versioned<OptOut>>> {
    find_with_version(table, Some(tenant), recipient.as_str()).await
}

/// Stores a preference if it is the later one, by [`OptOut::resolve_with_known`]. Returns whether the record changed.
pub async fn apply_opt_out(table: &dyn Table, preference: &OptOut) -> PortResult<bool> {
    retry_lost_write(PortError::contended(OptOut::KIND), (), |()| async {
        let known = find_opt_out(table, &preference.tenant, &preference.recipient).await?;
        let change = preference
            .clone()
            .resolve_with_known(known.as_ref().map(|known| &known.record));
        match change {
            OptOutChange::Store(changed) => replace_opt_out(table, known, changed, true).await,
            OptOutChange::Nothing => Ok(WriteAttempt::Done(false)),
        }
    })
    .await
}

/// Writes a preference in place of the one that was read. The result of an attempt that wins is `done`.
async fn replace_opt_out<T: Send>(
    table: &dyn Table,
    known: Option<Versioned<OptOut>>,
    changed: OptOut,
    done: T,
) -> PortResult<WriteAttempt<T>> {
    let saved = save_record(table, &mut Versioned::replacing(known, changed)).await?;
    Ok(WriteAttempt::after_write(saved, done))
}

/// Returns those of the preferences of these recipients that are known.
pub async fn find_opt_outs(
    table: &dyn Table,
    tenant: &TenantId,
    recipients: &[RecipientKey],
) -> PortResult<Vec<OptOut>> {
    if let [only] = recipients {
        // A preference that cannot be read must not be taken for none.
        let found = find_opt_out(table, tenant, only).await?;
        return Ok(found.into_iter().map(|found| found.record).collect());
    }
    let sorts: Vec<String> = recipients
        .iter()
        .map(|recipient| recipient.as_str().to_owned())
        .collect();
    find_many(table, Some(tenant), &sorts).await
}

/// Lists the preferences of a tenant's recipients by their keys. Those who want messages again are among them.
pub async fn list_opt_outs(
    table: &dyn Table,
    tenant: &TenantId,
    page: &PageRequest,
) -> PortResult<Page<OptOut>> {
    check_cursor(OptOut::KIND, page, |text| RecipientKey::parse(text).is_ok())?;
    let own = Partition::new(OptOut::KIND, Some(tenant));
    list_records(table, Query::new(own, page.limit), page, |_| true).await
}

/// Deletes the address in the preference of a recipient, if there is one. The key and the preference stay.
pub async fn forget_opt_out_address(
    table: &dyn Table,
    tenant: &TenantId,
    recipient: &RecipientKey,
) -> PortResult<()> {
    retry_lost_write(PortError::contended(OptOut::KIND), (), |()| async {
        match find_opt_out(table, tenant, recipient).await? {
            Some(known) if known.record.address.is_some() => {
                let changed = known.record.clone().without_address();
                replace_opt_out(table, Some(known), changed, ()).await
            }
            _ => Ok(WriteAttempt::Done(())),
        }
    })
    .await
}
