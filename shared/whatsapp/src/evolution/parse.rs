//! Webhook bodies: the envelope `{event, instance, data, …}` of versions 1 and 2, and the queue-worker form
//! `{instanceName, message: {key, message, …}}`.

mod change;
mod chat;
mod content;
mod context;
mod message;
mod noise;
mod protocol;
mod remembered;
mod status;
#[cfg(test)]
mod tests;
mod vote;

pub(crate) use remembered::remembered;

use crate::ParseError;
use crate::json::pick::{At, Id, Next, Pick, next_key, pick, value};
use crate::json::{instant, label, list, object_of, text};
use jiff::Timestamp;
use recado_domain::content::Content;
use recado_domain::event::{EventKind, InboundJob, event_id_of_body};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{Inbound, WebhookEvent, WebhookItem};
use serde::de::{IgnoredAny, MapAccess};
use serde_json::{Map, Value, json};

const NO_INSTANCE: ParseError = ParseError::NotEnvelope { what: "no instance" };

/// The instance that a body names, read before the body is trusted: the webhook secret is derived from it. Nothing else of
/// the body is built.
pub fn instance_of(body: &[u8]) -> Result<ExternalId, ParseError> {
    let named = pick(Named, body).map_err(|_| ParseError::NotJson)?;
    named.instance().ok_or(NO_INSTANCE)
}

/// What an envelope says of its instance, as [`instance_name`] reads it.
#[derive(Debug, Clone, Copy)]
struct Named;

/// What the field `instance` holds.
#[derive(Debug, Default)]
enum Held {
    /// A name or an object that should have one; none if it is not fit to be one.
    Name(Option<ExternalId>),
    /// Neither: then `instanceName` counts.
    #[default]
    Nothing,
}

#[derive(Debug, Default)]
struct Names {
    /// What stands at `instance`.
    instance: Held,
    /// What stands at `instanceName`.
    instance_name: Option<ExternalId>,
}

impl Names {
    fn instance(self) -> Option<ExternalId> {
        match self.instance {
            Held::Name(name) => name,
            Held::Nothing => self.instance_name,
        }
    }
}

impl Pick for Named {
    type Found = Names;

