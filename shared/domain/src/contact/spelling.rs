//! Recognizes one phone number in two spellings. Some countries gave their mobiles another digit, which WhatsApp keeps,
//! drops or adds.
//!
//! * Brazil's mobiles got a ninth digit, a 9 before the eight digits that they had. WhatsApp knows older accounts
//!   without the 9. Only numbers that began with 6 to 9 were mobiles then (Anatel's resolution 553 of 2010; landlines
//!   begin with 2 to 5).
//! * Mexico's mobiles had a 1 after the country code when called from abroad, until 2019.
//! * Argentina's mobiles have a 9 after the country code.
//!
//! Meta's `wa_id` may therefore differ from the number that was written to ("Brazil and Mexico", Cloud API, phone
//! numbers), and Evolution's JID from the number that Evolution was given (`createJid.ts`). Only WhatsApp knows which
//! of the two can be written to: this rule only tells that both are one person.

use std::borrow::Cow;

/// Returns the address with its number in a fixed spelling, the same for both spellings. An address that is no phone
/// number, or whose number has no second spelling, is returned unchanged. The result is for comparing only: WhatsApp
/// may not know it.
pub(crate) fn canonical_spelling(address: &str) -> Cow<'_, str> {
    let (user, server) = match address.split_once('@') {
        Some((user, "s.whatsapp.net")) => (user, "@s.whatsapp.net"),
        Some(_) => return Cow::Borrowed(address),
        None => (address, ""),
    };
    match canonical_digits(user) {
        Some(digits) => Cow::Owned(format!("{digits}{server}")),
        None => Cow::Borrowed(address),
    }
}

/// Returns the canonical digits of a number; `None` if `digits` are canonical already or not a number.
fn canonical_digits(digits: &str) -> Option<String> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (country, rest) = digits.split_at_checked(2)?;
    match (country, rest.len(), rest.as_bytes()) {
        ("55", 10, [b'1'..=b'9', b'1'..=b'9', b'6'..=b'9', ..]) => {
            let (area, number) = rest.split_at_checked(2)?;
            Some(format!("55{area}9{number}"))
        }
        ("52", 11, [b'1', ..]) | ("54", 11, [b'9', ..]) => Some(format!("{country}{}", rest.get(1..)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(one: &str, other: &str) -> bool {
        let server = |digits: &str| format!("{digits}@s.whatsapp.net");
        let alone = canonical_spelling(one) == canonical_spelling(other);
        assert_eq!(
            canonical_spelling(&server(one)) == canonical_spelling(&server(other)),
            alone,
            "{one} and {other}: a server makes no difference"
        );
        alone
    }

    #[test]
    fn a_brazilian_mobile_is_one_with_and_without_its_ninth_digit() {
        for (new, old) in [
            ("5511987654321", "551187654321"),
            ("5511960000001", "551160000001"),
            ("5599999999999", "559999999999"),
        ] {
            assert!(same(new, old), "{new}");
        }
    }

    #[test]
    fn brazilian_landlines_and_mobiles_that_never_had_eight_digits_are_left_alone() {
        for (one, other) in [
            ("551133334444", "5511933334444"),
            ("551120000001", "5511920000001"),
            ("551190000001", "5511900000001"),
        ] {
            assert!(!same(one, other), "{one}");
        }
        // No area begins or ends with a zero.
        assert!(!same("551087654321", "5510987654321"));
        assert!(!same("550187654321", "5501987654321"));
    }

    #[test]
    fn mexican_and_argentine_mobiles_are_one_with_and_without_their_prefix() {
        assert!(same("5215512345678", "525512345678"));
        assert!(same("5491112345678", "541112345678"));
        assert!(!same("5225512345678", "525512345678"));
        assert!(!same("5411112345678", "541112345678"));
    }

    #[test]
    fn other_numbers_and_addresses_without_one_stay_as_they_are() {
        for address in [
            "",
            "55",
            "351912345678",
            "12025550123",
            "55118765432\u{661}",
            "+551187654321",
            "551187654321@lid",
            "551187654321@g.us",
            "US.551187654321",
        ] {
            assert_eq!(canonical_spelling(address), address);
        }
    }

    proptest! {
        #[test]
        fn the_one_spelling_of_the_one_spelling_is_itself(address in "(5[245])?[0-9]{0,13}(@s.whatsapp.net|@lid)?") {
            let once = canonical_spelling(&address).into_owned();
            prop_assert_eq!(canonical_spelling(&once).into_owned(), once);
        }

        #[test]
        fn at_most_two_spellings_are_one_person(one in "5[245][0-9]{10,11}", two in "5[245][0-9]{10,11}") {
            if one.len() == two.len() {
                prop_assert_eq!(same(&one, &two), one == two);
            }
        }

        #[test]
        fn nothing_that_anybody_sends_breaks_it(address in ".{0,40}") {
            let _ = canonical_spelling(&address);
        }
    }
}
