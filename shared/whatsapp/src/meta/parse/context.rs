//! Reads `context` and `referral`: the message that is answered, and the advertisement or post that the person came
//! from.

use super::content;
use crate::wire::json::{get_scalar_text, get_text};
use recado_domain::context::{MessageContext, QuotedMessage, Referral};
use serde_json::Value;

pub(super) fn read_context(message: &Value) -> MessageContext {
    let none = Value::Null;
    let context = message.get("context").unwrap_or(&none);
    let flag = |key: &str| context.get(key).and_then(Value::as_bool).unwrap_or(false);
    let asked_about = context
        .get("referred_product")
        .and_then(|product| get_scalar_text(product, "product_retailer_id"));
    let passed_on = || message.get("interactive").and_then(content::find_product_id);
    MessageContext {
        // The context of a forwarded message has no id.
        reply_to: get_text(context, "id").map(|id| QuotedMessage {
            id: Some(id.to_owned()),
            text: None,
            message: None,
        }),
        forwarded: flag("forwarded"),
        frequently_forwarded: flag("frequently_forwarded"),
        referral: message
            .get("referral")
            .filter(|referral| referral.is_object())
            .map(read_referral)
            .filter(|referral| *referral != Referral::default()),
        product: asked_about.or_else(passed_on),
        by_other_agent: false,
        mentions: Vec::new(),
        chosen: None,
        refers_to: None,
    }
}

fn read_referral(referral: &Value) -> Referral {
    let owned = |key: &str| get_scalar_text(referral, key);
    Referral {
        kind: owned("source_type"),
        id: owned("source_id"),
        url: owned("source_url"),
        headline: owned("headline"),
        body: owned("body"),
        click: owned("ctwa_clid"),
        media_type: owned("media_type"),
        media_url: ["image_url", "video_url", "thumbnail_url"]
            .into_iter()
            .find_map(owned),
        welcome_message: referral
            .get("welcome_message")
            .and_then(|message| get_scalar_text(message, "text")),
    }
}
