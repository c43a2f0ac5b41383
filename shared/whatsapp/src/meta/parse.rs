//! Reads webhook bodies: `{object, entry: [{id, changes: [{field, value}]}]}`.

mod addressed_numbers;
mod call;
mod contact;
mod content;
mod context;
mod history;
mod message;
mod notice;
mod preference;
mod standby;
mod status;
mod status_detail;
#[cfg(test)]
mod tests;
mod thread_origin;

use crate::wire::json::{
    WebhookParseError, get_scalar_text, get_text, list_members, parse_json_body, sanitize_label,
};
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::event::{EventKind, InboundJob, derive_event_id};
use recado_domain::ids::{EventId, ExternalId};
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

pub(crate) use addressed_numbers::list_named_numbers;
pub use addressed_numbers::{AddressedNumbers, read_addressed_numbers};
pub(crate) use contact::is_user_id;
pub(crate) use content::CONTENT_FIELDS;

/// The source of a body. Other providers pass Meta's bodies on, and some of their bodies name no number.
#[derive(Debug, Clone)]
pub(crate) struct WebhookSource {
    /// Provider that sent the body.
    pub(crate) provider: Provider,
    /// Number that the body is about, if it is known from elsewhere, for example from the URL.
    pub(crate) external: Option<ExternalId>,
    /// Numbers that the proof of the body holds for; `None`: it holds for all.
    pub(crate) trusted: Option<TrustedNumbers>,
}

/// The numbers that the proof of a body holds for. A number with an app of its own is listed, and is spoken for by that
/// app alone.
#[derive(Debug, Clone)]
pub(crate) struct TrustedNumbers {
    /// The numbers with apps of their own, and `true` for those whose app made the proof.
    pub(crate) listed: BTreeMap<ExternalId, bool>,
    /// `true` if the proof holds for the numbers that are not listed.
    pub(crate) others: bool,
    /// `true` if the proof holds for changes that name no number.
    pub(crate) unnamed: bool,
}

impl TrustedNumbers {
    fn include_change(&self, value: &Value) -> bool {
        match read_number(value) {
            Some(number) => self.listed.get(&number).copied().unwrap_or(self.others),
            None => self.unnamed,
        }
    }
}

/// Returns the number that the value of a change names. A change of a thread's holder names it as the recipient.
fn read_number(value: &Value) -> Option<ExternalId> {
    let number = |place| {
        let id = get_scalar_text(value.get(place)?, "phone_number_id")?;
        ExternalId::parse(&id).ok()
    };
    NUMBER_PLACES.into_iter().find_map(number)
}

/// The objects of a value that may name the number, the first of which counts.
const NUMBER_PLACES: [&str; 2] = ["metadata", "recipient"];

impl WebhookSource {
    /// Returns Meta itself as the source.
    pub(crate) fn for_meta() -> Self {
        Self {
            provider: Provider::Meta,
            external: None,
            trusted: None,
        }
    }
}

/// Splits a body that Meta sent. Changes that its proof does not hold for are ignored.
pub(crate) fn split_webhook(
    body: &[u8],
    trusted: Option<TrustedNumbers>,
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, WebhookParseError> {
    let speaker = WebhookSource {
        trusted,
        ..WebhookSource::for_meta()
    };
    Ok(split_root(&speaker, &parse_json_body(body)?, received_at))
}

/// Splits a body into items: up to 1,000 messages and statuses in any number of entries and changes, with different
/// fields side by side.
///
/// Meta repeats a body that was answered with a 4xx for seven days. So an authentic body that cannot be read (even one
/// that is not an object) becomes an ignored item, not an error.
pub(crate) fn split_root(speaker: &WebhookSource, root: &Value, received_at: Timestamp) -> Vec<WebhookItem> {
    let entries = list_members(root.get("entry")).iter();
    let mut items: Vec<WebhookItem> = entries
        .flat_map(|entry| split_entry(speaker, root, entry, received_at))
        .collect();
    if items.is_empty() {
        items.push(WebhookItem::ignored("body without changes"));
    }
    ignore_repeated_events(items)
}

/// What is said of a change that is not the number's own app's.
const UNTRUSTED: &str = "change of a number with another app";

/// Splits one entry: all changes of one account. Only the entry names the account.
fn split_entry(
    speaker: &WebhookSource,
    root: &Value,
    entry: &Value,
    received_at: Timestamp,
) -> Vec<WebhookItem> {
    let changes = list_members(entry.get("changes")).iter();
    let split = changes.flat_map(|change| {
        let value = change.get("value").unwrap_or(&Value::Null);
        let trusted = speaker.trusted.as_ref();
        if trusted.is_some_and(|trusted| !trusted.include_change(value)) {
            return vec![WebhookItem::ignored(UNTRUSTED)];
        }
        let field = detect_field(root, entry, change, value);
        if let Some(notice) = notice::build_notice_item(speaker.provider, entry, &field, value, received_at) {
            return vec![notice];
        }
        let mut items = split_value(speaker, &field, value, received_at);
        if standby::came_unknown(&items) {
            let told = notice::tell_unknown_field(speaker.provider, entry, &field, value, received_at);
            items.extend(told);
        }
        items
    });
    split.collect()
}

/// Splits the value of one change. For on-premise numbers the value is the whole body.
pub(crate) fn split_value(
    speaker: &WebhookSource,
    field: &str,
    value: &Value,
    received_at: Timestamp,
) -> Vec<WebhookItem> {
    let mut items = Vec::new();
    let part = MetaChange {
        speaker,
        value,
        received_at,
    };
    part.split_change(field, &mut items);
    items
}

/// Returns the field of a change. Some bodies write it inside the value, beside `changes` or not at all; without a field
/// it follows from the keys of the value.
fn detect_field(root: &Value, entry: &Value, change: &Value, value: &Value) -> String {
    let written = [change, value, entry, root]
        .into_iter()
        .find_map(|place| get_text(place, "field"));
    let seen = || {
        let has = |key: &str| value.get(key).is_some();
        if has("messages") || has("statuses") {
            "messages"
        } else if has("standby") {
            "standby"
        } else if has("message_echoes") {
            "smb_message_echoes"
        } else if has("history") {
            "history"
        } else if has("calls") {
            "calls"
        } else if has("user_preferences") {
            "user_preferences"
        } else {
            "unknown"
        }
    };
    written.map_or_else(|| seen().to_owned(), str::to_owned)
}

/// Returns `true` if a field is known and not used: groups, contacts of the phone app, events of Meta's own automations.
fn is_unused_field(field: &str) -> bool {
    field.starts_with("group_") || ["smb_app_state_sync", "automatic_events"].contains(&field)
}

/// The value of one change.
struct MetaChange<'a> {
    speaker: &'a WebhookSource,
    value: &'a Value,
    received_at: Timestamp,
}