    fn object<'de, A: MapAccess<'de>>(self, mut object: A) -> Result<Names, A::Error> {
        let mut names = Names::default();
        while let Some(key) = next_key(&mut object, &["instance", "instanceName"])? {
            match key {
                Next::Wanted(0) => names.instance = value(&mut object, InstanceField)?,
                Next::Wanted(_) => names.instance_name = value(&mut object, NAME)?,
                Next::Other => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(names)
    }
}

/// A name.
const NAME: Id = Id { numbers: false };

/// The field `instance`.
#[derive(Debug, Clone, Copy)]
struct InstanceField;

impl Pick for InstanceField {
    type Found = Held;

    fn text(self, text: &str) -> Self::Found {
        Held::Name(NAME.text(text))
    }

    fn object<'de, A: MapAccess<'de>>(self, object: A) -> Result<Self::Found, A::Error> {
        At("instanceName", NAME).object(object).map(Held::Name)
    }
}

/// What a stored message says.
pub(super) fn content_of(message: &Value) -> Content {
    content::read(message, None)
}

/// A body with its parts named.
struct Envelope {
    /// Dotted, in lower case.
    event: String,
    instance: ExternalId,
    data: Value,
    /// Server-local time with a false `Z`: tells two equal states apart, and is no time.
    date_time: Option<String>,
    /// The instance's own JID.
    own: Option<String>,
}

impl Envelope {
    /// Reads a body of `instance`; without one, of the instance that it names.
    fn read(body: &[u8], instance: Option<&ExternalId>) -> Result<Self, ParseError> {
        let mut fields = object_of(body)?;
        let instance = match instance {
            Some(instance) => instance.clone(),
            None => instance_name(&fields).ok_or(NO_INSTANCE)?,
        };
        let (data, message) = (fields.remove("data"), fields.remove("message"));
        // The queue-worker form has no event; what it carries is a message as in `messages.upsert`.
        let (event, data) = match (fields.get("event").and_then(Value::as_str), data, message) {
            (Some(event), data, _) => (dotted(event), data.unwrap_or(Value::Null)),
            (None, _, Some(message)) if message.is_object() => ("messages.upsert".to_owned(), message),
            _ => return Err(ParseError::NotEnvelope { what: "no event" }),
        };
        let fields = Value::Object(fields);
        Ok(Self {
            event,
            instance,
            data,
            date_time: text(&fields, "date_time").map(str::to_owned),
            own: text(&fields, "sender").map(str::to_owned),
        })
    }

    /// What the processor reads of one part of the body. The body's `apikey` is a live credential, and `server_url` and
    /// `destination` differ between two deliveries of one event: none of them is kept.
    fn payload(&self, data: Value) -> Value {
        let mut payload =
            Map::from_iter([("event".to_owned(), json!(self.event)), ("data".to_owned(), data)]);
        if let Some(date_time) = &self.date_time {
            payload.insert("date_time".to_owned(), json!(date_time));
        }
        Value::Object(payload)
    }

    fn ignored(&self) -> WebhookItem {
        WebhookItem::Ignored {
            what: label(&self.event).to_owned(),
        }
    }

    fn connection(&self) -> WebhookItem {
        // Only the state: on `open` the data also holds the profile's name, number and picture.
        let mut data = Map::new();
        for key in ["instance", "state", "statusReason"] {
            if let Some(value) = self.data.get(key) {
                data.insert(key.to_owned(), value.clone());
            }
        }
        let payload = self.payload(Value::Object(data));
        WebhookItem::Event(WebhookEvent {
            id: event_id_of_body(
                crate::evolution::NAME,
                &self.instance,
                EventKind::Connection,
                &payload,
            ),
            provider: crate::evolution::NAME,
            external: self.instance.clone(),
            kind: EventKind::Connection,
            address: None,
            payload,
            lookalike: self.date_time.is_none(),
        })
    }
}

fn instance_name(fields: &Map<String, Value>) -> Option<ExternalId> {
    let name = match fields.get("instance") {
        Some(Value::String(name)) => name,
        Some(instance @ Value::Object(_)) => text(instance, "instanceName")?,
        _ => fields.get("instanceName")?.as_str()?,
    };
    ExternalId::parse(name.trim()).ok()
}

/// `MESSAGES_UPSERT`, `messages-upsert` and `messages.upsert` are one event: the first stands in its settings, the
/// second in URLs by event, the third in bodies.
fn dotted(event: &str) -> String {
    event.trim().to_ascii_lowercase().replace(['_', '-'], ".")
}

/// Splits a body into items, which are of the instance that it names.
pub(crate) fn split(body: &[u8], received_at: Timestamp) -> Result<Vec<WebhookItem>, ParseError> {
    Ok(items(&Envelope::read(body, None)?, received_at))
}

/// Splits a body of `instance` into items.
pub(crate) fn split_of(
    body: &[u8],
    instance: &ExternalId,
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, ParseError> {
    Ok(items(&Envelope::read(body, Some(instance))?, received_at))
}

fn items(envelope: &Envelope, received_at: Timestamp) -> Vec<WebhookItem> {
    let parts = list(Some(&envelope.data));
    let items: Vec<WebhookItem> = match envelope.event.as_str() {
        "messages.upsert" | "send.message" => {
            parts.iter().map(|part| message::item(envelope, part)).collect()
        }
        "messages.set" => in_order_of_time(parts)
            .into_iter()
            .map(|part| message::item(envelope, part))
            .collect(),
        "messages.update" => parts
            .iter()
            .map(|part| status::item(envelope, part, received_at))
            .collect(),
        "messages.edited" => parts.iter().map(|part| change::edited(envelope, part)).collect(),
        "messages.delete" => parts.iter().map(|part| change::deleted(envelope, part)).collect(),
        "connection.update" => vec![envelope.connection()],
        _ => vec![envelope.ignored()],
    };
    if items.is_empty() {
        vec![envelope.ignored()]
    } else {
        items
    }
}

/// A history comes newest first. Oldest first, what was answered on the phone is known to be.
fn in_order_of_time(parts: &[Value]) -> Vec<&Value> {
    let mut parts: Vec<&Value> = parts.iter().collect();
    parts.sort_by_key(|part| instant(part.get("messageTimestamp")));
    parts
}

/// Reads the payload of an event that [`split`] made.
pub(crate) fn interpret(job: &InboundJob, payload: &Value) -> Inbound {
    match (job.kind, text(payload, "event")) {
        (EventKind::Message, Some("messages.edited" | "messages.delete")) => change::interpret(payload),
        (EventKind::Message, Some("messages.update")) => vote::interpret(payload),
        (EventKind::Message, _) => message::interpret(payload),
        (EventKind::Failed, _) => status::interpret(job, payload),
        (EventKind::Connection, _) => Inbound::ConnectionChanged,
    }
}
