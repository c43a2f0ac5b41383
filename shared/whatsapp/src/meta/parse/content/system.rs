//! Reads `system`: WhatsApp's notices about the contact.

use crate::wire::json::{get_text, get_untrimmed_text};
use recado_domain::content::{Content, SystemNote};
use serde_json::Value;

/// Reads a system message. The note's text is the new number or user id, which the pipeline uses, or else WhatsApp's
/// text. A changed number also brings a new user id; the number has priority, if it may be shown.
pub(super) fn read_system_note(body: &Value) -> Content {
    let first = |keys: &[&str]| keys.iter().find_map(|key| get_text(body, key)).map(str::to_owned);
    let (what, known) = match get_text(body, "type") {
        Some("user_changed_number" | "customer_changed_number") => {
            let new = first(&["wa_id", "new_wa_id", "user_id"]);
            (SystemNote::NumberChanged, new)
        }
        Some("user_changed_user_id") => (SystemNote::UserIdChanged, first(&["user_id", "wa_id"])),
        Some("customer_identity_changed" | "user_identity_changed") => (SystemNote::IdentityChanged, None),
        // The oldest bodies have no type.
        None if body.get("new_wa_id").is_some() => (SystemNote::NumberChanged, first(&["new_wa_id"])),
        None if body.get("identity").is_some() => (SystemNote::IdentityChanged, None),
        _ => (SystemNote::Other, None),
    };
    Content::System {
        what,
        text: known.or_else(|| get_untrimmed_text(body, "body")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_change_of_a_contact_is_told_with_its_new_address() {
        let number = "5511900000003";
        for (body, what, words) in [
            (
                json!({"type": "user_changed_number", "wa_id": number, "user_id": "BR.2", "previous_user_id": "BR.1", "body": "mudou"}),
                SystemNote::NumberChanged,
                Some(number),
            ),
            (
                json!({"type": "user_changed_number", "new_wa_id": number}),
                SystemNote::NumberChanged,
                Some(number),
            ),
            (
                json!({"type": "customer_changed_number", "wa_id": number, "customer": "5511900000001"}),
                SystemNote::NumberChanged,
                Some(number),
            ),
            (
                json!({"type": "user_changed_number", "user_id": "BR.2", "previous_user_id": "BR.1"}),
                SystemNote::NumberChanged,
                Some("BR.2"),
            ),
            (
                json!({"type": "user_changed_user_id", "user_id": "BR.2", "previous_user_id": "BR.1"}),
                SystemNote::UserIdChanged,
                Some("BR.2"),
            ),
            (
                json!({"new_wa_id": number}),
                SystemNote::NumberChanged,
                Some(number),
            ),
            (
                json!({"type": "customer_identity_changed", "identity": "h", "body": "código novo"}),
                SystemNote::IdentityChanged,
                Some("código novo"),
            ),
            (json!({"identity": "h"}), SystemNote::IdentityChanged, None),
            (
                json!({"type": "moon_changed", "body": "lua"}),
                SystemNote::Other,
                Some("lua"),
            ),
            (json!(null), SystemNote::Other, None),
        ] {
            let expected = Content::System {
                what,
                text: words.map(str::to_owned),
            };
            assert_eq!(read_system_note(&body), expected, "{body}");
        }
    }
}
