//! Reads which numbers a body is about, before the body is trusted: the number says which secret must prove it.

use super::NUMBER_PLACES;
use crate::wire::json::WebhookParseError;
use crate::wire::json::extract::{
    AtKey, ExternalIdExtractor, JsonExtractor, NextKey, extract_from_body, extract_member, extract_value,
    next_key, skip_list,
};
use recado_domain::ids::ExternalId;
use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::Number;
use std::collections::BTreeSet;

/// Limit on the numbers that are kept of a body. A number's secret proves only a body without other numbers. So a body
/// with several numbers can be proven only by a partner's signature, and the numbers beyond the limit do not matter.
const NUMBERS_MAX: usize = 16;

/// The numbers that a body is about, according to the body itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressedNumbers {
    /// Every change has a number. At most the first 16 are kept.
    Numbers(BTreeSet<ExternalId>),
    /// At least one change has no `phone_number_id`, or there are no changes. The sender's proof or the path must say
    /// which number is meant.
    Unnamed,
}

/// Reads the numbers that a body is about: the `phone_number_id` of each change. Nothing else of the body is built in
/// memory.
pub fn read_addressed_numbers(body: &[u8]) -> Result<AddressedNumbers, WebhookParseError> {
    let found = extract_numbers(body, NUMBERS_MAX).map_err(|_| WebhookParseError::NotJson)?;
    if found.unnamed || found.numbers.is_empty() {
        return Ok(AddressedNumbers::Unnamed);
    }
    Ok(AddressedNumbers::Numbers(found.numbers))
}

/// Returns the numbers that a body names, also if some of its changes name none. A body that is not trusted yet
/// (`trusted` is `false`) has 16 at most.
pub(crate) fn list_named_numbers(body: &[u8], trusted: bool) -> BTreeSet<ExternalId> {
    let max = if trusted { usize::MAX } else { NUMBERS_MAX };
    extract_numbers(body, max).unwrap_or_default().numbers
}

fn extract_numbers(body: &[u8], max: usize) -> serde_json::Result<NumbersOfChanges> {
    let changes = EachMember(AtKey("changes", EachMember(ChangeExtractor, max)), max);
    extract_from_body(AtKey("entry", changes), body)
}

/// The numbers found in the changes of a body.
#[derive(Debug, Default)]
struct NumbersOfChanges {
    numbers: BTreeSet<ExternalId>,
    /// `true` if at least one change has no number.
    unnamed: bool,
}

impl NumbersOfChanges {
    fn merge_numbers(&mut self, other: Self, max: usize) {
        self.unnamed |= other.unnamed;
        for number in other.numbers {
            if self.numbers.len() < max {
                self.numbers.insert(number);
            }
        }
    }
}

/// Applies an extractor to each member of a list, and keeps at most so many numbers. A value that is not a list counts as its only member, as in
/// [`list_members`](crate::wire::json::list_members).
#[derive(Debug, Clone, Copy)]
struct EachMember<P>(P, usize);

impl<P: JsonExtractor<Found = NumbersOfChanges>> JsonExtractor for EachMember<P> {
    type Found = NumbersOfChanges;

    fn extract_object<'de, A: MapAccess<'de>>(self, object: A) -> Result<NumbersOfChanges, A::Error> {
        self.0.extract_object(object)
    }

    fn extract_list<'de, A: SeqAccess<'de>>(self, mut list: A) -> Result<NumbersOfChanges, A::Error> {
        let mut all = NumbersOfChanges::default();
        while let Some(one) = extract_member(&mut list, self.0)? {
            all.merge_numbers(one, self.1);
        }
        Ok(all)
    }

    fn extract_text(self, text: &str) -> NumbersOfChanges {
        self.0.extract_text(text)
    }

    fn extract_number(self, number: &Number) -> NumbersOfChanges {
        self.0.extract_number(number)
    }

    fn extract_bool(self) -> NumbersOfChanges {
        self.0.extract_bool()
    }
}

/// Extracts the number that the value of a change names.
#[derive(Debug, Clone, Copy)]
struct ValueExtractor;

impl JsonExtractor for ValueExtractor {
    type Found = Option<ExternalId>;

    fn extract_object<'de, A: MapAccess<'de>>(self, mut object: A) -> Result<Option<ExternalId>, A::Error> {
        let number = AtKey("phone_number_id", ExternalIdExtractor { numbers: true });
        let mut found = [None, None];
        while let Some(key) = next_key(&mut object, &NUMBER_PLACES)? {
            match key {
                NextKey::Wanted(place) => {
                    let number = extract_value(&mut object, number)?;
                    if let Some(found) = found.get_mut(place) {
                        *found = number;
                    }
                }
                NextKey::Other => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found.into_iter().flatten().next())
    }
}

/// Extracts the number of one change. A change that is not an object has no number.
#[derive(Debug, Clone, Copy)]
struct ChangeExtractor;

impl ChangeExtractor {
    fn unnamed_change() -> NumbersOfChanges {
        NumbersOfChanges {
            unnamed: true,
            ..NumbersOfChanges::default()
        }
    }
}

impl JsonExtractor for ChangeExtractor {
    type Found = NumbersOfChanges;

