//! The audit: entries of who did what. An entry is not changed before it expires, but for what the configuration of a removed tenant
//! held.

use super::check_cursor;
use crate::ports::{Page, PageRequest, PortError, PortResult};
use crate::table::{
    Change, IndexEntry, Key, Partition, Query, Record, Table, Versioned, Write, list_records,
};
use jiff::Timestamp;
use recado_domain::audit::{AuditAction, AuditEntry, NOT_KEPT};
use recado_domain::ids::{Nonce, TenantId, TokenName};
use recado_domain::moving::Dated;

/// The partition in which all entries are listed.
const ALL: &str = "audit.all";

/// The number of digits of a time in the place of an entry.
const TIME_DIGITS: usize = 15;

/// The number of entries that are written at once, each with an index entry. A transaction of DynamoDB takes 4 MB, and an entry may be as large
/// as a record ([`RECORD_BYTES_MAX`](crate::ports::RECORD_BYTES_MAX)).
const WRITTEN_AT_ONCE: usize = 10;

impl Record for Dated<AuditEntry> {
    const KIND: &'static str = "audit";
    const INDEXES: &'static [&'static str] = &[ALL];

    fn owner(&self) -> Option<&TenantId> {
        self.record.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        format!("{}#{}", format_sort_time(self.record.at), self.record.id.as_str())
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires)
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        vec![IndexEntry::new(Key::new(ALL, None, self.build_sort_key()))]
    }

    /// The entry stays without what the configuration held.
    fn without_tenant(mut self) -> Option<Self> {
        let entry = &mut self.record;
        let is_content = entry.after.as_ref().is_some_and(|after| after.starts_with('{'));
        if entry.action == AuditAction::ConfigurationChanged && is_content {
            entry.before = None;
            entry.after = Some(NOT_KEPT.to_owned());
        }
        Some(self)
    }
}

/// Writes a time so that later ones are sorted behind earlier ones.
pub(super) fn format_sort_time(at: Timestamp) -> String {
    format!("{:0TIME_DIGITS$}", at.as_millisecond().max(0))
}

/// Returns whether a text is the place of an entry.
fn is_entry_place(text: &str) -> bool {
    text.split_once('#').is_some_and(|(time, id)| {
        let is_time = time.len() == TIME_DIGITS && time.bytes().all(|digit| digit.is_ascii_digit());
        is_time && Nonce::parse(id).is_ok()
    })
}

/// Conditions for a list of audit entries. A field that is `None` sets no condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Tenant whose records the entries are about.
    pub tenant: Option<TenantId>,
    /// Name of the token.
    pub actor: Option<TokenName>,
    /// The action.
    pub action: Option<AuditAction>,
    /// Earliest time (included).
    pub since: Option<Timestamp>,
    /// Time before which it was done (not included).
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Returns `true` if `entry` meets all conditions.
    pub fn matches_entry(&self, entry: &AuditEntry) -> bool {
        self.tenant
            .as_ref()
            .is_none_or(|tenant| Some(tenant) == entry.tenant.as_ref())
            && self.actor.as_ref().is_none_or(|actor| *actor == entry.actor)
            && self.action.is_none_or(|action| action == entry.action)
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
    }
}

/// Appends entries, which are kept until `expires`. An entry that is stored already stays as it is.
pub async fn append_audit(table: &dyn Table, entries: &[AuditEntry], expires: Timestamp) -> PortResult<()> {
    for some in entries.chunks(WRITTEN_AT_ONCE) {
        let entries = some.iter().map(|entry| Dated::new(entry.clone(), expires));
        let changes = entries.map(|entry| Change::save(&Versioned::new(entry)));
        append_new_entry(table, changes.collect::<PortResult<_>>()?).await?;
    }
    Ok(())
}

/// Makes those of these changes whose entries are not stored yet.
async fn append_new_entry(table: &dyn Table, mut changes: Vec<Change>) -> PortResult<()> {
    while !changes.is_empty() {
        let writes: Vec<Write> = changes.iter().flat_map(|change| change.writes.clone()).collect();
        let Err(refusal) = table.write(&writes).await? else {
            break;
        };
        let (before, mut first) = (changes.len(), 0);
        changes.retain(|change| {
            let is_new = change.refused_by(&refusal.0, first).is_none();
            first += change.writes.len();
            is_new
        });
        if changes.len() == before {
            return Err(PortError::contended(<Dated<AuditEntry>>::KIND));
        }
    }
    Ok(())
}

/// Lists the entries that match `filter`, the newest first.
pub async fn list_audit(
    table: &dyn Table,
    filter: &AuditFilter,
    page: &PageRequest,
) -> PortResult<Page<AuditEntry>> {
    check_cursor(<Dated<AuditEntry>>::KIND, page, is_entry_place)?;
    let name = if filter.tenant.is_some() {
        <Dated<AuditEntry>>::KIND
    } else {
        ALL
    };
    let partition = Partition::new(name, filter.tenant.as_ref());
    let query = Query {
        from: filter.since.map(format_sort_time),
        // Behind its time an entry's place has its id: this is before the entries of `until`.
        to: filter.until.map(format_sort_time),
        ..Query::new(partition, page.limit).in_reverse()
    };
    let is_wanted = |entry: &Dated<AuditEntry>| filter.matches_entry(&entry.record);
    let found = list_records(table, query, page, is_wanted).await?;
    Ok(found.map(|entry| entry.record))
}
