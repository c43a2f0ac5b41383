//! The conversations of exports before format 7, whose fields were not nested yet.

use serde_json::{Map, Value};

/// The names of the parts of a conversation since format 7, each with the fields that lie in it.
const PARTS: [(&str, &str); 8] = [
    (
        "contact",
        "known_as phone name picture last_inbound_at session_started_at marketing_stopped_at pair_arrival",
    ),
    ("linked", "moved_to beside joined"),
    ("kept", "kept_from oldest_at"),
    ("questions", "open_question left_question asked"),
    ("opening", "scheduled_for opens_at closed_told_at"),
    ("people", "handover taken hand_over_note annotations"),
    ("features", "invited step has_journal reengaged thread_hold"),
    ("nudges", "nudged_at idle_nudges"),
];

/// The first format whose conversations have their fields in parts.
pub(crate) const PARTS_SINCE: u32 = 7;

/// Writes a conversation in JSON as formats since [`PARTS_SINCE`] have it. Fails if it is no JSON object.
pub(crate) fn nest_former_fields(json: &str) -> serde_json::Result<String> {
    let mut conversation: Map<String, Value> = serde_json::from_str(json)?;
    for (part, fields) in PARTS {
        let found = fields
            .split(' ')
            .filter_map(|field| conversation.remove_entry(field));
        let nested: Map<String, Value> = found.collect();
        if !nested.is_empty() {
            conversation.insert(part.to_owned(), Value::Object(nested));
        }
    }
    serde_json::to_string(&conversation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::conversation::{
        ContactFacts, Conversation, FeatureNotes, KeptHistory, LinkedConversations, OpenQuestions,
        OpeningWait, OwedNudges, PeopleNotes,
    };
    use serde::de::value::Error;
    use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
    use serde::forward_to_deserialize_any;
    use std::collections::BTreeSet;

    /// Notes the names of the fields of the type that is read, and reads nothing.
    struct FieldNames<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for FieldNames<'_> {
        type Error = Error;

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            fields: &'static [&'static str],
            _visitor: V,
        ) -> Result<V::Value, Error> {
            *self.0 = fields;
            Err(Error::custom("the names are known"))
        }

        fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
            Err(Error::custom("the type has no fields with names"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    fn fields_of<T: DeserializeOwned>() -> BTreeSet<&'static str> {
        let mut names: &'static [&'static str] = &[];
        assert!(T::deserialize(FieldNames(&mut names)).is_err());
        names.iter().copied().collect()
    }

    #[test]
    fn the_list_names_each_part_of_a_conversation_with_all_of_its_fields() {
        let parts = [
            ("contact", fields_of::<ContactFacts>()),
            ("linked", fields_of::<LinkedConversations>()),
            ("kept", fields_of::<KeptHistory>()),
            ("questions", fields_of::<OpenQuestions>()),
            ("opening", fields_of::<OpeningWait>()),
            ("people", fields_of::<PeopleNotes>()),
            ("features", fields_of::<FeatureNotes>()),
            ("nudges", fields_of::<OwedNudges>()),
        ];
        let listed = PARTS.map(|(part, fields)| (part, fields.split(' ').collect::<BTreeSet<&str>>()));
        assert_eq!(parts, listed);
        let own = fields_of::<Conversation>();
        for (part, fields) in parts {
            assert!(own.contains(part), "{part} is a part");
            assert!(own.is_disjoint(&fields), "the fields of {part} lie in it alone");
        }
    }

    #[test]
    fn fields_go_into_their_parts_and_others_stay() {
        let nested = nest_former_fields(r#"{"id":"c","phone":"55","name":"Ana","nudged_at":1}"#).unwrap();
        let nested: Value = serde_json::from_str(&nested).unwrap();
        let parts = serde_json::json!({"id": "c", "contact": {"phone": "55", "name": "Ana"}, "nudges": {"nudged_at": 1}});
        assert_eq!(nested, parts);
    }
}
