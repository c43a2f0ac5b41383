//! Reads contact cards: a name and a vCard (versions 2.1 to 4).

use crate::wire::json::{get_untrimmed_text, list_members};
use recado_domain::content::{ContactCard, Content};
use serde_json::Value;

/// Reads one or several contact cards; `None` if there is none.
pub(super) fn parse_contact_cards(body: &Value) -> Option<Content> {
    let bodies = match body.get("contacts") {
        Some(_) => list_members(body.get("contacts")),
        None => std::slice::from_ref(body),
    };
    let contacts: Vec<ContactCard> = bodies.iter().filter_map(parse_contact_card).collect();
    (!contacts.is_empty()).then_some(Content::Contacts { contacts })
}

fn parse_contact_card(body: &Value) -> Option<ContactCard> {
    let mut card = body
        .get("vcard")
        .and_then(Value::as_str)
        .map(parse_vcard)
        .unwrap_or_default();
    if let Some(name) = get_untrimmed_text(body, "displayName") {
        name.trim().clone_into(&mut card.name);
    }
    let empty = card == ContactCard::default();
    (!empty).then_some(card)
}

/// Reads a vCard. Lines that cannot be parsed are skipped, because phones do not follow the standard strictly.
fn parse_vcard(vcard: &str) -> ContactCard {
    let mut card = ContactCard::default();
    let (mut parts_of_name, mut business_name) = (None, None);
    for line in unfold_lines(vcard) {
        let Some((head, value)) = split_property_head(&line) else {
            continue;
        };
        let mut parameters = head.split(';');
        // In `item1.TEL` the group `item1` is not needed.
        let name = parameters.next().unwrap_or_default();
        let name = name.rsplit('.').next().unwrap_or_default().to_ascii_uppercase();
        let settings = head.to_ascii_uppercase();
        let value = if settings.contains("QUOTED-PRINTABLE") {
            let bytes = decode_quoted_printable(value);
            // Old phones write their cards in Latin-1, or in Windows' extension of it.
            if ["8859-1", "1252", "LATIN1"]
                .iter()
                .any(|set| settings.contains(set))
            {
                bytes.into_iter().map(char::from).collect()
            } else {
                String::from_utf8_lossy(&bytes).into_owned()
            }
        } else {
            value.to_owned()
        };
        match name.as_str() {
            "FN" => card.name = unescape_value(&value),
            // A business shows this name in place of its card's.
            "X-WA-BIZ-NAME" => business_name = Some(unescape_value(&value)).filter(|name| !name.is_empty()),
            "N" => parts_of_name = Some(value),
            "TEL" => {
                let waid = parameters.find_map(|parameter| {
                    let (name, digits) = parameter.split_once('=')?;
                    name.eq_ignore_ascii_case("waid").then(|| digits.to_owned())
                });
                let written = unescape_value(value.strip_prefix("tel:").unwrap_or(&value));
                push_unique(
                    &mut card.phones,
                    if written.is_empty() { waid } else { Some(written) },
                );
            }
            "EMAIL" => push_unique(&mut card.emails, Some(unescape_value(&value))),
            "ORG" if card.organization.is_none() => {
                let units: Vec<String> = split_fields(&value).collect();
                card.organization = (!units.is_empty()).then(|| units.join(", "));
            }
            _ => {}
        }
    }
    if let Some(parts) = parts_of_name.filter(|_| card.name.is_empty()) {
        card.name = format_spoken_name(&parts);
    }
    if card.name.is_empty() {
        card.name = business_name.unwrap_or_default();
    } else if card.organization.is_none() {
        card.organization = business_name.filter(|name| *name != card.name);
    }
    card
}

/// Splits a line into its name with parameters, and its value, at the first colon outside quotation marks.
fn split_property_head(line: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let colon = line.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == ':' && !quoted
    });
    let (at, _) = colon?;
    Some((&line[..at], &line[at + 1..]))
}

