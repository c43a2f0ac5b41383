//! Reads the details of a status: pricing, the conversation that was charged, errors.

use super::super::errors::safe_error_title;
use crate::wire::error_title::mask_error_title;
use crate::wire::json::{get_text, list_members, parse_integer, parse_timestamp};
use recado_domain::country::Country;
use recado_domain::delivery::{ChargedConversation, Pricing, StatusDetail, StatusError};
use serde_json::Value;

/// Limit on the errors that are kept of a status.
const ERRORS_MAX: usize = 5;

/// Reads the details. `country` is that of the recipient.
pub(super) fn read_status_detail(status: &Value, country: Option<Country>) -> StatusDetail {
    let object = |key: &str| status.get(key).filter(|value| value.is_object());
    StatusDetail {
        pricing: object("pricing").map(|pricing| read_pricing(pricing, country)),
        conversation: object("conversation").map(read_charged_conversation),
        errors: list_members(status.get("errors"))
            .iter()
            .take(ERRORS_MAX)
            .map(read_status_error)
            .collect(),
    }
}

fn read_pricing(pricing: &Value, country: Option<Country>) -> Pricing {
    Pricing {
        billable: pricing.get("billable").and_then(Value::as_bool),
        model: read_safe_word(pricing, "pricing_model"),
        kind: read_safe_word(pricing, "type"),
        category: read_safe_word(pricing, "category"),
        country,
    }
}

fn read_charged_conversation(conversation: &Value) -> ChargedConversation {
    ChargedConversation {
        id: read_safe_word(conversation, "id"),
        origin: conversation
            .get("origin")
            .and_then(|origin| read_safe_word(origin, "type")),
        expires: parse_timestamp(conversation.get("expiration_timestamp")),
    }
}

fn read_status_error(error: &Value) -> StatusError {
    StatusError {
        code: error.get("code").and_then(parse_integer),
        title: safe_error_title(error),
        details: read_error_details(error),
    }
}

/// Returns Meta's details of an error, masked. Older bodies have the details beside the code. `None` if they only repeat
/// the title.
pub(super) fn read_error_details(error: &Value) -> Option<String> {
    let data = error.get("error_data").unwrap_or(error);
    let said = get_text(data, "details").or_else(|| get_text(error, "details"))?;
    Some(mask_error_title(said))
        .filter(|masked| !masked.is_empty() && get_text(error, "title") != Some(masked))
}

/// Returns a constant of Meta's: at most 64 letters, digits, `_` and `-`; `None` for any other text.
fn read_safe_word(value: &Value, key: &str) -> Option<String> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    get_text(value, key)
        .filter(|word| word.len() <= 64 && word.chars().all(fine))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis;
    use serde_json::json;

    #[test]
    fn a_price_and_its_conversation_are_kept_in_metas_words() {
        let told = read_status_detail(
            &json!({"status": "sent",
            "pricing": {"billable": true, "pricing_model": "PMP", "type": "free_entry_point", "category": "authentication-international"},
            "conversation": {"id": "0123456789abcdef", "expiration_timestamp": "1760000000", "origin": {"type": "referral_conversion"}}}),
            Country::parse("BR"),
        );
        let pricing = told.pricing.unwrap();
        assert_eq!(
            (pricing.billable, pricing.model.as_deref()),
            (Some(true), Some("PMP"))
        );
        assert_eq!(pricing.kind.as_deref(), Some("free_entry_point"));
        assert_eq!(pricing.category.as_deref(), Some("authentication-international"));
        assert_eq!(pricing.country, Country::parse("BR"));
        let conversation = told.conversation.unwrap();
        assert_eq!(conversation.id.as_deref(), Some("0123456789abcdef"));
        assert_eq!(conversation.origin.as_deref(), Some("referral_conversion"));
        assert_eq!(
            conversation.expires,
            Some(millis::from_unix_millis(1_760_000_000_000))
        );
    }

    #[test]
    fn without_billable_and_conversation_there_is_what_there_is() {
        assert!(read_status_detail(&json!({"status": "sent"}), Country::parse("BR")).is_empty());
        let told = read_status_detail(
            &json!({"pricing": {"category": "service", "type": null}, "conversation": null}),
            None,
        );
        assert_eq!(told.pricing.unwrap().billable, None);
        assert_eq!(told.conversation, None);
    }

    #[test]
    fn errors_are_kept_without_what_could_name_somebody() {
        let told = read_status_detail(
            &json!({"errors": [
                {"code": 131_026, "title": "Message undeliverable", "error_data": {"details": "to 5511900000001 at https://x.example"}},
                {"code": "131047", "title": "x", "details": "too late"},
                {"title": "No 5511900000001"},
            ]}),
            None,
        );
        let [first, second, third] = &*told.errors else {
            panic!("{told:?}")
        };
        assert_eq!(
            (first.code, first.title.as_str()),
            (Some(131_026), "undeliverable")
        );
        assert_eq!(first.details.as_deref(), Some("to *** at ***"));
        assert_eq!(
            (second.code, second.details.as_deref()),
            (Some(131_047), Some("too late"))
        );
        assert_eq!(
            (third.code, third.title.as_str(), &third.details),
            (None, "No ***", &None)
        );
    }
}
