use crate::World;
use crate::ports::{DeadLetterFilter, DeadLetters, PageRequest, PortResult};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadWhat};
use std::collections::BTreeMap;

/// Which dead letters something is to be done with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
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
struct Place {
    number: i64,
    at: Timestamp,
    id: String,
}

/// Letters whose order matters: those of one conversation, or of one contact.
#[derive(Debug, Default)]
pub(super) struct Line(Vec<Place>);

impl Line {
    /// The letters' ids, in order.
    pub(super) fn ids(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|place| place.id)
    }
}

/// What was selected.
#[derive(Debug)]
pub(super) struct Selected {
    /// By line, the one with the oldest letter first.
    pub(super) lines: Vec<Line>,
    /// How many letters that is.
    pub(super) count: usize,
    /// Whether there are more than the limit.
    pub(super) more: bool,
}

/// The line that a letter stands in, and where.
fn place(letter: &DeadLetter) -> (String, Place) {
    let by_id = (letter.id.clone(), 0);
    let (line, number) = match &letter.what {
        DeadWhat::Event(job) => (job.group.clone(), job.received_at.as_millisecond()),
        DeadWhat::Message { message } => message.parts().map_or(by_id, |(conversation, ordinal)| {
            (
                conversation.to_string(),
                i64::try_from(ordinal.0).unwrap_or(i64::MAX),
            )
        }),
        DeadWhat::Turn(_) | DeadWhat::Unreadable { .. } => by_id,
    };
    let (at, id) = (letter.at, letter.id.clone());
    (line, Place { number, at, id })
}

/// Finds what `selection` says. Only places are kept of the letters: there may be many, and large ones.
pub(super) async fn select<W: World>(world: &W, selection: &Selection) -> PortResult<Selected> {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    let mut take = |letter: &DeadLetter| {
        let (line, place) = place(letter);
        lines.entry(line).or_default().0.push(place);
    };
    if selection.ids.is_empty() {
        let mut page = PageRequest {
            limit: PAGE,
            cursor: None,
        };
        loop {
            let found = world.store().dead_letters(&selection.filter, &page).await?;
            found.items.iter().for_each(&mut take);
            page.cursor = found.next_cursor;
            if page.cursor.is_none() {
                break;
            }
        }
    }
    for id in &selection.ids {
        let letter = world.store().dead_letter(id).await?;
        letter.iter().for_each(&mut take);
    }
    Ok(limited(lines.into_values().collect(), selection.limit))
}

/// The first `limit` letters; a line is cut at its end only.
fn limited(mut lines: Vec<Line>, limit: usize) -> Selected {
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
    Selected {
        lines,
        count: limit - left,
        more: all > limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::instant;

    fn line(places: &[(i64, i64)]) -> Line {
        let place = |(number, at): &(i64, i64)| Place {
            number: *number,
            at: instant(*at),
            id: format!("{number}@{at}"),
        };
        Line(places.iter().map(place).collect())
    }

    #[test]
    fn a_line_keeps_its_order_whichever_died_first_and_is_cut_at_its_end() {
        let lines = vec![line(&[(3, 50), (2, 90)]), line(&[(7, 10), (9, 20), (8, 30)])];
        let selected = limited(lines, 4);
        let ids: Vec<Vec<String>> = selected
            .lines
            .into_iter()
            .map(|line| line.ids().collect())
            .collect();
        assert_eq!(ids, [vec!["7@10", "8@30", "9@20"], vec!["2@90"]]);
        assert_eq!((selected.count, selected.more), (4, true));
    }

    #[test]
    fn a_letter_that_is_named_twice_is_taken_once() {
        let selected = limited(vec![line(&[(1, 1), (1, 1)])], 10);
        assert_eq!((selected.count, selected.more), (1, false));
    }
}