    fn extract_object<'de, A: MapAccess<'de>>(self, object: A) -> Result<NumbersOfChanges, A::Error> {
        let number = AtKey("value", ValueExtractor).extract_object(object)?;
        Ok(
            number.map_or_else(Self::unnamed_change, |number| NumbersOfChanges {
                numbers: BTreeSet::from([number]),
                unnamed: false,
            }),
        )
    }

    fn extract_list<'de, A: SeqAccess<'de>>(self, list: A) -> Result<NumbersOfChanges, A::Error> {
        skip_list::<A, ()>(list).map(|()| Self::unnamed_change())
    }

    fn extract_text(self, _: &str) -> NumbersOfChanges {
        Self::unnamed_change()
    }

    fn extract_number(self, _: &Number) -> NumbersOfChanges {
        Self::unnamed_change()
    }

    fn extract_bool(self) -> NumbersOfChanges {
        Self::unnamed_change()
    }

    fn extract_null(self) -> NumbersOfChanges {
        Self::unnamed_change()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::{list_members, parse_lenient_json};
    use proptest::prelude::*;
    use serde_json::Value;

    /// The same by building all of it.
    fn built(body: &[u8]) -> AddressedNumbers {
        let root = parse_lenient_json(body).unwrap();
        let changes = list_members(root.get("entry")).iter();
        let changes = changes.flat_map(|entry| list_members(entry.get("changes")));
        let number = |change: &Value| super::super::read_number(change.get("value")?);
        let numbers: Option<BTreeSet<ExternalId>> = changes.map(number).collect();
        numbers
            .filter(|numbers| !numbers.is_empty())
            .map_or(AddressedNumbers::Unnamed, AddressedNumbers::Numbers)
    }

    /// A value, as text: the path to a number, with whatever may stand in its way, and keys that come twice.
    fn written() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "1",
            "2",
            "\"1\"",
            "\" 2 \"",
            "\"\"",
            "null",
            "true",
            "1.5",
            "-7",
            "[]",
            "{}",
            "\"\\ud83d\"",
        ]);
        leaf.prop_map(str::to_owned).prop_recursive(7, 48, 3, |inner| {
            let keys = vec![
                "entry",
                "changes",
                "value",
                "metadata",
                "recipient",
                "phone_number_id",
                "\\u0065ntry",
                "x",
            ];
            let member = (prop::sample::select(keys), inner.clone());
            let object = prop::collection::vec(member, 0..4).prop_map(|members| {
                let members: Vec<String> = members
                    .iter()
                    .map(|(key, value)| format!("\"{key}\":{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            });
            let list =
                prop::collection::vec(inner, 0..3).prop_map(|members| format!("[{}]", members.join(",")));
            prop_oneof![3 => object, 1 => list]
        })
    }

    /// A body that leads to `ids`.
    fn body(ids: &[String]) -> String {
        let changes = ids.iter().map(|id| format!(r#"{{"value":{{"metadata":{id}}}}}"#));
        format!(
            r#"{{"entry":[{{"changes":[{}]}}]}}"#,
            changes.collect::<Vec<_>>().join(",")
        )
    }

    proptest! {
        #[test]
        fn what_is_picked_is_what_is_built(
            any in written(),
            ids in prop::collection::vec(written().prop_map(|id| format!(r#"{{"phone_number_id":{id}}}"#)), 0..4),
        ) {
            for body in [any, body(&ids)] {
                prop_assert_eq!(read_addressed_numbers(body.as_bytes()).unwrap(), built(body.as_bytes()), "{}", body);
            }
        }
    }

    #[test]
    fn of_very_many_numbers_a_few_are_kept() {
        let ids: Vec<String> = (0..1000)
            .map(|id| format!(r#"{{"phone_number_id":{id}}}"#))
            .collect();
        match read_addressed_numbers(body(&ids).as_bytes()).unwrap() {
            AddressedNumbers::Numbers(numbers) => assert_eq!(numbers.len(), NUMBERS_MAX),
            AddressedNumbers::Unnamed => panic!("they are named"),
        }
        let known = |trusted| list_named_numbers(body(&ids).as_bytes(), trusted).len();
        assert_eq!((known(false), known(true)), (NUMBERS_MAX, 1000));
    }
}