/// Returns the lines with folded ones joined. A line that begins with a space or tab continues the line before. So does the line
/// after a quoted-printable one with `=` at its end, which stands for the break.
fn unfold_lines(vcard: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // A lone carriage return ends a line, too.
    for line in vcard.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (rest, Some(last)) if has_soft_break(last) => {
                last.pop();
                last.push_str(rest.unwrap_or(line));
            }
            (Some(rest), Some(last)) => last.push_str(rest),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// Greatest length of a property's name with its parameters, where a line goes on.
const HEAD_MAX: usize = 200;

/// Returns `true` for a quoted-printable line that goes on in the next one.
fn has_soft_break(line: &str) -> bool {
    // A property's name and parameters are short, and a joined line may be long.
    let colon = line.bytes().take(HEAD_MAX).position(|byte| byte == b':');
    line.ends_with('=')
        && colon.is_some_and(|colon| line[..colon].to_ascii_uppercase().contains("QUOTED-PRINTABLE"))
}

/// Removes the escapes and the surrounding space of a value.
fn unescape_value(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some('n' | 'N') | None => text.push(' '),
                Some(escaped) => text.push(escaped),
            },
            other => text.push(other),
        }
    }
    text.trim().to_owned()
}

/// Splits a value at semicolons that are not escaped, and returns the parts that are not empty.
fn split_fields(value: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in value.chars() {
        if c == ';' && !escaped {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    parts
        .into_iter()
        .map(|part| unescape_value(&part))
        .filter(|part| !part.is_empty())
}

/// Formats `Exemplo;Ana;;Dra.;` (surname, name, more names, title, suffix) in the spoken order: `Dra. Ana Exemplo`.
fn format_spoken_name(name: &str) -> String {
    let parts: Vec<String> = name.split(';').map(unescape_value).collect();
    let ordered: Vec<&str> = [3, 1, 2, 0, 4]
        .into_iter()
        .filter_map(|at| parts.get(at).map(String::as_str))
        .filter(|part| !part.is_empty())
        .collect();
    ordered.join(" ")
}

fn decode_quoted_printable(value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'=' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()].map(|digit| digit.and_then(|d| char::from(d).to_digit(16)));
        if let [Some(high), Some(low)] = digits {
            // Two hexadecimal digits always fit into a byte.
            bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
        }
    }
    bytes
}

/// Greatest number of phones, and of e-mail addresses, that are read of one card. Each is compared with those before it.
const VALUES_MAX: usize = 100;

