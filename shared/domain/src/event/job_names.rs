//! Reads whose event the message of the queue `inbound` is about when the rest of it cannot be read.

use super::{EventKind, EventPayload, InboundJob};
use crate::ids::{CorrelationId, EventId, ExternalId};
use crate::millis::from_unix_millis;
use crate::provider::Provider;
use jiff::Timestamp;
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// The fields of an [`InboundJob`] beside its payload, as far as they can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobNames {
    /// The event's id.
    pub event: Option<EventId>,
    /// The provider that sent the webhook.
    pub provider: Option<Provider>,
    /// The provider's name of the instance.
    pub external: Option<ExternalId>,
    /// The correlation id.
    pub correlation: Option<CorrelationId>,
    /// When the webhook arrived.
    pub received_at: Option<Timestamp>,
    kind: Option<EventKind>,
    group: Option<String>,
}

impl JobNames {
    /// Reads the names in the JSON of a job, up to the place from which it cannot be read. A payload may be nested as deeply as it
    /// likes.
    pub fn cut_out(json: &str) -> Self {
        let mut names = Self::default();
        let mut reader = serde_json::Deserializer::from_str(json);
        // What was read before an error is kept.
        let _ = reader.deserialize_map(NamesVisitor(&mut names));
        names
    }

    /// Builds a job without a payload, for the record of an event that is settled unread. `None`: whose event it is cannot be read.
    pub fn into_job_without_payload(self, event: &EventId, at: Timestamp) -> Option<InboundJob> {
        Some(InboundJob {
            event: event.clone(),
            provider: self.provider?,
            external: self.external?,
            kind: self.kind.unwrap_or(EventKind::Message),
            group: self.group.unwrap_or_default(),
            correlation: self.correlation.unwrap_or_else(CorrelationId::unknown),
            parent: None,
            received_at: self.received_at.unwrap_or(at),
            payload: EventPayload::Inline(Value::Null),
            lookalike: false,
            has_file: false,
            redrive: None,
        })
    }
}

struct NamesVisitor<'a>(&'a mut JobNames);

impl<'de> Visitor<'de> for NamesVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a job")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let names = self.0;
        while let Some(name) = fields.next_key::<String>()? {
            match name.as_str() {
                "event" => names.event = Some(fields.next_value()?),
                "provider" => names.provider = Some(fields.next_value()?),
                "external" => names.external = Some(fields.next_value()?),
                "kind" => names.kind = Some(fields.next_value()?),
                "group" => names.group = Some(fields.next_value()?),
                "correlation" => names.correlation = Some(fields.next_value()?),
                "received_at" => names.received_at = Some(from_unix_millis(fields.next_value()?)),
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(payload: &str) -> String {
        let names = json!({
            "event": "a".repeat(64), "provider": "evolution", "external": "suporte-01", "kind": "failed", "group": "g",
            "correlation": "k", "received_at": 5,
        })
        .to_string();
        format!(r#"{},"payload":{payload}}}"#, names.trim_end_matches('}'))
    }

    #[test]
    fn names_are_read_beside_a_payload_that_cannot_be() {
        let event = EventId::parse(&"a".repeat(64)).unwrap();
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for body in [job(&deep), job("{broken"), job("{}")] {
            let names = JobNames::cut_out(&body);
            assert_eq!(names.event.as_ref(), Some(&event), "{body}");
            let job = names
                .into_job_without_payload(&event, from_unix_millis(9))
                .unwrap();
            assert_eq!((job.kind, job.group.as_str()), (EventKind::Failed, "g"));
            assert_eq!(job.received_at, from_unix_millis(5));
        }
    }

    #[test]
    fn what_is_no_job_has_no_names() {
        for other in ["", "[]", "7", r#"{"event": 7}"#, r#"{"event": null}"#] {
            assert_eq!(JobNames::cut_out(other), JobNames::default(), "{other}");
        }
    }
}
