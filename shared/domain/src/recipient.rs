//! Reading of the recipient that a client names: a phone number in any notation, or a WhatsApp address.

use crate::contact::{ChatKind, ContactAddress};
use crate::provider::AddressFormat;

/// The reason why a text does not name a recipient. No error repeats the text, because it is personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecipientError {
    /// The text is not a possible phone number.
    #[error(
        "`to` must be a phone number with its country code, such as +55 11 98888-0000 (8 to 15 digits; at least 10 without \
         `+`), or a WhatsApp address"
    )]
    Number,
    /// The address is a group, a broadcast list or a channel.
    #[error("`to` must be one person: groups, broadcast lists and channels are not sent to")]
    NotOnePerson,
    /// The instance's provider does not know this kind of address.
    #[error("the instance's provider knows no such address")]
    OtherProvider,
}

/// Reads `text` as the address that the person's own messages carry, so that both directions belong to one thread. A
/// number becomes `digits@s.whatsapp.net` with [`AddressFormat::Jids`], else the digits alone. Addresses without a number
/// stay unchanged.
pub fn parse_recipient(written_as: AddressFormat, text: &str) -> Result<ContactAddress, RecipientError> {
    let text = text.trim();
    let digits = match text.split_once('@') {
        None if is_user_id(text) => return parse_user_id(written_as, text),
        None => parse_written_number(text)?,
        Some(_) => match parse_address(written_as, text)? {
            ParsedRecipient::Number(digits) => digits,
            ParsedRecipient::Address(address) => return Ok(address),
        },
    };
    let written = match written_as {
        AddressFormat::Numbers => digits,
        AddressFormat::Jids => format!("{digits}@s.whatsapp.net"),
    };
    ContactAddress::parse(&written).ok_or(RecipientError::Number)
}

/// Reads `text` as a person whom any provider may know: a number in any notation, which becomes `+` and digits, or an
/// identity without a number, which stays unchanged.
pub fn parse_person(text: &str) -> Result<ContactAddress, RecipientError> {
    let parsed = match parse_recipient(AddressFormat::Numbers, text) {
        Err(RecipientError::OtherProvider) => parse_recipient(AddressFormat::Jids, text)?,
        parsed => parsed?,
    };
    match parsed.phone_number() {
        Some(number) => ContactAddress::parse(&number).ok_or(RecipientError::Number),
        None => Ok(parsed),
    }
}

enum ParsedRecipient {
    Number(String),
    Address(ContactAddress),
}

fn parse_address(written_as: AddressFormat, text: &str) -> Result<ParsedRecipient, RecipientError> {
    let address = ContactAddress::parse(text).ok_or(RecipientError::Number)?;
    if address.chat_kind() != ChatKind::Direct {
        return Err(RecipientError::NotOnePerson);
    }
    match address.as_str().split_once('@') {
        Some((user, "s.whatsapp.net")) => parse_phone_digits(user).map(ParsedRecipient::Number),
        Some((user, "lid")) if !user.bytes().all(|b| b.is_ascii_digit()) => Err(RecipientError::Number),
        Some((_, "lid")) if written_as == AddressFormat::Jids => Ok(ParsedRecipient::Address(address)),
        _ => Err(RecipientError::OtherProvider),
    }
}

