use crate::{find_letter_within, narrow_filter};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_pipeline::Deps;
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use std::collections::BTreeMap;

/// The dead letters that an operator's request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterSelection {
    /// Filter of the dead letters; used if `ids` is empty.
    pub filter: DeadLetterFilter,
    /// Ids of the dead letters; if there are any, `filter` is not used.
    pub ids: Vec<String>,
    /// Maximum number of dead letters. The conversations or contacts with the oldest dead letters come first.
    pub limit: usize,
}

/// Number of dead letters that one read of the list returns.
const PAGE: usize = 200;

/// The position of a dead letter among those that must stay in order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LetterPosition {
    number: i64,
    at: Timestamp,
    id: String,
}

/// Dead letters whose order matters: those of one conversation, or of one contact.
#[derive(Debug, Default)]
pub(super) struct OrderedLetters(Vec<LetterPosition>);

impl OrderedLetters {
    /// Returns the ids of the dead letters, in order.
    pub(super) fn into_letter_ids(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|place| place.id)
    }
}

/// The dead letters that were selected.
#[derive(Debug)]
pub(super) struct SelectedLetters {
    /// Dead letters by conversation or contact. The group with the oldest dead letter comes first.
    pub(super) lines: Vec<OrderedLetters>,
    /// Number of selected dead letters.
    pub(super) count: usize,
    /// `true` if more dead letters match than the limit allows.
    pub(super) more: bool,
}

/// Returns the conversation or contact in whose order a dead letter stands, and its position there.
fn letter_position(dead_letter: &DeadLetter) -> (String, LetterPosition) {
    let by_id = (dead_letter.id.clone(), 0);
    let (line, number) = match &dead_letter.what {
        DeadLetterContent::Event(job) => (job.group.clone(), job.received_at.as_millisecond()),
        DeadLetterContent::Message { message } => {
            message
                .conversation_and_ordinal()
                .map_or(by_id, |(conversation, ordinal)| {
                    (
                        conversation.to_string(),
                        i64::try_from(ordinal.0).unwrap_or(i64::MAX),
                    )
                })
        }
        DeadLetterContent::Email { .. }
        | DeadLetterContent::Turns(_)
        | DeadLetterContent::Unreadable { .. }
        | DeadLetterContent::Damaged { .. } => by_id,
    };
    let (at, id) = (dead_letter.at, dead_letter.id.clone());
    (line, LetterPosition { number, at, id })
}

/// Finds the dead letters of `selection`. Only their positions are kept in memory, because there may be many large dead
/// letters.
pub(super) async fn select_letters(
    deps: &Deps,
    caller: &Caller,
    selection: &DeadLetterSelection,
) -> PortResult<SelectedLetters> {
    let mut lines: BTreeMap<String, OrderedLetters> = BTreeMap::new();
    let mut take = |dead_letter: &DeadLetter| {
        let (line, place) = letter_position(dead_letter);
        lines.entry(line).or_default().0.push(place);
    };
    if selection.ids.is_empty() {
        let mut next = Some(PageRequest::first(PAGE));
        let filter = narrow_filter(deps, caller, selection.filter.clone()).await?;
        while let Some(page) = next {
            let found = list_dead_letters(deps.store(), &filter, &page).await?;
            found.items.iter().for_each(&mut take);
            next = page.follow(found.next_cursor);
        }
    }
    for id in &selection.ids {
        let dead_letter = find_letter_within(deps, caller, id).await?;
        dead_letter.iter().for_each(&mut take);
    }
    Ok(limit_letters(lines.into_values().collect(), selection.limit))
}

/// Takes the first `limit` dead letters. The dead letters of a conversation or contact are cut only at the end.
fn limit_letters(mut lines: Vec<OrderedLetters>, limit: usize) -> SelectedLetters {
    for line in &mut lines {
        line.0.sort();
        line.0.dedup();
    }
    lines.sort_by_key(|line| line.0.iter().map(|place| place.at).min());
    let all: usize = lines.iter().map(|line| line.0.len()).sum();
    let mut left = limit;
    for line in &mut lines {
        line.0.truncate(left);
        left -= line.0.len();
    }
    lines.retain(|line| !line.0.is_empty());
    SelectedLetters {
        lines,
        count: limit - left,
        more: all > limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    fn line(places: &[(i64, i64)]) -> OrderedLetters {
        let place = |(number, at): &(i64, i64)| LetterPosition {
            number: *number,
            at: from_unix_millis(*at),
            id: format!("{number}@{at}"),
        };
        OrderedLetters(places.iter().map(place).collect())
    }

    #[test]
    fn a_line_keeps_its_order_whichever_died_first_and_is_cut_at_its_end() {
        let lines = vec![line(&[(3, 50), (2, 90)]), line(&[(7, 10), (9, 20), (8, 30)])];
        let selected = limit_letters(lines, 4);
        let ids: Vec<Vec<String>> = selected
            .lines
            .into_iter()
            .map(|line| line.into_letter_ids().collect())
            .collect();
        assert_eq!(ids, [vec!["7@10", "8@30", "9@20"], vec!["2@90"]]);
        assert_eq!((selected.count, selected.more), (4, true));
    }

    #[test]
    fn a_letter_that_is_named_twice_is_taken_once() {
        let selected = limit_letters(vec![line(&[(1, 1), (1, 1)])], 10);
        assert_eq!((selected.count, selected.more), (1, false));
    }
}
