//! Reads contact cards.

use crate::wire::json::{get_scalar_text, get_untrimmed_text, list_members};
use recado_domain::content::ContactCard;
use serde_json::Value;

/// Reads a contact card; `None` for an empty one. A card that a person shared on request has a number and no name, and
/// may consist of a vCard only.
pub(super) fn read_contact_card(card: &Value) -> Option<ContactCard> {
    let vcard = get_untrimmed_text(card, "vcard").unwrap_or_default();
    let name = read_card_name(card).or_else(|| read_vcard_lines(&vcard, "FN").into_iter().next());
    let phone = |phone: &Value| get_scalar_text(phone, "phone").or_else(|| get_scalar_text(phone, "wa_id"));
    let phones: Vec<String> = list_members(card.get("phones"))
        .iter()
        .filter_map(phone)
        .collect();
    let emails = list_members(card.get("emails")).iter();
    let read = ContactCard {
        name: name.unwrap_or_default(),
        phones: if phones.is_empty() {
            read_vcard_lines(&vcard, "TEL")
        } else {
            phones
        },
        emails: emails
            .filter_map(|email| get_untrimmed_text(email, "email"))
            .collect(),
        organization: card.get("org").and_then(|org| get_untrimmed_text(org, "company")),
    };
    (read != ContactCard::default()).then_some(read)
}

fn read_card_name(card: &Value) -> Option<String> {
    let name = card.get("name")?;
    let parts = ["first_name", "last_name"]
        .into_iter()
        .filter_map(|part| get_untrimmed_text(name, part));
    let parts: Vec<String> = parts.collect();
    get_untrimmed_text(name, "formatted_name").or_else(|| (!parts.is_empty()).then(|| parts.join(" ")))
}

/// Returns the values of a vCard's lines of one kind: `TEL;type=CELL:+55 …`, `item1.TEL:…`.
fn read_vcard_lines(vcard: &str, kind: &str) -> Vec<String> {
    let value = |line: &str| {
        let (before, value) = line.split_once(':')?;
        let named = before.split(';').next()?;
        let named = named.rsplit('.').next()?;
        let value = value.trim();
        (named.eq_ignore_ascii_case(kind) && !value.is_empty()).then(|| value.to_owned())
    };
    vcard.lines().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_card_has_all_that_is_told_of_a_person() {
        let full = json!({"name": {"formatted_name": "Dra. Ana Exemplo"}, "org": {"company": "Clínica Exemplo"},
            "phones": [{"phone": "+55 11 90000-0002", "wa_id": "5511900000002"}, {"wa_id": "5511900000003"}],
            "emails": [{"email": "ana@exemplo.example"}]});
        let expected = ContactCard {
            name: "Dra. Ana Exemplo".to_owned(),
            phones: vec!["+55 11 90000-0002".to_owned(), "5511900000003".to_owned()],
            emails: vec!["ana@exemplo.example".to_owned()],
            organization: Some("Clínica Exemplo".to_owned()),
        };
        assert_eq!(read_contact_card(&full), Some(expected));
    }

    #[test]
    fn a_shared_number_comes_without_a_name_and_perhaps_as_a_vcard_only() {
        let number =
            read_contact_card(&json!({"vcard": "x", "phones": [{"phone": "+55 11 90000-0002"}]})).unwrap();
        assert_eq!(
            (number.name.as_str(), &*number.phones),
            ("", &["+55 11 90000-0002".to_owned()][..])
        );
        let vcard = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ana Exemplo\r\nitem1.TEL;waid=5511900000002:+55 11 90000-0002\r\nEND:VCARD";
        let card = read_contact_card(&json!({ "vcard": vcard })).unwrap();
        assert_eq!(
            (card.name.as_str(), &*card.phones),
            ("Ana Exemplo", &["+55 11 90000-0002".to_owned()][..])
        );
        assert_eq!(read_contact_card(&json!({"vcard": "x", "phones": []})), None);
        let parts = json!({"name": {"first_name": "Ana", "last_name": "Exemplo"}});
        assert_eq!(read_contact_card(&parts).unwrap().name, "Ana Exemplo");
    }
}
