/// The reasons why opening hours are not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoursError {
    /// The text is not a weekday, and not another field.
    #[error(
        "`{0}` is not a weekday: use mon, tue, wed, thu, fri, sat, sun (or exceptions, time_zone, closed_message, \
         replies_per_minute)"
    )]
    Weekday(String),
    /// The value of a weekday is not a list of spans.
    #[error("`{0}` must be a list of spans, such as [\"09:00-12:00\", \"13:00-18:00\"]")]
    Spans(String),
    /// The text is not a span of time.
    #[error("`{0}` is not a span of opening hours: write it as 09:00-18:00")]
    Span(String),
    /// A weekday is named twice, in capitals and in small letters.
    #[error("`{0}` is named twice")]
    Repeated(&'static str),
    /// No weekday and no exception has a span.
    #[error("they name no hours, so nobody would ever be answered; leave them out for all hours")]
    Empty,
    /// Two spans have a time in common.
    #[error("{first} and {second} overlap")]
    Overlap {
        /// The span that begins first, with its weekday.
        first: String,
        /// The span that begins before the first ends, with its weekday.
        second: String,
    },
    /// An exception cannot be meant as it is written.
    #[error("exception {position}: {why}")]
    Exception {
        /// The exception's place in the list, from 1.
        position: usize,
        /// The problem.
        why: &'static str,
    },
    /// Two exceptions have a date in common.
    #[error("the exceptions of {first} and of {second} overlap")]
    ExceptionOverlap {
        /// The first date of the exception that begins first.
        first: String,
        /// The first date of the exception that begins before the first ends.
        second: String,
    },
    /// The text is not a time zone.
    #[error("`{0}` is not an IANA time zone, such as America/Sao_Paulo")]
    TimeZone(String),
    /// A value is outside its range.
    #[error("{0}")]
    Value(&'static str),
}
