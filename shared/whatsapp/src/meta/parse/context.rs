//! `context` and `referral`: what a message answers, and where the person comes from.

use super::content;
use crate::json::{scalar, text};
use recado_domain::context::{Context, Quoted, Referral};
use serde_json::Value;

/// Reads what stands around a message.
pub(super) fn read(message: &Value) -> Context {
    let none = Value::Null;
    let context = message.get("context").unwrap_or(&none);
    let flag = |key: &str| context.get(key).and_then(Value::as_bool).unwrap_or(false);
    let asked_about = context
        .get("referred_product")
        .and_then(|product| scalar(product, "product_retailer_id"));
    let passed_on = || message.get("interactive").and_then(content::product);
    Context {
        // What was forwarded has no id.
        reply_to: text(context, "id").map(|id| Quoted {
            id: Some(id.to_owned()),
            text: None,
        }),
        forwarded: flag("forwarded"),
        frequently_forwarded: flag("frequently_forwarded"),
        referral: message
            .get("referral")
            .filter(|referral| referral.is_object())
            .map(referral)
            .filter(|referral| *referral != Referral::default()),
        product: asked_about.or_else(passed_on),
        mentions: Vec::new(),
    }
}

fn referral(referral: &Value) -> Referral {
    let owned = |key: &str| scalar(referral, key);
    Referral {
        kind: owned("source_type"),
        id: owned("source_id"),
        url: owned("source_url"),
        headline: owned("headline"),
        body: owned("body"),
        click: owned("ctwa_clid"),
    }
}