/// Returns `true` for a business-scoped user id of Meta, such as `US.13491208655302741918`.
fn is_user_id(text: &str) -> bool {
    text.split_once('.').is_some_and(|(country, id)| {
        country.len() == 2
            && country.bytes().all(|b| b.is_ascii_uppercase())
            && !id.is_empty()
            && id.len() <= 128
            && id.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

fn parse_user_id(written_as: AddressFormat, text: &str) -> Result<ContactAddress, RecipientError> {
    if written_as != AddressFormat::Numbers {
        return Err(RecipientError::OtherProvider);
    }
    ContactAddress::parse(text).ok_or(RecipientError::Number)
}

/// Fewest digits of a number that is written without `+`. With its country code, hardly a number is shorter; without it,
/// many are as long as another country's number is with it.
const DIGITS_MIN_WITHOUT_PLUS: usize = 10;

/// Returns the digits of a number that a person or program wrote. A number without `+` is refused if it is so short that
/// its country code is likely missing.
fn parse_written_number(text: &str) -> Result<String, RecipientError> {
    let digits = parse_phone_digits(text)?;
    if text.starts_with('+') || digits.len() >= DIGITS_MIN_WITHOUT_PLUS {
        Ok(digits)
    } else {
        Err(RecipientError::Number)
    }
}

/// Returns the digits of a number written with `+`, spaces, brackets, dots and dashes: 8 to 15 digits, the first not 0.
/// (E.164 has at most 15 digits, and no country code begins with 0.)
fn parse_phone_digits(text: &str) -> Result<String, RecipientError> {
    let rest = text.strip_prefix('+').unwrap_or(text);
    let mut digits = String::new();
    for c in rest.chars() {
        match c {
            '0'..='9' => digits.push(c),
            ' ' | '\u{a0}' | '(' | ')' | '-' | '.' | '\u{2010}'..='\u{2013}' => {}
            _ => return Err(RecipientError::Number),
        }
    }
    if (8..=15).contains(&digits.len()) && !digits.starts_with('0') && !is_impossible_american(&digits) {
        Ok(digits)
    } else {
        Err(RecipientError::Number)
    }
}

/// Returns `true` for digits that begin with North America's country code 1 and are no number there: it has ten more
/// digits, and no area code begins with 0 or 1. A Brazilian number of São Paulo without its country code is such a one.
fn is_impossible_american(digits: &str) -> bool {
    digits
        .strip_prefix('1')
        .is_some_and(|number| number.len() != 10 || number.starts_with(['0', '1']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(written_as: AddressFormat, text: &str) -> Result<String, RecipientError> {
        parse_recipient(written_as, text).map(|address| address.as_str().to_owned())
    }

    #[test]
    fn one_number_in_any_writing_is_one_address_and_the_one_that_webhooks_bring() {
        for text in [
            "+5511999998888",
            "5511999998888",
            " +55 (11) 99999-8888 ",
            "55.11.99999\u{2011}8888",
            "5511999998888@s.whatsapp.net",
            "5511999998888:12@c.us",
        ] {
            let jid = on(AddressFormat::Jids, text);
            assert_eq!(jid.as_deref(), Ok("5511999998888@s.whatsapp.net"), "{text}");
            assert_eq!(
                on(AddressFormat::Numbers, text).as_deref(),
                Ok("5511999998888"),
                "{text}"
            );
        }
    }

    #[test]
    fn addresses_without_a_number_stay_where_their_provider_knows_them() {
        assert_eq!(
            on(AddressFormat::Jids, "123456789@lid").as_deref(),
            Ok("123456789@lid")
        );
        assert_eq!(
            on(AddressFormat::Numbers, "123456789@lid"),
            Err(RecipientError::OtherProvider)
        );
        assert_eq!(on(AddressFormat::Numbers, "US.1349").as_deref(), Ok("US.1349"));
        assert_eq!(
            on(AddressFormat::Numbers, "+55 11 90000-0001").as_deref(),
            Ok("5511900000001")
        );
        assert_eq!(
            on(AddressFormat::Jids, "US.1349"),
            Err(RecipientError::OtherProvider)
        );
    }

    #[test]
    fn a_number_that_lacks_its_country_code_is_refused() {
        for text in [
            "98888-0000",
            "988880000",
            "8888-0000",
            "(11) 98888-0000",
            "+11 98888-0000",
        ] {
            assert_eq!(
                on(AddressFormat::Jids, text),
                Err(RecipientError::Number),
                "{text}"
            );
        }
        for (text, digits) in [
            ("+47 22 86 44 00", "4722864400"),
            ("4722864400", "4722864400"),
            ("+290 22222", "29022222"),
            ("16505551234", "16505551234"),
        ] {
            assert_eq!(on(AddressFormat::Numbers, text).as_deref(), Ok(digits), "{text}");
        }
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for text in [
            "",
            "+",
            "12345",
            "011999998888",
            "2234567890123456",
            "11 9999 x888",
            "@s.whatsapp.net",
            "a@lid",
        ] {
            assert_eq!(
                on(AddressFormat::Jids, text),
                Err(RecipientError::Number),
                "{text}"
            );
        }
        for text in ["1203630412345@g.us", "status@broadcast", "1203@newsletter"] {
            assert_eq!(
                on(AddressFormat::Jids, text),
                Err(RecipientError::NotOnePerson),
                "{text}"
            );
        }
        assert_eq!(
            on(AddressFormat::Jids, "a@example.com"),
            Err(RecipientError::OtherProvider)
        );
    }
}
