//! Contexts of traces, which are written as W3C Trace Context says (<https://www.w3.org/TR/trace-context/>).
//!
//! A trace shows the way of a request through all workers as spans, each below the span that caused it. Its id follows from the
//! correlation id, so records hold no more for it. Jobs carry the span that their work goes on below.

use crate::hexadecimal::is_hexadecimal;
use crate::ids::{CorrelationId, hash_parts};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};

/// The id of a trace: 32 hexadecimal digits, not all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(NonZeroU128);

impl TraceId {
    /// Returns the id of the trace of a correlation id. A correlation id that has the form of a trace id is the trace's id, too. Of
    /// any other, the id is a hash.
    pub fn of_correlation(correlation: &CorrelationId) -> Self {
        Self::parse(correlation.as_str())
            .or_else(|| Self::parse(&hash_parts(&["trace", correlation.as_str()], 16)))
            .unwrap_or(Self(NonZeroU128::MIN))
    }

    /// Parses 32 lower-case hexadecimal digits. `None`: the text is no id of a trace.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = check_digits(text, 32)?;
        NonZeroU128::new(u128::from_str_radix(digits, 16).ok()?).map(Self)
    }

    /// Returns the correlation id that stands for this trace.
    pub fn to_correlation(self) -> Option<CorrelationId> {
        CorrelationId::parse(&self.to_string()).ok()
    }

    /// Returns the bytes of the id.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.get().to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The span below which the work of a job goes on. In records it is the end of a `traceparent`: `00f067aa0ba902b7-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ParentSpan {
    /// Id of the span.
    pub span: NonZeroU64,
    /// `true` if the trace is exported.
    pub is_sampled: bool,
}

impl ParentSpan {
    /// Parses the id of a span, a hyphen and the flags. `None`: the text has another form.
    fn parse(text: &str) -> Option<Self> {
        let (span, flags) = text.split_once('-')?;
        let flags = u8::from_str_radix(check_digits(flags, 2)?, 16).ok()?;
        let span = u64::from_str_radix(check_digits(span, 16)?, 16).ok()?;
        Some(Self {
            span: NonZeroU64::new(span)?,
            is_sampled: flags & 1 == 1,
        })
    }
}

impl fmt::Display for ParentSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:02x}", self.span, u8::from(self.is_sampled))
    }
}

impl From<ParentSpan> for String {
    fn from(parent: ParentSpan) -> Self {
        parent.to_string()
    }
}

/// The error for a text that is no parent span.
#[derive(Debug, thiserror::Error)]
#[error("a parent span is 16 hexadecimal digits, a hyphen and 2 digits of flags")]
pub struct ParentSpanError;

impl TryFrom<String> for ParentSpan {
    type Error = ParentSpanError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or(ParentSpanError)
    }
}

/// The header `traceparent` of a request: the client's trace, and the span from which the client sent the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// Id of the client's trace.
    pub trace: TraceId,
    /// The client's span.
    pub parent: ParentSpan,
}

/// Number of characters of a header of version 00.
const HEADER_LENGTH: usize = 55;

impl TraceParent {
    /// Parses the value of the header. `None`: it is not valid, and a new trace begins. Of a later version than 00, the fields of
    /// version 00 are read, as the standard wants it.
    pub fn parse_header(value: &str) -> Option<Self> {
        let (fields, rest) = value.split_at_checked(HEADER_LENGTH)?;
        let (version, fields) = fields.split_once('-')?;
        match check_digits(version, 2)? {
            "ff" => return None,
            "00" if !rest.is_empty() => return None,
            _ if !rest.is_empty() && !rest.starts_with('-') => return None,
            _ => {}
        }
        let (trace, parent) = fields.split_once('-')?;
        Some(Self {
            trace: TraceId::parse(trace)?,
            parent: ParentSpan::parse(parent)?,
        })
    }
}

/// Returns `text` if it is so many lower-case hexadecimal digits.
fn check_digits(text: &str, count: usize) -> Option<&str> {
    is_hexadecimal(text, count).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_valid_header_is_read_and_any_other_is_not() {
        let read = TraceParent::parse_header(&format!("00-{TRACE}-00f067aa0ba902b7-01")).unwrap();
        assert_eq!(read.trace.to_string(), TRACE);
        assert_eq!(read.parent.to_string(), "00f067aa0ba902b7-01");
        let unsampled = TraceParent::parse_header(&format!("00-{TRACE}-00f067aa0ba902b7-02")).unwrap();
        assert!(!unsampled.parent.is_sampled);
        for later in ["01-{}-00f067aa0ba902b7-01", "cc-{}-00f067aa0ba902b7-01-what"] {
            assert!(
                TraceParent::parse_header(&later.replace("{}", TRACE)).is_some(),
                "{later}"
            );
        }
        for wrong in [
            "",
            "00-{}-00f067aa0ba902b7",
            "00-{}-00f067aa0ba902b7-1",
            "00-{}-00f067aa0ba902b7-01-more",
            "01-{}-00f067aa0ba902b7-01more",
            "ff-{}-00f067aa0ba902b7-01",
            "00-{}-0000000000000000-01",
            "00-{}-00F067AA0BA902B7-01",
            "00-{}-+0f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00_{}_00f067aa0ba902b7_01",
        ] {
            assert_eq!(
                TraceParent::parse_header(&wrong.replace("{}", TRACE)),
                None,
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_trace_of_a_correlation_id_is_that_id_if_it_has_the_form() {
        let of = |id: &str| TraceId::of_correlation(&CorrelationId::parse(id).unwrap());
        assert_eq!(of(TRACE).to_string(), TRACE);
        assert_eq!(of(TRACE).to_correlation().unwrap().as_str(), TRACE);
        assert_ne!(of("order-17"), of("order-18"));
        assert_eq!(of("order-17"), of("order-17"));
        assert_ne!(of(&"0".repeat(32)).to_string(), "0".repeat(32));
    }

    #[test]
    fn a_parent_is_a_short_text_in_a_record() {
        let parent: ParentSpan = serde_json::from_str("\"00f067aa0ba902b7-01\"").unwrap();
        assert_eq!(serde_json::to_string(&parent).unwrap(), "\"00f067aa0ba902b7-01\"");
        assert!(serde_json::from_str::<ParentSpan>("\"00f067aa0ba902b7\"").is_err());
    }

    proptest! {
        #[test]
        fn no_header_ends_the_process(value in any::<String>()) {
            let _read = TraceParent::parse_header(&value);
        }
    }
}
