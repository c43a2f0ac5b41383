//! The notices that providers send about accounts. An account may be that of several tenants' instances, so the installation owns them.

use super::audit::format_sort_time;
use crate::ports::{PageRequest, PortResult};
use crate::table::{
    IndexEntry, Key, Partition, Query, Record, Table, Versioned, delete_page, list_records, save_record,
};
use jiff::Timestamp;
use recado_domain::ids::{TenantId, hash_parts};
use recado_domain::moving::Dated;
use recado_domain::notice::{NOTICES_MAX, Notice};
use recado_domain::provider::Provider;

/// The partition in which a notice has its id once. A repetition may have another time, where the provider tells none.
const BY_ID: &str = "notices.by-id";

impl Record for Dated<Notice> {
    const KIND: &'static str = "notices";
    const INDEXES: &'static [&'static str] = &[BY_ID];

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        let notice = &self.record;
        let account = sort_of_account(notice.provider, &notice.account);
        format!("{account}{}#{}", format_sort_time(notice.at), notice.id.as_str())
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires)
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        vec![IndexEntry::new(Key::new(BY_ID, None, self.record.id.as_str()))]
    }
}

/// Returns the beginning of the places of an account's notices. It is a hash: an account is a text of any length.
fn sort_of_account(provider: Provider, account: &str) -> String {
    format!("{}#", hash_parts(&["account", provider.as_str(), account], 16))
}

/// Returns the query for at most `limit` notices of an account, the newest first.
fn newest_of_account(provider: Provider, account: &str, limit: usize) -> Query {
    let all = Partition::new(<Dated<Notice>>::KIND, None);
    Query::new(all, limit)
        .with_prefix(&sort_of_account(provider, account))
        .in_reverse()
}

/// Stores a notice until `expires`, by one conditional write. If a notice with the same id exists, nothing changes.
pub async fn put_notice(table: &dyn Table, notice: &Notice, expires: Timestamp) -> PortResult<()> {
    let dated = Dated::new(notice.clone(), expires);
    let _stored = save_record(table, &mut Versioned::new(dated)).await?;
    Ok(())
}

/// Lists an account's notices, the newest first, at most [`NOTICES_MAX`]. Expired notices are left out.
pub async fn list_notices(table: &dyn Table, provider: Provider, account: &str) -> PortResult<Vec<Notice>> {
    let page = PageRequest::first(NOTICES_MAX);
    let query = newest_of_account(provider, account, NOTICES_MAX);
    let found = list_records(table, query, &page, |_: &Dated<Notice>| true).await?;
    Ok(found.items.into_iter().map(|notice| notice.record).collect())
}

/// Deletes notices of an account, at most `limit`, and returns how many. Fewer than `limit`: none is left.
pub async fn delete_notices(
    table: &dyn Table,
    provider: Provider,
    account: &str,
    limit: usize,
) -> PortResult<usize> {
    delete_page::<Dated<Notice>>(table, newest_of_account(provider, account, limit)).await
}
