//! Opening hours as they are written in configuration documents and records.

use super::exception::{ExceptionDocument, HoursException};
use super::span::OpeningSpan;
use super::{DAYS, HoursError, OpeningHours};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The written form: the weekdays with their spans beside the other fields.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HoursDocument {
    #[serde(flatten)]
    days: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    exceptions: Vec<ExceptionDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    closed_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replies_per_minute: Option<u32>,
}

impl TryFrom<HoursDocument> for OpeningHours {
    type Error = HoursError;

    fn try_from(written: HoursDocument) -> Result<Self, HoursError> {
        let mut spans = BTreeMap::new();
        for (day, texts) in written.days {
            let name = day.to_lowercase();
            let Some(index) = DAYS.iter().position(|known| *known == name) else {
                return Err(HoursError::Weekday(day));
            };
            let texts: Vec<String> = serde_json::from_value(texts).map_err(|_| HoursError::Spans(day))?;
            let list = texts.iter().map(|text| OpeningSpan::parse_span(text));
            let list = list.collect::<Result<Vec<_>, _>>()?;
            if spans
                .insert(u8::try_from(index).unwrap_or_default(), list)
                .is_some()
            {
                return Err(HoursError::Repeated(DAYS[index]));
            }
        }
        let exceptions = written.exceptions.iter().enumerate();
        let exceptions =
            exceptions.map(|(place, written)| HoursException::parse_exception(written, place + 1));
        let mut exceptions = exceptions.collect::<Result<Vec<_>, _>>()?;
        exceptions.sort_by_key(|exception| exception.from);
        Ok(Self {
            spans,
            exceptions,
            time_zone: written.time_zone,
            closed_message: written.closed_message,
            replies_per_minute: written.replies_per_minute,
        })
    }
}

impl From<OpeningHours> for HoursDocument {
    fn from(hours: OpeningHours) -> Self {
        let day = |(index, spans): (&u8, &Vec<OpeningSpan>)| {
            let texts: Vec<String> = spans.iter().map(|span| span.format()).collect();
            (DAYS[usize::from(*index) % 7].to_owned(), Value::from(texts))
        };
        Self {
            days: hours.spans.iter().map(day).collect(),
            exceptions: hours
                .exceptions
                .iter()
                .map(HoursException::to_exception_document)
                .collect(),
            time_zone: hours.time_zone,
            closed_message: hours.closed_message,
            replies_per_minute: hours.replies_per_minute,
        }
    }
}
