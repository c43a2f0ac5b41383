use crate::Deps;
use crate::ports::{DeadLetterFilter, DeadLetters, PageRequest, PortResult};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use std::collections::BTreeMap;

/// Which dead letters something is to be done with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterSelection {
    /// Those that the filter takes …
    pub filter: DeadLetterFilter,
    /// … or, if there are any here, those of these ids only.
    pub ids: Vec<String>,
    /// At most so many, the oldest.
    pub limit: usize,
}

/// How many letters one read of the list brings.
const PAGE: usize = 200;

/// A letter's place among those that must stay in order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LetterPosition {
    number: i64,
    at: Timestamp,
    id: String,
}

/// Letters whose order matters: those of one conversation, or of one contact.
#[derive(Debug, Default)]
pub(super) struct OrderedLetters(Vec<LetterPosition>);

impl OrderedLetters {
    /// The letters' ids, in order.
    pub(super) fn into_letter_ids(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|place| place.id)
    }
}

/// What was selected.
#[derive(Debug)]
pub(super) struct SelectedLetters {
    /// By line, the one with the oldest letter first.
    pub(super) lines: Vec<OrderedLetters>,
    /// How many letters that is.
    pub(super) count: usize,
    /// Whether there are more than the limit.
    pub(super) more: bool,
}

/// The line that a letter stands in, and where.
fn letter_position(letter: &DeadLetter) -> (String, LetterPosition) {
    let by_id = (letter.id.clone(), 0);
    let (line, number) = match &letter.what {
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
        DeadLetterContent::Turn(_) | DeadLetterContent::Unreadable { .. } => by_id,
    };
    let (at, id) = (letter.at, letter.id.clone());
    (line, LetterPosition { number, at, id })
}

/// Finds what `selection` says. Only places are kept of the letters: there may be many, and large ones.
pub(super) async fn select_letters<W: Deps>(
    deps: &W,
    selection: &DeadLetterSelection,
) -> PortResult<SelectedLetters> {
    let mut lines: BTreeMap<String, OrderedLetters> = BTreeMap::new();
    let mut take = |letter: &DeadLetter| {
        let (line, place) = letter_position(letter);
        lines.entry(line).or_default().0.push(place);
    };
    if selection.ids.is_empty() {
        let mut page = PageRequest {
            limit: PAGE,
            cursor: None,
        };
        loop {
            let found = deps.store().list_dead_letters(&selection.filter, &page).await?;
            found.items.iter().for_each(&mut take);
            page.cursor = found.next_cursor;
            if page.cursor.is_none() {
                break;
            }
        }
    }
    for id in &selection.ids {
        let letter = deps.store().find_dead_letter(id).await?;
        letter.iter().for_each(&mut take);
    }
    Ok(limit_letters(lines.into_values().collect(), selection.limit))
}

/// The first `limit` letters; a line is cut at its end only.
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
