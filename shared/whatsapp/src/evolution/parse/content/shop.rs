//! Reads orders and products of a catalogue.

use super::parse_count;
use crate::wire::json::{get_scalar_text, get_untrimmed_text, parse_integer};
use recado_domain::content::{Content, Order};
use serde_json::Value;

/// Reads an order. WhatsApp tells the number of products and their total price, not the products themselves.
pub(super) fn parse_order(body: &Value) -> Content {
    let total =
        format_price(body, "totalAmount1000", "totalCurrencyCode").map(|total| format!("total {total}"));
    let parts: Vec<String> = [
        get_untrimmed_text(body, "message"),
        get_untrimmed_text(body, "orderTitle"),
        total,
    ]
    .into_iter()
    .flatten()
    .collect();
    Content::Order(Order {
        count: parse_count(body, "itemCount").unwrap_or(0),
        text: (!parts.is_empty()).then(|| parts.join(" | ")),
        ..Order::default()
    })
}

/// Describes a shown product as text: its name, description, price and page, so that the agent can talk about it.
pub(super) fn describe_product(body: &Value) -> Option<Content> {
    let product = body.get("product")?;
    let words: Vec<String> = [
        get_untrimmed_text(body, "body"),
        get_untrimmed_text(product, "title"),
        get_untrimmed_text(product, "description"),
        format_price(product, "priceAmount1000", "currencyCode"),
        get_untrimmed_text(product, "url"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!words.is_empty()).then(|| Content::from_text(words.join("\n")))
}

/// Returns the identifier of a shown product: the shop's own number, or else WhatsApp's, or else the name.
pub(in super::super) fn product_name(body: &Value) -> Option<String> {
    let product = body.get("product")?;
    get_scalar_text(product, "retailerId")
        .or_else(|| get_scalar_text(product, "productId"))
        .or_else(|| get_untrimmed_text(product, "title"))
}

/// Formats an amount in thousandths as `12.50 BRL`; `None` if it is missing or not positive.
pub(super) fn format_price(body: &Value, amount: &str, currency: &str) -> Option<String> {
    let thousandths = parse_integer(body.get(amount)?).filter(|amount| *amount > 0)?;
    let (whole, cents) = (thousandths / 1000, thousandths % 1000 / 10);
    let written = format!("{whole}.{cents:02}");
    Some(match get_untrimmed_text(body, currency) {
        Some(currency) => format!("{written} {currency}"),
        None => written,
    })
}
