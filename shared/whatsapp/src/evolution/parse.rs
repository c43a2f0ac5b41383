//! Reads webhook bodies: the envelope `{event, instance, data, …}` of versions 1 and 2, and the queue-worker form
//! `{instanceName, message: {key, message, …}}`.

mod change;
mod chat;
mod content;
mod context;
mod history_record;
mod message;
mod presence;
mod reaction;
mod status;
#[cfg(test)]
mod tests;
mod unused_fields;
mod vote;
mod webhook_file;

pub(crate) use history_record::parse_history_record;

use crate::wire::ReadItem;
use crate::wire::json::extract::{
    AtKey, ExternalIdExtractor, JsonExtractor, NextKey, extract_from_body, extract_value, next_key,
};
use crate::wire::json::{
    WebhookParseError, get_text, list_members, parse_json_object, parse_timestamp, sanitize_label,
};
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::event::{EventKind, InboundJob, derive_event_id_from_body};
use recado_domain::ids::{EventId, ExternalId};
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde::de::{IgnoredAny, MapAccess};
use serde_json::{Map, Value, json};

const NO_INSTANCE: WebhookParseError = WebhookParseError::NotEnvelope { what: "no instance" };

/// Reads the instance name in a body, before the body is trusted: the expected webhook secret is derived from this name.
/// Nothing else of the body is built in memory.
pub fn read_instance_name(body: &[u8]) -> Result<ExternalId, WebhookParseError> {
    let named = extract_from_body(InstanceNamePick, body).map_err(|_| WebhookParseError::NotJson)?;
    named.into_instance().ok_or(NO_INSTANCE)
}

/// An extractor for the instance name of an envelope, with the same result as [`instance_name_in_fields`].
#[derive(Debug, Clone, Copy)]
struct InstanceNamePick;

/// The value of the field `instance`.
#[derive(Debug, Default)]
enum InstanceFieldValue {
    /// A name, or an object that should contain one; `None` if the name is not a valid id.
    Name(Option<ExternalId>),
    /// Neither a text nor an object: then `instanceName` counts.
    #[default]
    Nothing,
}

#[derive(Debug, Default)]
struct EnvelopeNames {
    instance: InstanceFieldValue,
    instance_name: Option<ExternalId>,
}

impl EnvelopeNames {
    fn into_instance(self) -> Option<ExternalId> {
        match self.instance {
            InstanceFieldValue::Name(name) => name,
            InstanceFieldValue::Nothing => self.instance_name,
        }
    }
}

impl JsonExtractor for InstanceNamePick {
    type Found = EnvelopeNames;

