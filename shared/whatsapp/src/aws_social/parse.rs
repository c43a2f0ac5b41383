//! Reads AWS's events, which are JSON inside JSON inside JSON. The body of a queue message is SNS's envelope, or AWS's
//! event itself if SNS delivers raw messages. The envelope's `Message` is AWS's event. The event's
//! `whatsAppWebhookEntry` is one entry of a Meta webhook, as text.

use super::verify::AllowedTopics;
use crate::meta::parse::{WebhookSource, split_root};
use crate::wire::json::{
    WebhookParseError, get_scalar_text, get_text, list_members, parse_json_object, parse_lenient_json,
};
use jiff::Timestamp;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Splits the body of a queue message into items. A number gets AWS's id, which the event's `context` maps to Meta's; if
/// the `context` does not list the number, it keeps Meta's id.
///
/// On an error the queue keeps the message: unlike with a webhook, there is no sender who could be told.
pub fn split_queue_message(
    body: &[u8],
    topics: &AllowedTopics,
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, WebhookParseError> {
    let outer = Value::Object(parse_json_object(body)?);
    let event = match get_text(&outer, "Type") {
        Some("Notification") => {
            check_topic(topics, get_text(&outer, "TopicArn"))?;
            let message =
                get_text(&outer, "Message").ok_or(not_envelope_error("a notification without a message"))?;
            Value::Object(parse_json_object(message.as_bytes())?)
        }
        // SNS asks the queue to confirm a subscription. AWS confirms it by itself when the subscription is set up.
        Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => {
            return Ok(vec![WebhookItem::ignored("subscription to a topic")]);
        }
        _ => {
            check_topic(topics, None)?;
            outer
        }
    };
    // EventBridge reports the same events too, but without their content and without a delivery guarantee.
    if event.get("detail-type").is_some() {
        return Ok(vec![WebhookItem::ignored("event of EventBridge")]);
    }
    let mut entry = read_meta_entry(&event)?;
    let ids = map_number_ids(&event);
    for change in list_members_mut(entry.get_mut("changes")) {
        replace_number_id(change, &ids);
    }
    let speaker = WebhookSource {
        provider: Provider::AwsSocial,
        external: None,
        trusted: None,
    };
    let mut items = split_root(&speaker, &json!({ "entry": [entry] }), received_at);
    ignore_foreign_notices(&mut items, &read_account_ids(&event));
    Ok(items)
}

/// Returns the ids of the WhatsApp Business accounts that AWS names in the event's `context`.
fn read_account_ids(event: &Value) -> HashSet<String> {
    let accounts = event
        .get("context")
        .and_then(|context| context.get("MetaWabaIds"));
    let ids = list_members(accounts)
        .iter()
        .map(|account| get_scalar_text(account, "wabaId"));
    ids.flatten().collect()
}

/// Replaces notices about other accounts by ignored items. The entry inside is Meta's text and may name any account: a
/// notice counts only if AWS itself names its account.
fn ignore_foreign_notices(items: &mut [WebhookItem], accounts: &HashSet<String>) {
    for item in items {
        if let WebhookItem::Notice { notice, .. } = item
            && !accounts.contains(&notice.account)
        {
            *item = WebhookItem::ignored("notice of an account that AWS does not name");
        }
    }
}

fn not_envelope_error(what: &'static str) -> WebhookParseError {
    WebhookParseError::NotEnvelope { what }
}

fn check_topic(topics: &AllowedTopics, topic: Option<&str>) -> Result<(), WebhookParseError> {
    if topics.allows_topic(topic) {
        Ok(())
    } else {
        Err(not_envelope_error(TOPIC_NOT_ALLOWED))
    }
}

const TOPIC_NOT_ALLOWED: &str = "its topic is not one of ours";

/// Returns `true` if an event was refused only because its topic is not allowed. The operator may still allow that
/// topic.
pub fn is_topic_not_allowed(error: &WebhookParseError) -> bool {
    matches!(error, WebhookParseError::NotEnvelope { what } if *what == TOPIC_NOT_ALLOWED)
}

fn read_meta_entry(event: &Value) -> Result<Value, WebhookParseError> {
    let read = match event.get("whatsAppWebhookEntry") {
        Some(Value::String(text)) => {
            parse_lenient_json(text.as_bytes()).map_err(|_| WebhookParseError::NotJson)?
        }
        Some(written_out) => written_out.clone(),
        None => return Err(not_envelope_error("no whatsAppWebhookEntry")),
    };
    if read.is_object() {
        Ok(read)
    } else {
        Err(not_envelope_error("whatsAppWebhookEntry is no entry"))
    }
}

/// Maps Meta's phone number ids to AWS's, as the event's `context` lists them.
fn map_number_ids(event: &Value) -> HashMap<String, String> {
    let numbers = event
        .get("context")
        .and_then(|context| context.get("MetaPhoneNumberIds"));
    list_members(numbers)
        .iter()
        .filter_map(|number| {
            let (_, id) = get_text(number, "arn")?.rsplit_once('/')?;
            let fine = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
            fine.then(|| Some((get_scalar_text(number, "metaPhoneNumberId")?, id.to_owned())))?
        })
        .collect()
}

fn list_members_mut(value: Option<&mut Value>) -> &mut [Value] {
    match value {
        Some(Value::Array(members)) => members,
        Some(one) => std::slice::from_mut(one),
        None => &mut [],
    }
}

fn replace_number_id(change: &mut Value, ids: &HashMap<String, String>) {
    let Some(metadata) = change
        .get_mut("value")
        .and_then(|value| value.get_mut("metadata"))
        .filter(|metadata| metadata.is_object())
    else {
        return;
    };
    let known = get_scalar_text(metadata, "phone_number_id").and_then(|id| ids.get(&id));
    if let Some(id) = known {
        metadata["phone_number_id"] = json!(id);
    }
}

#[cfg(test)]
mod tests;
