//! Tables that classify a provider's refusals by HTTP status and text.

use crate::wire::error_class::ErrorClass;

/// One row of an error table. The first row that fits an answer counts.
pub(crate) struct ErrorRow {
    /// First and last HTTP status that the row fits.
    pub(crate) status: (u16, u16),
    /// Phrases in lower case. The answer's text must contain one of them; an empty list fits every text.
    pub(crate) phrases: &'static [&'static str],
    pub(crate) class: ErrorClass,
    pub(crate) title: &'static str,
    /// Reason why it is certain that nothing was sent; empty if it is not certain.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the page of errors is written from it")
    )]
    pub(crate) not_sent_reason: &'static str,
}

/// Builds a row for a refusal after which nothing was sent; `certain` is the reason.
pub(crate) const fn error_row(
    status: (u16, u16),
    says: &'static [&'static str],
    class: ErrorClass,
    title: &'static str,
    certain: &'static str,
) -> ErrorRow {
    ErrorRow {
        status,
        phrases: says,
        class,
        title,
        not_sent_reason: certain,
    }
}

/// Builds a row for a refusal with one status, whatever its text.
pub(crate) const fn status_row(
    status: u16,
    class: ErrorClass,
    title: &'static str,
    certain: &'static str,
) -> ErrorRow {
    error_row((status, status), &[], class, title, certain)
}

/// Builds a row for an answer after which the message may have been sent.
pub(crate) const fn unknown_outcome_row(
    status: (u16, u16),
    says: &'static [&'static str],
    timed_out: bool,
    title: &'static str,
) -> ErrorRow {
    error_row(status, says, ErrorClass::Unknown { timed_out }, title, "")
}

/// First and last HTTP status, class, and the reason why it is certain that nothing was sent.
pub(crate) type StatusRow = (u16, u16, ErrorClass, &'static str);

/// Returns the class of the first row that fits `status`; unknown if none fits.
pub(crate) fn class_by_status(status: u16, rows: &[StatusRow]) -> ErrorClass {
    rows.iter()
        .find(|(first, last, ..)| (*first..=*last).contains(&status))
        .map_or(ErrorClass::Unknown { timed_out: false }, |(_, _, class, _)| {
            *class
        })
}

/// Reasons why it is certain that nothing was sent, shared by several tables.
pub(crate) mod not_sent_reason {
    /// A rate limiter, a router or a guard answered.
    pub(crate) const BEFORE_HANDLER: &str = "answered before anything is sent";
    pub(crate) const KEY_CHECKED: &str = "the key is checked first";
    pub(crate) const BODY_CHECKED: &str = "the request is checked first";
    pub(crate) const LIMIT_CHECKED: &str = "limits are checked first";
    pub(crate) const REQUEST_REFUSED: &str = "a 4xx refuses the request";
}

/// Returns the first row that fits an answer with `status` and the text `said`, which must be in lower case.
pub(crate) fn find_error_row<'a>(rows: &'a [ErrorRow], status: u16, said: &str) -> Option<&'a ErrorRow> {
    rows.iter().find(|row| {
        (row.status.0..=row.status.1).contains(&status)
            && (row.phrases.is_empty() || row.phrases.iter().any(|words| said.contains(words)))
    })
}
