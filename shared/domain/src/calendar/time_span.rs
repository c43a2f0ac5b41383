use crate::effects::{CELL, Cell};
use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};

/// A time from one instant up to another, which is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    /// The first instant.
    pub from: Timestamp,
    /// The instant after the last.
    pub to: Timestamp,
}

impl TimeSpan {
    /// Returns `true` if the spans have an instant in common. A span that ends before it begins has none.
    pub fn overlaps_with_span(&self, other: &Self) -> bool {
        self.from < other.to && other.from < self.to && self.from < self.to && other.from < other.to
    }

    /// Returns the span with time added before and after it.
    #[must_use]
    pub fn widen_time_span(&self, before: SignedDuration, after: SignedDuration) -> Self {
        Self {
            from: self.from.saturating_sub(before).unwrap_or(self.from),
            to: self.to.saturating_add(after).unwrap_or(self.to),
        }
    }

    pub(super) fn of_cell(cell: &Cell) -> Self {
        Self {
            from: cell.start,
            to: add_duration(cell.start, CELL),
        }
    }

    /// Sorts spans and joins those that overlap or touch. Empty ones are left out.
    pub(super) fn join_time_spans(spans: &[Self]) -> Vec<Self> {
        let mut sorted: Vec<Self> = spans.iter().filter(|span| span.from < span.to).copied().collect();
        sorted.sort_unstable();
        let mut joined: Vec<Self> = Vec::new();
        for span in sorted {
            match joined.last_mut() {
                Some(before) if span.from <= before.to => before.to = before.to.max(span.to),
                _ => joined.push(span),
            }
        }
        joined
    }
}
