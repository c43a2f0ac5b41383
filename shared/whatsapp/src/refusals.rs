//! Tables of what a provider's refusals mean, by HTTP status and by what they say.

use crate::class::Class;

/// One row: the first that fits counts.
pub(crate) struct Row {
    /// First and last HTTP status.
    pub(crate) status: (u16, u16),
    /// Any of these in what it says, in lower case; an empty list fits everything.
    pub(crate) says: &'static [&'static str],
    pub(crate) class: Class,
    pub(crate) title: &'static str,
}

pub(crate) const fn row(
    status: (u16, u16),
    says: &'static [&'static str],
    class: Class,
    title: &'static str,
) -> Row {
    Row {
        status,
        says,
        class,
        title,
    }
}

/// The first row that fits an answer of `status` that says `said`, in lower case.
pub(crate) fn find<'a>(rows: &'a [Row], status: u16, said: &str) -> Option<&'a Row> {
    rows.iter().find(|row| {
        (row.status.0..=row.status.1).contains(&status)
            && (row.says.is_empty() || row.says.iter().any(|words| said.contains(words)))
    })
}
