//! Lists over the index `lists`, the newest first: pages that end where the last one's last record stood.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys;
use super::table::RecordQuery;
use futures::future::try_join_all;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_pipeline::ports::{ConversationFilter, Page, PageRequest, PortError, PortResult, System};

/// A place in a list: when, in milliseconds, and of those of the same instant, which. Lists run downwards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListPosition {
    at: i64,
    id: String,
}

impl ListPosition {
    /// The place of the record with this id.
    pub(super) fn new(at: i64, id: impl Into<String>) -> Self {
        Self { at, id: id.into() }
    }

    fn to_cursor(&self) -> String {
        format!("{}~{}", self.at, self.id)
    }

    fn parse_cursor(what: &'static str, cursor: &str) -> PortResult<Self> {
        let (at, id) = cursor
            .split_once('~')
            .ok_or_else(|| PortError::invalid(what, "not a cursor"))?;
        Ok(Self::new(
            at.parse::<i64>()
                .map_err(|error| PortError::invalid(what, error))?,
            id,
        ))
    }
}

/// From when to when, where that is said: `until` does not belong to it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListTimeRange {
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
}

/// Whether nothing comes before `place` that was not read yet; `last`: when the last one was that was read. Those of one
/// instant come in no order of ours: all of the last one's must be seen.
fn is_final_position(place: &ListPosition, last: Option<i64>) -> bool {
    last.is_none_or(|last| place.at > last)
}

/// The page that begins `found`, each with its place.
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
    /// At least one record more than the page has, if there are so many, of those under `list_key` that come after the
    /// cursor and that `wanted` takes. A rare match makes it read far: filters are
    /// applied here, not by the index.
    pub(super) async fn read_list<T>(
        &self,
        what: &'static str,
        list_key: String,
        request: &PageRequest,
        wanted: impl Fn(&Item) -> PortResult<Option<(ListPosition, T)>>,
    ) -> PortResult<Vec<(ListPosition, T)>> {
        self.read_list_between(what, list_key, ListTimeRange::default(), request, wanted)
            .await
    }

    /// As [`Self::read_list`], of `span` only.
    pub(super) async fn read_list_between<T>(
        &self,
        what: &'static str,
        list_key: String,
        span: ListTimeRange,
        request: &PageRequest,
        wanted: impl Fn(&Item) -> PortResult<Option<(ListPosition, T)>>,
    ) -> PortResult<Vec<(ListPosition, T)>> {
        let after = request
            .cursor
            .as_deref()
            .map(|cursor| ListPosition::parse_cursor(what, cursor))
            .transpose()?;
        let before = span.until.map_or(i64::MAX, |at| at.as_millisecond() - 1);
        let upto = after.as_ref().map_or(before, |place| place.at.min(before));
        let from = span.since.map_or(i64::MIN, Timestamp::as_millisecond);
        if from > upto {
            return Ok(Vec::new());
        }
        let keys = Expression::new("#list_key = :key AND #list_at BETWEEN :from AND :upto")
            .with_text(":key", list_key)
            .with_number(":from", from)
            .with_number(":upto", upto);
        let limit = request.limit.max(1).saturating_add(1);
        let query = RecordQuery {
            index: Some("lists"),
            keys,
            reverse: true,
            limit: Some(limit),
        };
        let mut found: Vec<(ListPosition, T)> = Vec::new();
        let mut start = None;
        loop {
            let (items, next) = self.table.query_page(what, &query, start).await?;
            for item in &items {
                found.extend(
                    wanted(item)?.filter(|(place, _)| after.as_ref().is_none_or(|after| place < after)),
                );
            }
            let last = items.last().and_then(|item| item::get_integer(item, "list_at"));
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

    /// Conversations, over all shards or over that of the instance asked for.
    pub(super) async fn read_conversation_list(
        &self,
        filter: &ConversationFilter,
        request: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        const WHAT: &str = "listing conversations";
        let wanted = |item: &Item| {
            let conversation: Conversation = item::decode_record(WHAT, item)?;
            let place = ListPosition::new(
                conversation.last_message_at.as_millisecond(),
                conversation.id.to_string(),
            );
            Ok(matches_filter(filter, &conversation).then_some((place, conversation)))
        };
        let shards = match &filter.instance {
            Some(instance) => vec![keys::instance_list_key(instance)],
            None => (0..keys::SHARDS).map(keys::shard_list_key).collect(),
        };
        let lists = shards
            .into_iter()
            .map(|shard| self.read_list(WHAT, shard, request, wanted));
        Ok(build_page(
            try_join_all(lists).await?.into_iter().flatten().collect(),
            request.limit.max(1),
        ))
    }
}

fn matches_filter(filter: &ConversationFilter, conversation: &Conversation) -> bool {
    filter
        .instance
        .as_ref()
        .is_none_or(|instance| *instance == conversation.instance)
        && filter.mode.is_none_or(|mode| mode == conversation.mode)
        && conversation
            .listed_status()
            .is_some_and(|status| filter.status.is_none_or(|wanted| wanted == status))
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
            "nothing was read: there is nothing more"
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
