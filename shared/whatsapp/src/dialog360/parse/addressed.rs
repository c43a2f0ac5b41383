//! Which numbers a body is about, read before the body is trusted: the webhook secret is derived from them.

use crate::ParseError;
use crate::json::pick::{At, Id, Pick, member, pick, skip_list};
use recado_domain::ids::ExternalId;
use serde::de::{MapAccess, SeqAccess};
use serde_json::Number;
use std::collections::BTreeSet;

/// So many numbers of a body are kept at most. One number's secret proves a body that names no other, so a body that names
/// as many as these is proven by a partner's signature or not at all, whichever the rest are.
const NUMBERS_MAX: usize = 16;

/// Which numbers a body is about, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressed {
    /// These, and nothing else; the first 16 of more.
    Numbers(BTreeSet<ExternalId>),
    /// None, or something besides that names none: only who sent it, or where to, can say.
    Unnamed,
}

/// Reads which numbers a body is about: the `phone_number_id` of each change. Nothing else of the body is built.
pub fn addressed(body: &[u8]) -> Result<Addressed, ParseError> {
    let found = pick(At("entry", Each(At("changes", Each(Change)))), body);
    let found = found.map_err(|_| ParseError::NotJson)?;
    if found.unnamed || found.numbers.is_empty() {
        return Ok(Addressed::Unnamed);
    }
    Ok(Addressed::Numbers(found.numbers))
}

/// What the changes of a body name.
#[derive(Debug, Default)]
struct Named {
    numbers: BTreeSet<ExternalId>,
    /// Whether one of them names none.
    unnamed: bool,
}

impl Named {
    fn add(&mut self, other: Self) {
        self.unnamed |= other.unnamed;
        for number in other.numbers {
            if self.numbers.len() < NUMBERS_MAX {
                self.numbers.insert(number);
            }
        }
    }
}

/// The members of a list, or the one that is no list, as [`list`](crate::json::list) has them.
#[derive(Debug, Clone, Copy)]
struct Each<P>(P);

impl<P: Pick<Found = Named>> Pick for Each<P> {
    type Found = Named;

    fn object<'de, A: MapAccess<'de>>(self, object: A) -> Result<Named, A::Error> {
        self.0.object(object)
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut list: A) -> Result<Named, A::Error> {
        let mut all = Named::default();
        while let Some(one) = member(&mut list, self.0)? {
            all.add(one);
        }
        Ok(all)
    }

    fn text(self, text: &str) -> Named {
        self.0.text(text)
    }

    fn number(self, number: &Number) -> Named {
        self.0.number(number)
    }

    fn truth(self) -> Named {
        self.0.truth()
    }
}

/// One change: the number that its value names. What is no object names none.
#[derive(Debug, Clone, Copy)]
struct Change;

impl Change {
    fn unnamed() -> Named {
        Named {
            unnamed: true,
            ..Named::default()
        }
    }
}

impl Pick for Change {
    type Found = Named;

    fn object<'de, A: MapAccess<'de>>(self, object: A) -> Result<Named, A::Error> {
        let number = At("phone_number_id", Id { numbers: true });
        let number = At("value", At("metadata", number)).object(object)?;
        Ok(number.map_or_else(Self::unnamed, |number| Named {
            numbers: BTreeSet::from([number]),
            unnamed: false,
        }))
    }

    fn list<'de, A: SeqAccess<'de>>(self, list: A) -> Result<Named, A::Error> {
        skip_list::<A, ()>(list).map(|()| Self::unnamed())
    }

    fn text(self, _: &str) -> Named {
        Self::unnamed()
    }

    fn number(self, _: &Number) -> Named {
        Self::unnamed()
    }

    fn truth(self) -> Named {
        Self::unnamed()
    }

    fn null(self) -> Named {
        Self::unnamed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{list, parsed, scalar};
    use proptest::prelude::*;
    use serde_json::Value;

    /// The same by building all of it.
    fn built(body: &[u8]) -> Addressed {
        let root = parsed(body).unwrap();
        let changes = list(root.get("entry")).iter();
        let changes = changes.flat_map(|entry| list(entry.get("changes")));
        let number = |change: &Value| {
            let id = scalar(change.get("value")?.get("metadata")?, "phone_number_id")?;
            ExternalId::parse(&id).ok()
        };
        let numbers: Option<BTreeSet<ExternalId>> = changes.map(number).collect();
        numbers
            .filter(|numbers| !numbers.is_empty())
            .map_or(Addressed::Unnamed, Addressed::Numbers)
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
                prop_assert_eq!(addressed(body.as_bytes()).unwrap(), built(body.as_bytes()), "{}", body);
            }
        }
    }

    #[test]
    fn of_very_many_numbers_a_few_are_kept() {
        let ids: Vec<String> = (0..1000)
            .map(|id| format!(r#"{{"phone_number_id":{id}}}"#))
            .collect();
        match addressed(body(&ids).as_bytes()).unwrap() {
            Addressed::Numbers(numbers) => assert_eq!(numbers.len(), NUMBERS_MAX),
            Addressed::Unnamed => panic!("they are named"),
        }
    }
}
