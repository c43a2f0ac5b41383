//! Events: JSON in JSON in JSON. A queue message's body is SNS's envelope (or, delivered raw, what that holds), its
//! `Message` is AWS's event, and `whatsAppWebhookEntry` there is one entry of Meta's, as text.

use super::verify::Topics;
use crate::ParseError;
use crate::json::{list, object_of, parsed, scalar, text};
use crate::meta::parse::{Speaker, split_root};
use jiff::Timestamp;
use recado_domain::inbound::WebhookItem;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Splits the body of a queue message into items. A number is called by AWS's id, which `context` gives for Meta's; by
/// Meta's where it does not.
///
/// An error is for the queue to keep: unlike a webhook, nobody is told of it.
pub fn split(body: &[u8], topics: &Topics, received_at: Timestamp) -> Result<Vec<WebhookItem>, ParseError> {
    let outer = Value::Object(object_of(body)?);
    let event = match text(&outer, "Type") {
        Some("Notification") => {
            allowed(topics, text(&outer, "TopicArn"))?;
            let message = text(&outer, "Message").ok_or(not("a notification without a message"))?;
            Value::Object(object_of(message.as_bytes())?)
        }
        // Asks whether the queue wants to be subscribed: AWS itself says yes when that is set up.
        Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => {
            return Ok(ignored("subscription to a topic"));
        }
        _ => {
            allowed(topics, None)?;
            outer
        }
    };
    // EventBridge tells of the same events, without their content and only if it can.
    if event.get("detail-type").is_some() {
        return Ok(ignored("event of EventBridge"));
    }
    let mut entry = entry(&event)?;
    let ids = ids(&event);
    for change in members(entry.get_mut("changes")) {
        rename(change, &ids);
    }
    let speaker = Speaker {
        provider: crate::aws_social::NAME,
        external: None,
    };
    let mut items = split_root(&speaker, &json!({ "entry": [entry] }), received_at);
    confine(&mut items, &accounts(&event));
    Ok(items)
}

/// The accounts that AWS says the event is about.
fn accounts(event: &Value) -> HashSet<String> {
    let accounts = event
        .get("context")
        .and_then(|context| context.get("MetaWabaIds"));
    let ids = list(accounts).iter().map(|account| scalar(account, "wabaId"));
    ids.flatten().collect()
}

/// The entry inside is Meta's text, which may name any account: a notice counts only of those that AWS names.
fn confine(items: &mut [WebhookItem], accounts: &HashSet<String>) {
    for item in items {
        if let WebhookItem::Notice { notice, .. } = item
            && !accounts.contains(&notice.account)
        {
            *item = WebhookItem::Ignored {
                what: "notice of an account that AWS does not name".to_owned(),
            };
        }
    }
}

fn not(what: &'static str) -> ParseError {
    ParseError::NotEnvelope { what }
}

fn allowed(topics: &Topics, topic: Option<&str>) -> Result<(), ParseError> {
    if topics.allow(topic) {
        Ok(())
    } else {
        Err(not(ANOTHER_TOPIC))
    }
}

const ANOTHER_TOPIC: &str = "its topic is not one of ours";

/// Whether an event was refused for its topic alone, which may be set up yet.
pub fn is_of_another_topic(error: &ParseError) -> bool {
    matches!(error, ParseError::NotEnvelope { what } if *what == ANOTHER_TOPIC)
}

fn ignored(what: &str) -> Vec<WebhookItem> {
    vec![WebhookItem::Ignored {
        what: what.to_owned(),
    }]
}

fn entry(event: &Value) -> Result<Value, ParseError> {
    let read = match event.get("whatsAppWebhookEntry") {
        Some(Value::String(text)) => parsed(text.as_bytes()).map_err(|_| ParseError::NotJson)?,
        Some(written_out) => written_out.clone(),
        None => return Err(not("no whatsAppWebhookEntry")),
    };
    if read.is_object() {
        Ok(read)
    } else {
        Err(not("whatsAppWebhookEntry is no entry"))
    }
}

/// AWS's ids by Meta's.
fn ids(event: &Value) -> HashMap<String, String> {
    let numbers = event
        .get("context")
        .and_then(|context| context.get("MetaPhoneNumberIds"));
    list(numbers)
        .iter()
        .filter_map(|number| {
            let (_, id) = text(number, "arn")?.rsplit_once('/')?;
            let fine = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
            fine.then(|| Some((scalar(number, "metaPhoneNumberId")?, id.to_owned())))?
        })
        .collect()
}

fn members(value: Option<&mut Value>) -> &mut [Value] {
    match value {
        Some(Value::Array(members)) => members,
        Some(one) => std::slice::from_mut(one),
        None => &mut [],
    }
}

fn rename(change: &mut Value, ids: &HashMap<String, String>) {
    let Some(metadata) = change
        .get_mut("value")
        .and_then(|value| value.get_mut("metadata"))
        .filter(|metadata| metadata.is_object())
    else {
        return;
    };
    let known = scalar(metadata, "phone_number_id").and_then(|id| ids.get(&id));
    if let Some(id) = known {
        metadata["phone_number_id"] = json!(id);
    }
}

#[cfg(test)]
mod tests;
