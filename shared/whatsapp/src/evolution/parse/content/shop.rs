//! Orders and products of a catalogue.

use super::count;
use crate::json::{integer, prose, scalar};
use recado_domain::content::{Content, Order};
use serde_json::Value;

/// An order, of which WhatsApp tells how many products it holds and what they cost together, not what they are.
pub(super) fn order(body: &Value) -> Content {
    let total = price(body, "totalAmount1000", "totalCurrencyCode").map(|total| format!("total {total}"));
    let parts: Vec<String> = [prose(body, "message"), prose(body, "orderTitle"), total]
        .into_iter()
        .flatten()
        .collect();
    Content::Order(Order {
        count: count(body, "itemCount").unwrap_or(0),
        text: (!parts.is_empty()).then(|| parts.join(" | ")),
        ..Order::default()
    })
}

/// A product that somebody shows: its name, description, price and page in words, so that it can be talked about.
pub(super) fn product(body: &Value) -> Option<Content> {
    let product = body.get("product")?;
    let words: Vec<String> = [
        prose(body, "body"),
        prose(product, "title"),
        prose(product, "description"),
        price(product, "priceAmount1000", "currencyCode"),
        prose(product, "url"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!words.is_empty()).then(|| Content::text(words.join("\n")))
}

/// By what a shown product is known: the shop's own number, WhatsApp's, or its name.
pub(in super::super) fn product_name(body: &Value) -> Option<String> {
    let product = body.get("product")?;
    scalar(product, "retailerId")
        .or_else(|| scalar(product, "productId"))
        .or_else(|| prose(product, "title"))
}

/// An amount in thousandths, as `12.50 BRL`.
fn price(body: &Value, amount: &str, currency: &str) -> Option<String> {
    let thousandths = integer(body.get(amount)?).filter(|amount| *amount > 0)?;
    let (whole, cents) = (thousandths / 1000, thousandths % 1000 / 10);
    let written = format!("{whole}.{cents:02}");
    Some(match prose(body, currency) {
        Some(currency) => format!("{written} {currency}"),
        None => written,
    })
}
