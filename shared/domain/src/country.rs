//! Countries by their two characters of ISO 3166, and the country of a contact's address.

use crate::contact::ContactAddress;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The beginnings of phone numbers and their countries, one of each line. Countries that share a calling code have longer
/// beginnings.
const CODES: &str = include_str!("country/codes.txt");

/// A country by its two capital characters of ISO 3166, such as `BR`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Country([u8; 2]);

impl Country {
    /// Parses two capital characters; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let characters: [u8; 2] = text.as_bytes().try_into().ok()?;
        characters
            .iter()
            .all(u8::is_ascii_uppercase)
            .then_some(Self(characters))
    }

    /// Returns the two characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Returns the country of an address: by the calling code of a phone number, or as a business-scoped user id names it. `None` for
    /// an identity that tells of none.
    pub fn find_for_address(address: &ContactAddress) -> Option<Self> {
        match address.phone_number() {
            Some(number) => Self::find_for_digits(number.trim_start_matches('+')),
            None => Self::parse(address.as_str().split_once('.')?.0),
        }
    }

    /// Returns the country of a phone number that begins with its calling code.
    fn find_for_digits(digits: &str) -> Option<Self> {
        list_calling_codes()
            .filter(|(code, _)| digits.starts_with(code))
            .max_by_key(|(code, _)| code.len())
            .map(|(_, country)| country)
    }
}

/// Lists the beginnings of phone numbers with their countries.
fn list_calling_codes() -> impl Iterator<Item = (&'static str, Country)> {
    let line = |line: &'static str| {
        let (code, country) = line.split_once(' ')?;
        Some((code, Country::parse(country)?))
    };
    CODES.lines().filter_map(line)
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Country {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a country must have two capital characters, such as BR")
    }
}

impl From<Country> for String {
    fn from(country: Country) -> Self {
        country.as_str().to_owned()
    }
}

/// A country by its two characters, or all countries of a calling code, such as `BR` or `+55`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CountryChoice {
    text: String,
    countries: BTreeSet<Country>,
}

impl CountryChoice {
    /// Returns `true` if the choice names the country itself, or its calling code.
    pub fn covers_country(&self, country: Country) -> bool {
        self.countries.contains(&country)
    }

    /// Returns `true` if both choices name a country.
    pub fn shares_country(&self, other: &Self) -> bool {
        !self.countries.is_disjoint(&other.countries)
    }

    /// Returns `true` if the choice names all countries of a calling code.
    pub fn is_calling_code(&self) -> bool {
        self.text.starts_with('+')
    }
}

impl TryFrom<String> for CountryChoice {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let countries = match text.strip_prefix('+') {
            Some(wanted) if list_calling_codes().any(|(code, _)| code == wanted) => list_calling_codes()
                .filter(|(code, _)| code.starts_with(wanted))
                .map(|(_, country)| country)
                .collect(),
            Some(_) => return Err("this calling code is of no country; one is written such as +55"),
            None => {
                let known = Country::parse(&text)
                    .filter(|country| list_calling_codes().any(|(_, known)| known == *country))
                    .ok_or(
                        "a country must be its two capital characters, such as BR, or its calling code, such as +55",
                    )?;
                BTreeSet::from([known])
            }
        };
        Ok(Self { text, countries })
    }
}

impl From<CountryChoice> for String {
    fn from(choice: CountryChoice) -> Self {
        choice.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn country_of(address: &str) -> Option<String> {
        let address = ContactAddress::parse(address).unwrap();
        Country::find_for_address(&address).map(|country| country.to_string())
    }

    #[test]
    fn a_number_and_an_id_of_meta_tell_their_country_and_a_linked_identity_none() {
        for (address, country) in [
            ("5511988880000", "BR"),
            ("+351912345678", "PT"),
            ("5215512345678@s.whatsapp.net", "MX"),
            ("5491112345678", "AR"),
            ("12025550123", "US"),
            ("14165550123", "CA"),
            ("18095550123", "DO"),
            ("77011234567", "KZ"),
            ("79161234567", "RU"),
            ("447911123456", "GB"),
            ("US.13491208655302741918", "US"),
        ] {
            assert_eq!(country_of(address).as_deref(), Some(country), "{address}");
        }
        for unknown in ["123456789@lid", "999123456789", "us.134", "removed"] {
            assert_eq!(country_of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn each_line_of_the_codes_names_digits_and_a_country_once() {
        let codes: BTreeSet<&str> = list_calling_codes().map(|(code, _)| code).collect();
        assert_eq!(codes.len(), CODES.lines().count());
        assert!(codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_digit())));
    }

    #[test]
    fn a_choice_is_one_country_or_all_of_a_calling_code() {
        let parse = |text: &str| CountryChoice::try_from(text.to_owned());
        let country = |text: &str| Country::parse(text).unwrap();
        let (brazil, north) = (parse("BR").unwrap(), parse("+1").unwrap());
        assert!(brazil.covers_country(country("BR")) && !brazil.covers_country(country("PT")));
        assert!(
            ["US", "CA", "DO"]
                .iter()
                .all(|one| north.covers_country(country(one)))
        );
        assert!(parse("+55").unwrap().shares_country(&brazil) && !north.shares_country(&brazil));
        for wrong in ["", "br", "XX", "BRA", "55", "+", "+5", "+0", "+55x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
