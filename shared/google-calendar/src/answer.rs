//! The meaning of the API's answers (<https://developers.google.com/workspace/calendar/api/guides/errors>).

use crate::error::CalendarError;
use crate::exchange::CalendarAnswer;
use serde_json::Value;

/// The reasons of a 403 and of a 429 that say "later" and not "never".
const LIMIT_REASONS: [&str; 5] = [
    "rateLimitExceeded",
    "userRateLimitExceeded",
    "quotaExceeded",
    "dailyLimitExceeded",
    "calendarUsageLimitsExceeded",
];

/// The part of a request that decides what an unclear answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// The request changes nothing.
    Question,
    /// The request may change something.
    Action,
}

impl CalendarAnswer {
    /// Returns the body of a success, or what the refusal means.
    pub(crate) fn into_result(self, kind: RequestKind) -> Result<Value, CalendarError> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let reason = read_reason(&self.body);
        let why = match &reason {
            Some(reason) => format!("status {}, {reason}", self.status.as_u16()),
            None => format!("status {}", self.status.as_u16()),
        };
        let is_limit = reason
            .as_deref()
            .is_some_and(|reason| LIMIT_REASONS.contains(&reason));
        Err(match self.status.as_u16() {
            401 => CalendarError::Credentials(why),
            403 if !is_limit => CalendarError::Forbidden(why),
            404 => CalendarError::NotFound,
            409 => CalendarError::AlreadyExists,
            410 => CalendarError::Deleted,
            412 => CalendarError::VersionChanged,
            // A server that failed may have acted before.
            408 | 500.. if kind == RequestKind::Action => CalendarError::Unknown(why),
            403 | 408 | 429 | 500.. => CalendarError::Unavailable {
                why,
                after: self.after,
            },
            _ => CalendarError::Refused(why),
        })
    }
}

/// Reads the reason of an error, if it is a plain word. Messages are not kept: they may repeat what was sent.
fn read_reason(body: &Value) -> Option<String> {
    let reason = body
        .pointer("/error/errors/0/reason")
        .or_else(|| body.pointer("/error"));
    plain_word(reason?)
}

/// Returns a text of at most 60 letters, digits and underscores.
pub(crate) fn plain_word(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let is_plain = (1..=60).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_plain.then(|| text.to_owned())
}
