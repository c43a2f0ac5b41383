//! Lists over the index `lists`, the newest first. A page's cursor is the position of its last record.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::record_query::RecordQuery;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult, System};

/// The position of a record in a list: its time, in milliseconds, and its id, which orders records of the same time.
/// Lists run from the latest to the earliest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListPosition {
    at: i64,
    id: String,
}

impl ListPosition {
    /// Returns the position of the record with this time and id.
    pub(super) fn new(at: i64, id: impl Into<String>) -> Self {
        Self { at, id: id.into() }
    }

    /// Returns the time, in milliseconds.
    pub(super) fn time(&self) -> i64 {
        self.at
    }

    /// Returns the id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the cursor of the page that begins after this position.
    pub(super) fn to_cursor(&self) -> String {
        format!("{}~{}", self.at, self.id)
    }

    /// Returns the position behind which a page begins; `None` for the first page.
    pub(super) fn before_page(what: &'static str, page: &PageRequest) -> PortResult<Option<Self>> {
        let cursor = page.cursor.as_deref();
        cursor.map(|cursor| Self::parse_cursor(what, cursor)).transpose()
    }

    /// Parses a cursor that [`build_page`] made.
    fn parse_cursor(what: &'static str, cursor: &str) -> PortResult<Self> {
        let (at, id) = cursor
            .split_once('~')
            .ok_or_else(|| PortError::invalid(what, "not a cursor"))?;
        let at = at.parse::<i64>();
        let at = at.map_err(|error| PortError::invalid(what, error))?;
        Ok(Self::new(at, id))
    }
}

/// A list: the index that holds it, and its key there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListSource {
    /// A list of the index `lists`, which holds whole records.
    Lists(String),
    /// A tenant's own list of the index `tenants`. The index holds keys, the records come from the table.
    OfTenant(String),
    /// A shard of the index `open`, which holds parts of records.
    Open(String),
}

impl ListSource {
    fn index(&self) -> &'static str {
        match self {
            Self::Lists(_) => "lists",
            Self::OfTenant(_) => "tenants",
            Self::Open(_) => "open",
        }
    }

    /// Returns the attribute by which the index orders the list.
    pub(super) fn time_attribute(&self) -> &'static str {
        match self {
            Self::Lists(_) => "list_at",
            Self::OfTenant(_) => "tenant_at",
            Self::Open(_) => "open_due",
        }
    }

    /// Queries the list's records from `from` up to `upto`, in milliseconds.
    pub(super) fn query_range(&self, from: i64, upto: i64) -> RecordQuery {
        let (attribute, key) = match self {
            Self::Lists(key) => ("list_key", key),
            Self::OfTenant(key) => ("tenant_list", key),
            Self::Open(key) => ("open_shard", key),
        };
        let at = self.time_attribute();
        let keys = Expression::new(format!("#{attribute} = :key AND #{at} BETWEEN :from AND :upto"))
            .with_text(":key", key)
            .with_number(":from", from)
            .with_number(":upto", upto);
        RecordQuery::of_index(self.index(), keys)
    }
}

/// Returns whether all records that come before `place` in the list have been read. `last` is the time up to which the
/// list was read; `None` if it was read to its end. Records of one time come in no fixed order, so a record is final only
/// if its time is later than `last`.
fn is_final_position(place: &ListPosition, last: Option<i64>) -> bool {
    last.is_none_or(|last| place.at > last)
}

/// Builds the first page of `found`, whose records come with their positions.
pub(super) fn build_page<T>(mut found: Vec<(ListPosition, T)>, limit: usize) -> Page<T> {
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    let more = found.len() > limit;
    found.truncate(limit);
    let next_cursor = found.last().filter(|_| more).map(|(place, _)| place.to_cursor());
    Page {
        items: found.into_iter().map(|(_, item)| item).collect(),
        next_cursor,
    }
}

impl<A: System> DynamoStore<A> {
    /// Reads the records under `list_key` that come after the cursor and that `wanted` accepts: at least one more than the
    /// page holds, if there are so many. A rare match makes it read far.
    pub(super) async fn read_list<T>(
        &self,
        what: &'static str,
        list_key: String,
        request: &PageRequest,
        wanted: impl Fn(&Item) -> PortResult<Option<(ListPosition, T)>>,
    ) -> PortResult<Vec<(ListPosition, T)>> {
        let after = ListPosition::before_page(what, request)?;
        let source = ListSource::Lists(list_key);
        let upto = after.as_ref().map_or(i64::MAX, ListPosition::time);
        let limit = request.limit.max(1).saturating_add(1);
        let query = source.query_range(i64::MIN, upto).backwards().up_to(limit);
        let mut found: Vec<(ListPosition, T)> = Vec::new();
        let mut start = None;
        loop {
            let (items, next) = self.table.query_page(what, &query, start).await?;
            for item in &items {
                let read = item::keep_readable(wanted(item)).flatten();
                found.extend(read.filter(|(place, _)| after.as_ref().is_none_or(|after| place < after)));
            }
            let last = next
                .as_ref()
                .and_then(|next| item::get_integer(next, source.time_attribute()));
            let enough = found
                .iter()
                .filter(|(place, _)| is_final_position(place, last))
                .count()
                >= limit;
            match next {
                Some(next) if !enough => start = Some(next),
                _ => return Ok(found),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_a_cursor_that_names_its_last_record() {
        let found = vec![
            (ListPosition::new(1, "a"), 1),
            (ListPosition::new(3, "b"), 3),
            (ListPosition::new(3, "c"), 4),
        ];
        let first = build_page(found.clone(), 2);
        assert_eq!(
            (first.items, first.next_cursor.as_deref()),
            (vec![4, 3], Some("3~b"))
        );
        assert_eq!(build_page(found, 3).next_cursor, None);
    }

    #[test]
    fn what_is_of_the_instant_of_the_last_one_read_may_have_others_before_it() {
        let place = |at| ListPosition::new(at, "c_0-1");
        assert!(is_final_position(&place(8), Some(7)));
        assert!(!is_final_position(&place(7), Some(7)));
        assert!(
            is_final_position(&place(7), None),
            "all was read: there is nothing more"
        );
    }

    #[test]
    fn a_cursor_survives_being_written_and_read_and_a_forged_one_is_an_error() {
        let place = ListPosition::new(1_700_000_000_000, "c_0~x");
        assert_eq!(
            ListPosition::parse_cursor("test", &place.to_cursor()).unwrap(),
            place
        );
        assert!(ListPosition::parse_cursor("test", "next").is_err());
    }
}
