//! Reads single fields of a JSON text without building the rest in memory. Other fields are skipped, whatever their
//! size.
//!
//! If a key occurs twice, the last one counts, as in [`parse_lenient_json`](super::parse_lenient_json): both readers
//! must find the same value.

use super::surrogate;
use recado_domain::ids::ExternalId;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::fmt;

/// An extractor that reads one result from a JSON value. Each method handles one type of value; the default methods
/// return nothing.
pub(crate) trait JsonExtractor: Copy {
    /// The type of the result.
    type Found: Default;

    /// Reads an object. An implementation must read the object to its end.
    fn extract_object<'de, A: MapAccess<'de>>(self, object: A) -> Result<Self::Found, A::Error> {
        skip_object(object)
    }

    /// Reads a list. An implementation must read the list to its end.
    fn extract_list<'de, A: SeqAccess<'de>>(self, list: A) -> Result<Self::Found, A::Error> {
        skip_list(list)
    }

    /// Reads a text.
    fn extract_text(self, _: &str) -> Self::Found {
        Self::Found::default()
    }

    /// Reads a number.
    fn extract_number(self, _: &Number) -> Self::Found {
        Self::Found::default()
    }

    /// Reads `true` or `false`.
    fn extract_bool(self) -> Self::Found {
        Self::Found::default()
    }

    /// Reads `null`.
    fn extract_null(self) -> Self::Found {
        Self::Found::default()
    }
}

/// Runs an extractor on a body. Lone halves of surrogate pairs are replaced as in
/// [`parse_lenient_json`](super::parse_lenient_json).
pub(crate) fn extract_from_body<P: JsonExtractor>(pick: P, body: &[u8]) -> serde_json::Result<P::Found> {
    run_extractor(pick, body).or_else(|error| match surrogate::replace_lone_surrogates(body) {
        Some(mended) => run_extractor(pick, &mended),
        None => Err(error),
    })
}

fn run_extractor<P: JsonExtractor>(pick: P, body: &[u8]) -> serde_json::Result<P::Found> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let found = ExtractorSeed(pick).deserialize(&mut json)?;
    json.end()?;
    Ok(found)
}

fn skip_object<'de, A: MapAccess<'de>, F: Default>(mut object: A) -> Result<F, A::Error> {
    while next_key(&mut object, &[])?.is_some() {
        object.next_value::<IgnoredAny>()?;
    }
    Ok(F::default())
}

pub(crate) fn skip_list<'de, A: SeqAccess<'de>, F: Default>(mut list: A) -> Result<F, A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(F::default())
}

/// The next key of an object, compared with the wanted keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextKey {
    /// Wanted key: its index in the list of wanted keys.
    Wanted(usize),
    /// Any other key.
    Other,
}

/// Reads the next key of an object; `None` at its end.
pub(crate) fn next_key<'de, A: MapAccess<'de>>(
    object: &mut A,
    wanted: &[&str],
) -> Result<Option<NextKey>, A::Error> {
    object.next_key_seed(KeySeed(wanted))
}

/// Extracts from the value of the key that was read last.
pub(crate) fn extract_value<'de, A: MapAccess<'de>, P: JsonExtractor>(
    object: &mut A,
    pick: P,
) -> Result<P::Found, A::Error> {
    object.next_value_seed(ExtractorSeed(pick))
}

/// Extracts from the next member of a list; `None` at its end.
pub(crate) fn extract_member<'de, A: SeqAccess<'de>, P: JsonExtractor>(
    list: &mut A,
    pick: P,
) -> Result<Option<P::Found>, A::Error> {
    list.next_element_seed(ExtractorSeed(pick))
}

/// Applies an extractor to the value at one key of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtKey<P>(pub(crate) &'static str, pub(crate) P);

impl<P: JsonExtractor> JsonExtractor for AtKey<P> {
    type Found = P::Found;

