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
    /// Why it is certain that nothing was sent; empty where it is not.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the page of errors is written from it")
    )]
    pub(crate) certain: &'static str,
}

/// A refusal of which it is certain that nothing was sent, and why.
pub(crate) const fn row(
    status: (u16, u16),
    says: &'static [&'static str],
    class: Class,
    title: &'static str,
    certain: &'static str,
) -> Row {
    Row {
        status,
        says,
        class,
        title,
        certain,
    }
}

/// An answer after which the message may have been sent.
pub(crate) const fn unknown(
    status: (u16, u16),
    says: &'static [&'static str],
    timed_out: bool,
    title: &'static str,
) -> Row {
    row(status, says, Class::Unknown { timed_out }, title, "")
}

/// First and last HTTP status, class, and why it is certain that nothing was sent.
pub(crate) type StatusRow = (u16, u16, Class, &'static str);

/// The class of the first row that fits `status`.
pub(crate) fn by_status(status: u16, rows: &[StatusRow]) -> Class {
    rows.iter()
        .find(|(first, last, ..)| (*first..=*last).contains(&status))
        .map_or(Class::Unknown { timed_out: false }, |(_, _, class, _)| *class)
}

/// Why it is certain that nothing was sent, for rows of several tables.
pub(crate) mod certain {
    /// A limiter, a router or a guard.
    pub(crate) const BEFORE: &str = "it is answered in place of the handler that sends";
    pub(crate) const KEY: &str = "the key is checked before anything is sent";
    pub(crate) const BODY: &str = "the request is checked before anything is sent";
    pub(crate) const LIMIT: &str = "a limit is checked before a message is taken";
    pub(crate) const REFUSED: &str = "a 4xx refuses the request; none is answered once a message is taken";
}

/// The first row that fits an answer of `status` that says `said`, in lower case.
pub(crate) fn find<'a>(rows: &'a [Row], status: u16, said: &str) -> Option<&'a Row> {
    rows.iter().find(|row| {
        (row.status.0..=row.status.1).contains(&status)
            && (row.says.is_empty() || row.says.iter().any(|words| said.contains(words)))
    })
}
