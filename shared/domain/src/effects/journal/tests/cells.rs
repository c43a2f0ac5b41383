//! The cells that journals hold are those that a store has.

use super::*;
use crate::effects::Cell;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Writes the cells of a change as a store does. `false`: a cell is another event's.
fn write_cells(cells: &mut BTreeMap<Cell, HeldCell>, change: &JournalChange) -> bool {
    let taken = |held: &HeldCell| {
        cells
            .get(&held.cell)
            .is_some_and(|other| other.holder != held.holder)
    };
    if change.takes.iter().any(taken) {
        return false;
    }
    for held in &change.takes {
        cells.insert(held.cell.clone(), held.clone());
    }
    for held in &change.frees {
        if cells
            .get(&held.cell)
            .is_some_and(|other| other.holder == held.holder)
        {
            cells.remove(&held.cell);
        }
    }
    true
}

/// People move the event of a booking to `span`, wherever that is. Returns whether all its cells could be written.
fn follow_as_store_does(
    journal: &mut Journal,
    cells: &mut BTreeMap<Cell, HeldCell>,
    event: &EffectId,
    span: &CellSpan,
) -> bool {
    let others: Vec<Cell> = cells
        .values()
        .filter(|held| held.holder != *event)
        .map(|held| held.cell.clone())
        .collect();
    let change = journal.follow_booking(event, span.clone(), &others, at(2));
    write_cells(cells, &change)
}

/// Returns all cells that the journals hold, as a store has them.
fn list_cells_of(journals: &[Journal]) -> BTreeMap<Cell, HeldCell> {
    let held = journals.iter().flat_map(Journal::held_cells);
    held.map(|held| (held.cell.clone(), held)).collect()
}

proptest! {
    /// Whatever two threads and people in the calendar do, and however it ends, the cells that are stored are those that the
    /// journals hold, also where two events stand at the same time.
    #[test]
    fn cells_are_held_by_one_event_and_never_for_nothing(
        script in prop::collection::vec((0usize..2, 0u8..5, 0i64..8, 1i64..4, 0u8..4), 1..60)
    ) {
        let (mut cells, mut journals) = (BTreeMap::new(), [journal(), journal()]);
        for (step, (thread, what, first, length, end)) in script.into_iter().enumerate() {
            let (step, mut changed) = (u64::try_from(step).unwrap(), journals[thread].clone());
            let event = changed.bookings.first().map(|booking| booking.event.clone());
            if let (3 | 4, Some(event)) = (what, &event) {
                let moved = span(first, length);
                prop_assert!(follow_as_store_does(&mut journals[thread], &mut cells, event, &moved));
                prop_assert_eq!(&list_cells_of(&journals), &cells);
                continue;
            }
            let version = "v".to_owned();
            let action = match (what, event) {
                (1, Some(event)) => EffectAction::Move { event, version, span: span(first, length) },
                (2, Some(event)) => EffectAction::Cancel { event, version },
                _ => EffectAction::Book { span: span(first, length) },
            };
            let mut asked = request(100 * step + u64::from(thread == 1), "tool", action, step);
            asked.nonce = nonce("own");
            let Ok(change) = changed.begin_effect(asked, at(0)) else { continue };
            if !write_cells(&mut cells, &change) {
                continue;
            }
            let number = changed.last;
            let end = match end {
                0 | 1 => EntryEnd::Done,
                2 => EntryEnd::Failed { fence: false },
                _ => EntryEnd::Void,
            };
            let change = changed.end_entry(number, &nonce("own"), end, None, at(1)).unwrap();
            prop_assert!(write_cells(&mut cells, &change));
            journals[thread] = changed;
            prop_assert_eq!(&list_cells_of(&journals), &cells);
        }
    }
}
