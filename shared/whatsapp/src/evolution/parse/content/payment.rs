//! Reads the buttons of payments: a Pix key that somebody shares, an order that is to be paid.

use crate::wire::json::{get_scalar_text, get_text, get_untrimmed_text, list_members, parse_integer};
use serde_json::Value;

/// Names of the fields that tell how to pay, in the order in which they are shown.
const WAYS: [&str; 6] = [
    "merchant_name",
    "key_type",
    "key",
    "code",
    "uri",
    "digitable_line",
];

/// Describes what a button asks to pay, and how, by its parameters; `None` for a button of another kind.
pub(super) fn describe_payment_button(given: &Value) -> Option<String> {
    let currency = get_untrimmed_text(given, "currency");
    let price = |of: &Value, field: &str| format_amount(of.get(field)?, currency.as_deref());
    let items = given.get("order").and_then(|order| order.get("items"));
    let items = list_members(items).iter().filter_map(|item| {
        let name = get_untrimmed_text(item, "name")?;
        let quantity = get_scalar_text(item, "quantity").map(|quantity| format!("{quantity} x "));
        let of_item = price(item, "amount").map(|price| format!(" at {price}"));
        Some(quantity.unwrap_or_default() + &name + &of_item.unwrap_or_default())
    });
    let total = price(given, "total_amount").map(|total| format!("total {total}"));
    let ways = list_members(given.get("payment_settings"))
        .iter()
        .filter_map(describe_way);
    let lines: Vec<String> = items.chain(total).chain(ways).collect();
    (!lines.is_empty()).then(|| format!("[payment] {}", lines.join("\n")))
}

/// Describes one way to pay, such as `Pix: Ana Souza, EMAIL, ana@pix.example`.
fn describe_way(setting: &Value) -> Option<String> {
    let kind = get_text(setting, "type")?;
    let told = setting.get(kind)?;
    let words = WAYS.iter().filter_map(|field| get_untrimmed_text(told, field));
    let words: Vec<String> = words.collect();
    let label = match kind {
        "boleto" => "Boleto",
        kind if kind.starts_with("pix") => "Pix",
        _ => "to pay",
    };
    (!words.is_empty()).then(|| format!("{label}: {}", words.join(", ")))
}

/// Formats an amount: its value counts parts of the currency, of which `offset` are one.
fn format_amount(amount: &Value, currency: Option<&str>) -> Option<String> {
    let value = parse_integer(amount.get("value")?).filter(|value| *value > 0)?;
    let written = match amount.get("offset").and_then(parse_integer) {
        Some(100) => format!("{}.{:02}", value / 100, value % 100),
        Some(1_000) => format!("{}.{:03}", value / 1_000, value % 1_000),
        _ => value.to_string(),
    };
    Some(match currency {
        Some(currency) => format!("{written} {currency}"),
        None => written,
    })
}