impl MetaChange<'_> {
    fn split_change(&self, field: &str, items: &mut Vec<WebhookItem>) {
        let (messages, statuses) = match field {
            "messages" => (
                list_members(self.value.get("messages")),
                list_members(self.value.get("statuses")),
            ),
            // The first field is about the phone app, the second about any other program that sends for the number.
            "smb_message_echoes" | "message_echoes" => {
                (list_members(self.value.get("message_echoes")), [].as_slice())
            }
            "history" => return self.split_for_number(field, history::split_history, items),
            "calls" => return self.split_for_number(field, call::split_calls, items),
            "user_preferences" => return self.split_for_number(field, preference::split_preferences, items),
            "standby" => return self.split_for_number(field, standby::split_standby, items),
            "messaging_handovers" => return self.split_for_number(field, standby::split_handover, items),
            other => return self.split_unknown_field(other, items),
        };
        let errors = list_members(self.value.get("errors"));
        if messages.is_empty() && statuses.is_empty() && errors.is_empty() {
            return items.push(WebhookItem::ignored(format!("{field} without messages")));
        }
        for error in errors {
            let code = get_scalar_text(error, "code")
                .filter(|code| code.len() <= 7)
                .unwrap_or_default();
            items.push(WebhookItem::ignored(format!("error {code}").trim_end()));
        }
        let echo = field != "messages";
        let read = |part: &Self, external: &ExternalId| {
            let provider = part.speaker.provider;
            let messages = messages
                .iter()
                .map(|message| message::build_message_item(provider, part.value, external, message, echo));
            let statuses = statuses
                .iter()
                .map(|status| status::build_status_item(provider, external, status, part.received_at));
            let items = messages.chain(statuses);
            items
                .map(|item| item.unwrap_or_else(WebhookItem::ignored))
                .collect()
        };
        self.split_for_number(field, read, items);
    }

    /// Adds the messages of contacts in a field that is not known. If it holds none, an ignored item is added.
    fn split_unknown_field(&self, field: &str, items: &mut Vec<WebhookItem>) {
        let number = self.find_external_id().filter(|_| !is_unused_field(field));
        let found = number.map(|external| standby::split_unknown(self, &external));
        match found.filter(|found| !found.is_empty()) {
            Some(found) => items.extend(found),
            None => items.push(WebhookItem::ignored(sanitize_label(field))),
        }
    }

    /// Adds the items that `read` returns for the value, or an ignored item if the value names no number.
    fn split_for_number(
        &self,
        field: &str,
        read: impl Fn(&Self, &ExternalId) -> Vec<WebhookItem>,
        items: &mut Vec<WebhookItem>,
    ) {
        match self.find_external_id() {
            Some(external) => items.extend(read(self, &external)),
            None => items.push(WebhookItem::ignored(format!("{field} without a phone_number_id"))),
        }
    }

    /// Builds an event of the number that is no message. `name` is what a repetition of it has as well.
    fn build_note_item(
        &self,
        external: &ExternalId,
        name: &str,
        address: ContactAddress,
        payload: Value,
        lookalike: bool,
    ) -> WebhookItem {
        let (provider, kind) = (self.speaker.provider, EventKind::Message);
        WebhookItem::Event(WebhookEvent {
            id: derive_event_id(provider, external, kind, name),
            provider,
            external: external.clone(),
            kind,
            address: Some(address),
            payload,
            lookalike,
            file: None,
        })
    }

    fn find_external_id(&self) -> Option<ExternalId> {
        if let Some(external) = &self.speaker.external {
            return Some(external.clone());
        }
        read_number(self.value)
    }
}

/// Replaces repeated events by ignored items, because Meta sometimes repeats a message within one body.
fn ignore_repeated_events(items: Vec<WebhookItem>) -> Vec<WebhookItem> {
    let mut seen: HashSet<EventId> = HashSet::new();
    items
        .into_iter()
        .map(|item| match item {
            WebhookItem::Event(event) if !seen.insert(event.id.clone()) => {
                WebhookItem::ignored("repeated in the body")
            }
            other => other,
        })
        .collect()
}

/// Interprets the payload of an event that [`split_webhook`] built.
pub(crate) fn interpret_payload(job: &InboundJob, payload: &Value) -> InboundEvent {
    let read = match job.kind {
        EventKind::Message => message::interpret_message(payload),
        EventKind::Failed => status::interpret_failure(job, payload),
        EventKind::Connection => Ok(InboundEvent::ConnectionChanged),
    };
    read.unwrap_or_else(InboundEvent::ignored)
}