    fn extract_object<'de, A: MapAccess<'de>>(self, mut object: A) -> Result<EnvelopeNames, A::Error> {
        let mut names = EnvelopeNames::default();
        while let Some(key) = next_key(&mut object, &["instance", "instanceName"])? {
            match key {
                NextKey::Wanted(0) => names.instance = extract_value(&mut object, InstanceField)?,
                NextKey::Wanted(_) => names.instance_name = extract_value(&mut object, INSTANCE_NAME)?,
                NextKey::Other => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(names)
    }
}

/// Extractor for a name, which must be a text and not a number.
const INSTANCE_NAME: ExternalIdExtractor = ExternalIdExtractor { numbers: false };

/// An extractor for the value of the field `instance`.
#[derive(Debug, Clone, Copy)]
struct InstanceField;

impl JsonExtractor for InstanceField {
    type Found = InstanceFieldValue;

    fn extract_text(self, text: &str) -> Self::Found {
        InstanceFieldValue::Name(INSTANCE_NAME.extract_text(text))
    }

    fn extract_object<'de, A: MapAccess<'de>>(self, object: A) -> Result<Self::Found, A::Error> {
        AtKey("instanceName", INSTANCE_NAME)
            .extract_object(object)
            .map(InstanceFieldValue::Name)
    }
}

/// Parses the content of a message as Evolution stores it.
pub(super) fn parse_stored_content(message: &Value) -> Content {
    content::parse_content(message, None)
}

/// Parses the content of a message as Evolution stores it; `None` if it has none that can be read.
pub(super) fn parse_readable_content(message: &Value, id: &str) -> Option<Content> {
    let content = content::has_content(message).then(|| content::parse_content(message, Some(id)))?;
    (!content.is_unreadable()).then_some(content)
}

/// A webhook body, taken apart.
struct EvolutionEnvelope {
    /// Event name with dots, in lower case.
    event: String,
    instance: ExternalId,
    data: Value,
    /// Server-local time with a false `Z`. It only distinguishes two events of equal content and is never used as a
    /// time.
    date_time: Option<String>,
    /// JID of the instance itself.
    own_jid: Option<String>,
}

impl EvolutionEnvelope {
    /// Reads a body as one of `instance`; if `None`, as one of the instance that the body names.
    fn from_body(body: &[u8], instance: Option<&ExternalId>) -> Result<Self, WebhookParseError> {
        let mut fields = parse_json_object(body)?;
        let instance = match instance {
            Some(instance) => instance.clone(),
            None => instance_name_in_fields(&fields).ok_or(NO_INSTANCE)?,
        };
        let (data, message) = (fields.remove("data"), fields.remove("message"));
        // The queue-worker form has no event; it carries a message as in `messages.upsert`.
        let (event, data) = match (fields.get("event").and_then(Value::as_str), data, message) {
            (Some(event), data, _) => (normalize_event_name(event), data.unwrap_or(Value::Null)),
            (None, _, Some(message)) if message.is_object() => ("messages.upsert".to_owned(), message),
            _ => return Err(WebhookParseError::NotEnvelope { what: "no event" }),
        };
        let fields = Value::Object(fields);
        Ok(Self {
            event,
            instance,
            data,
            date_time: get_text(&fields, "date_time").map(str::to_owned),
            own_jid: get_text(&fields, "sender").map(str::to_owned),
        })
    }

    /// Builds the payload that the processor reads, for one part of the body. The body's `apikey`, a live credential, is
    /// left out. So are `server_url` and `destination`, which differ between two deliveries of one event.
    fn build_payload(&self, data: Value) -> Value {
        let mut payload =
            Map::from_iter([("event".to_owned(), json!(self.event)), ("data".to_owned(), data)]);
        if let Some(date_time) = &self.date_time {
            payload.insert("date_time".to_owned(), json!(date_time));
        }
        Value::Object(payload)
    }

    /// Builds the payload as [`Self::build_payload`] does, with the JID of the instance itself.
    fn build_message_payload(&self, data: Value) -> Value {
        let mut payload = self.build_payload(data);
        if let Some(own) = &self.own_jid {
            payload["sender"] = json!(own);
        }
        payload
    }

    /// Builds an event of the instance, which another one cannot look like.
    fn build_event(
        &self,
        kind: EventKind,
        id: EventId,
        address: Option<ContactAddress>,
        payload: Value,
    ) -> WebhookEvent {
        WebhookEvent {
            id,
            provider: Provider::Evolution,
            external: self.instance.clone(),
            kind,
            address,
            payload,
            lookalike: false,
            file: None,
        }
    }

    fn ignored_item(&self) -> WebhookItem {
        WebhookItem::ignored(sanitize_label(&self.event))
    }

    fn connection_item(&self) -> WebhookItem {
        // Only the state is kept: on `open` the data also has the profile's name, number and picture.
        let mut data = Map::new();
        for key in ["instance", "state", "statusReason"] {
            if let Some(value) = self.data.get(key) {
                data.insert(key.to_owned(), value.clone());
            }
        }
        let payload = self.build_payload(Value::Object(data));
        let kind = EventKind::Connection;
        let id = derive_event_id_from_body(Provider::Evolution, &self.instance, kind, &payload);
        WebhookItem::Event(WebhookEvent {
            lookalike: self.date_time.is_none(),
            ..self.build_event(kind, id, None, payload)
        })
    }
}

fn instance_name_in_fields(fields: &Map<String, Value>) -> Option<ExternalId> {
    let name = match fields.get("instance") {
        Some(Value::String(name)) => name,
        Some(instance @ Value::Object(_)) => get_text(instance, "instanceName")?,
        _ => fields.get("instanceName")?.as_str()?,
    };
    ExternalId::parse(name.trim()).ok()
}

/// Converts an event name to the form in bodies. `MESSAGES_UPSERT` (in the settings), `messages-upsert` (in URLs by
/// event) and `messages.upsert` (in bodies) are one event.
fn normalize_event_name(event: &str) -> String {
    event.trim().to_ascii_lowercase().replace(['_', '-'], ".")
}

/// Splits a body into items of the instance that it names.
pub(crate) fn split_webhook(
    body: &[u8],
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, WebhookParseError> {
    Ok(split_into_items(
        &EvolutionEnvelope::from_body(body, None)?,
        received_at,
    ))
}

/// Splits a body of `instance` into items.
pub(crate) fn split_instance_webhook(
    body: &[u8],
    instance: &ExternalId,
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, WebhookParseError> {
    Ok(split_into_items(
        &EvolutionEnvelope::from_body(body, Some(instance))?,
        received_at,
    ))
}

fn split_into_items(envelope: &EvolutionEnvelope, received_at: Timestamp) -> Vec<WebhookItem> {
    let parts = list_members(Some(&envelope.data));
    let in_order: Vec<&Value> = parts.iter().collect();
    let items: Vec<WebhookItem> = match envelope.event.as_str() {
        "messages.upsert" | "send.message" => {
            read_each_part(&in_order, &|part| message::build_message_item(envelope, part))
        }
        "messages.reaction" => {
            read_each_part(&in_order, &|part| reaction::build_reaction_item(envelope, part))
        }
        "messages.set" => {
            let oldest_first = sort_oldest_first(in_order);
            read_each_part(&oldest_first, &|part| message::build_message_item(envelope, part))
        }
        "messages.update" => read_each_part(&in_order, &|part| {
            status::build_status_item(envelope, part, received_at)
        }),
        "messages.edited" => read_each_part(&in_order, &|part| change::build_edit_item(envelope, part)),
        "messages.delete" => read_each_part(&in_order, &|part| change::build_deletion_item(envelope, part)),
        "connection.update" => vec![envelope.connection_item()],
        "presence.update" => presence::build_typing_items(envelope),
        _ => vec![envelope.ignored_item()],
    };
    if items.is_empty() {
        vec![envelope.ignored_item()]
    } else {
        items
    }
}

fn read_each_part(parts: &[&Value], read: &dyn Fn(&Value) -> ReadItem) -> Vec<WebhookItem> {
    let items = parts.iter().copied().map(read);
    items
        .map(|item| item.unwrap_or_else(WebhookItem::ignored))
        .collect()
}

/// Sorts the messages of a history, which come newest first. Oldest first, a message that was answered on the phone is
/// processed before its answer.
fn sort_oldest_first(mut parts: Vec<&Value>) -> Vec<&Value> {
    parts.sort_by_key(|part| parse_timestamp(part.get("messageTimestamp")));
    parts
}

/// Interprets the payload of an event that [`split_webhook`] built.
pub(crate) fn interpret_event(job: &InboundJob, payload: &Value) -> InboundEvent {
    let read = match (job.kind, get_text(payload, "event")) {
        (EventKind::Message, Some("messages.edited" | "messages.delete")) => {
            change::interpret_change(payload)
        }
        (EventKind::Message, Some("messages.update")) => vote::interpret_vote(payload),
        (EventKind::Message, _) => message::interpret_message(payload),
        (EventKind::Failed, _) => status::interpret_failure(job, payload),
        (EventKind::Connection, _) => Ok(InboundEvent::ConnectionChanged),
    };
    read.unwrap_or_else(InboundEvent::ignored)
}

/// Returns WhatsApp's id of the message: `keyId` in version 2 (whose `messageId` and `id` are a database row's),
/// `key.id` where there is a key, `id` in version 1.
fn find_message_id(part: &Value) -> Option<&str> {
    get_text(part, "keyId")
        .or_else(|| get_text(part.get("key")?, "id"))
        .or_else(|| get_text(part, "id"))
}