fn push_unique(values: &mut Vec<String>, value: Option<String>) {
    if values.len() == VALUES_MAX {
        return;
    }
    if let Some(value) = value.filter(|value| !value.is_empty() && !values.contains(value)) {
        values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_numbers_addresses_and_employers_are_read_from_a_vcard() {
        let card = parse_vcard(
            "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Exemplo;Ana;;Dra.;\r\nFN:Dra. Ana Exemplo\r\n\
             item1.TEL;type=CELL;waid=5511900000001:+55 11 90000-0001\r\nitem1.X-ABLabel:Celular\r\n\
             TEL;TYPE=\"work:main\":+55 11 3000-0001\r\nEMAIL;type=INTERNET:ana@\r\n example.org\r\n\
             ORG:Clínica Exemplo\\; Filhos;Odontologia\r\nEND:VCARD",
        );
        assert_eq!(card.name, "Dra. Ana Exemplo");
        assert_eq!(card.phones, ["+55 11 90000-0001", "+55 11 3000-0001"]);
        assert_eq!(card.emails, ["ana@example.org"]);
        assert_eq!(
            card.organization.as_deref(),
            Some("Clínica Exemplo; Filhos, Odontologia")
        );
    }

    #[test]
    fn of_very_many_numbers_and_addresses_the_first_are_read() {
        let many = (0..50_000).map(|number| format!("TEL:{number}\nEMAIL:a{number}@example.org\n"));
        let card = parse_vcard(&many.collect::<String>());
        assert_eq!((card.phones.len(), card.emails.len()), (VALUES_MAX, VALUES_MAX));
        assert_eq!(card.phones[1], "1");
    }

    #[test]
    fn a_vcard_without_a_whole_name_or_with_old_spelling_is_read_too() {
        let card = parse_vcard(
            "BEGIN:VCARD\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Jos=C3=A9;Maria;;;\nTEL;waid=5511900000001:\n\
             TEL;CELL:tel:+5511900000002\nORG:;\nnonsense\n:\nEMAIL:\nN2:=C",
        );
        assert_eq!(card.name, "Maria José");
        assert_eq!(
            card.phones,
            ["5511900000001", "tel:+5511900000002".trim_start_matches("tel:")]
        );
        assert!(card.emails.is_empty() && card.organization.is_none());
    }

    #[test]
    fn a_value_that_goes_on_in_the_next_line_is_read_whole() {
        for vcard in [
            "BEGIN:VCARD\r\nFN;ENCODING=QUOTED-PRINTABLE:Concei=C3=A7=\r\n=C3=A3o Lim=\r\na\r\nTEL:1\r\nEND:VCARD",
            "FN;ENCODING=QUOTED-PRINTABLE:Concei=C3=A7=\n =C3=A3o Lima\nTEL:1",
            "FN;CHARSET=UTF-8;QUOTED-PRINTABLE:Concei=C3=\r=A7=C3=A3o Lima\rTEL:1",
            "FN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Concei=E7=E3o Lima\nTEL:1",
            "FN:Concei\r\n \u{e7}\u{e3}o L\n\tima\nTEL:1",
        ] {
            let card = parse_vcard(vcard);
            assert_eq!(
                (card.name.as_str(), card.phones.as_slice()),
                ("Conceição Lima", &["1".to_owned()][..]),
                "{vcard}"
            );
        }
        // Only quoted-printable lines go on so: this is a value of another encoding.
        let card = parse_vcard("KEY;ENCODING=BASE64:QUJD=\nFN:Ana\nTEL:1");
        assert_eq!(card.name, "Ana");
        let cut = parse_vcard("TEL:1\nFN;ENCODING=QUOTED-PRINTABLE:Ana=");
        assert_eq!(cut.name, "Ana");
    }

    #[test]
    fn a_businesss_name_is_read() {
        let card = parse_vcard("FN:Ana\nX-WA-BIZ-NAME:Oficina Boa\nX-WA-BIZ-DESCRIPTION:x");
        assert_eq!(
            (card.name.as_str(), card.organization.as_deref()),
            ("Ana", Some("Oficina Boa"))
        );
        let alone = parse_vcard("TEL:1\nX-WA-BIZ-NAME:Oficina Boa");
        assert_eq!((alone.name.as_str(), alone.organization), ("Oficina Boa", None));
        let known = parse_vcard("FN:Ana\nORG:Loja\nX-WA-BIZ-NAME:Oficina Boa");
        assert_eq!(known.organization.as_deref(), Some("Loja"));
    }

    #[test]
    fn a_card_without_anything_is_none() {
        for body in [
            json!({}),
            json!({"displayName": " "}),
            json!({"vcard": "BEGIN:VCARD\nEND:VCARD"}),
            json!({"vcard": 7}),
            json!({"contacts": []}),
            json!({"contacts": null}),
        ] {
            assert_eq!(parse_contact_cards(&body), None, "{body}");
        }
    }

    #[test]
    fn cut_and_broken_vcards_are_read_as_far_as_they_go() {
        for vcard in [
            "TEL",
            "TEL;waid=:",
            "FN:\\",
            "N:;;;;",
            "FN;ENCODING=QUOTED-PRINTABLE:=",
            " FN:Ana",
            "\"FN:Ana",
        ] {
            let card = parse_vcard(vcard);
            assert!(card.phones.is_empty() && card.emails.is_empty(), "{vcard}");
        }
    }
}
