//! The keys of journals of effects and of cells.

use super::super::item::{Item, get_string};
use super::TableKey;
use recado_domain::Timestamp;
use recado_domain::effects::Cell;
use recado_domain::ids::{TenantId, ThreadId};

/// The kind of journals in the index `open`. Few are due at a time, so that one shard holds them all.
pub(crate) const JOURNAL: char = 'J';

impl TableKey {
    /// Returns the key of a journal's revision, with its places in the indexes.
    pub(crate) fn for_journal(thread: &ThreadId) -> Self {
        Self::new(format!("J#{}", thread.as_str()), "H")
    }

    /// Returns the key of a journal's content.
    pub(crate) fn for_journal_body(thread: &ThreadId) -> Self {
        Self::new(format!("J#{}", thread.as_str()), "J")
    }

    /// Returns the key of a cell.
    pub(crate) fn for_cell(tenant: &TenantId, cell: &Cell) -> Self {
        Self::new(cells_pk(tenant), cell_sk(&cell.calendar, cell.start))
    }
}

/// Returns the `pk` of the cells of a tenant's calendars.
pub(crate) fn cells_pk(tenant: &TenantId) -> String {
    format!("Y#{tenant}")
}

/// Returns the `sk` of the cell of a calendar that begins at `start`.
pub(crate) fn cell_sk(calendar: &str, start: Timestamp) -> String {
    format!("{calendar}#{:015}", start.as_millisecond().max(0))
}

/// Returns the begin of a cell, in milliseconds, by its key.
pub(crate) fn parse_cell_start(item: &Item) -> Option<i64> {
    let (_, start) = get_string(item, "sk")?.rsplit_once('#')?;
    start.parse().ok()
}

/// Returns the thread whose journal a key is of.
pub(crate) fn parse_journal_key(item: &Item) -> Option<ThreadId> {
    ThreadId::parse(get_string(item, "pk")?.strip_prefix("J#")?).ok()
}

/// Returns the `tenant_list` of a tenant's journals.
pub(crate) fn tenant_journals(tenant: &TenantId) -> String {
    format!("J#{tenant}")
}

/// Returns the `list_key` of a tenant's journals in which something is booked.
pub(crate) fn booked_journals(tenant: &TenantId) -> String {
    format!("JB#{tenant}")
}

/// Returns the `tenant_list` of a tenant's journals in which an effect is unknown.
pub(crate) fn tenant_unknown_effects(tenant: &TenantId) -> String {
    format!("JU#{tenant}")
}