    fn extract_object<'de, A: MapAccess<'de>>(self, mut object: A) -> Result<P::Found, A::Error> {
        let mut found = P::Found::default();
        while let Some(key) = next_key(&mut object, &[self.0])? {
            match key {
                NextKey::Wanted(_) => found = extract_value(&mut object, self.1)?,
                NextKey::Other => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Extracts an [`ExternalId`] from a text; also from a number if `numbers` is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExternalIdExtractor {
    pub(crate) numbers: bool,
}

impl JsonExtractor for ExternalIdExtractor {
    type Found = Option<ExternalId>;

    fn extract_text(self, text: &str) -> Option<ExternalId> {
        ExternalId::parse(text.trim()).ok()
    }

    fn extract_number(self, number: &Number) -> Option<ExternalId> {
        self.numbers
            .then(|| ExternalId::parse(&number.to_string()).ok())
            .flatten()
    }
}

struct ExtractorSeed<P>(P);

impl<'de, P: JsonExtractor> DeserializeSeed<'de> for ExtractorSeed<P> {
    type Value = P::Found;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<P::Found, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, P: JsonExtractor> Visitor<'de> for ExtractorSeed<P> {
    type Value = P::Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<P::Found, A::Error> {
        self.0.extract_object(object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<P::Found, A::Error> {
        self.0.extract_list(list)
    }

    fn visit_str<E>(self, text: &str) -> Result<P::Found, E> {
        Ok(self.0.extract_text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<P::Found, E> {
        Ok(self.0.extract_number(&number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<P::Found, E> {
        Ok(self.0.extract_number(&number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<P::Found, E> {
        Ok(Number::from_f64(number).map_or_else(P::Found::default, |number| self.0.extract_number(&number)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<P::Found, E> {
        Ok(self.0.extract_bool())
    }

    fn visit_unit<E>(self) -> Result<P::Found, E> {
        Ok(self.0.extract_null())
    }
}

/// A reader of keys that compares them as bytes, so that other keys need not be valid text.
struct KeySeed<'k>(&'k [&'k str]);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = NextKey;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<NextKey, D::Error> {
        key.deserialize_bytes(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = NextKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<NextKey, E> {
        let place = self.0.iter().position(|wanted| wanted.as_bytes() == key);
        Ok(place.map_or(NextKey::Other, NextKey::Wanted))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<NextKey, E> {
        self.visit_bytes(key.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: AtKey<ExternalIdExtractor> = AtKey("name", ExternalIdExtractor { numbers: true });

    fn found(body: &str) -> Option<String> {
        let id = extract_from_body(AtKey("of", NAME), body.as_bytes()).unwrap();
        id.map(|id| id.as_str().to_owned())
    }

    #[test]
    fn one_field_is_found_among_others_and_the_last_of_two_counts() {
        for (body, name) in [
            (
                r#"{"a": [[0], {"": 0}], "of": {"x": 1, "name": " ana "}, "z": null}"#,
                Some("ana"),
            ),
            (r#"{"of": {"name": 12}}"#, Some("12")),
            (r#"{"\u006ff": {"n\u0061me": "ana"}}"#, Some("ana")),
            (
                r#"{"of": {"name": "bia"}, "of": {"name": "bia", "name": "ana"}}"#,
                Some("ana"),
            ),
            (r#"{"of": {"name": "ana"}, "of": {}}"#, None),
            (r#"{"of": {"name": "ana", "name": null}}"#, None),
            (r#"{"of": [{"name": "ana"}]}"#, None),
            (r#"[{"of": {"name": "ana"}}]"#, None),
            (r#"{"of": {"name": "ana\ud83d"}, "x": "\ud83d"}"#, None),
            (r#"{"x\ud83d": "\ud83d", "of": {"name": "ana"}}"#, Some("ana")),
            ("1", None),
            ("true", None),
        ] {
            assert_eq!(found(body).as_deref(), name, "{body}");
        }
    }

    #[test]
    fn what_is_no_json_is_an_error_to_its_end() {
        for body in [
            "",
            "{",
            r#"{"of": {"name": "ana"}"#,
            r#"{"of": {"name": "ana"}} x"#,
            r#"{"a": [}"#,
        ] {
            assert!(
                extract_from_body(AtKey("of", NAME), body.as_bytes()).is_err(),
                "{body}"
            );
        }
    }

    #[test]
    fn what_is_skipped_may_be_nested_as_deeply_as_it_likes() {
        let deep = format!(
            r#"{{"x": {}{}, "of": {{"name": "ana"}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(found(&deep).as_deref(), Some("ana"));
    }
}
