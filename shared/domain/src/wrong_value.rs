//! Plain words for a wrong value, in place of those that a reader of JSON or TOML has for it.

use crate::config::SES_REFUSED;

/// The words of a reader about the field that only e-mail senders of the kind `ses` had.
const REGION_OF_SES: &str = "unknown field `region`, expected one of `id`, `kind`, `from`";

/// Puts the words of a reader into plain ones: `invalid type: integer 5, expected struct Rate` becomes `it must be an object, and is
/// 5`. `group` is what the format calls a group of fields.
pub fn describe_wrong_value(message: &str, group: &str) -> String {
    let wrong = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.strip_prefix(start)?.rsplit_once(", expected "));
    if let Some((found, expected)) = wrong {
        let expected = name_expected(expected, group);
        return format!("it must be {expected}, and is {}", name_found(found, group));
    }
    if let Some(words) = message.strip_prefix("unknown variant ") {
        return format!("unknown word {words}");
    }
    match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "it must be a whole number".to_owned()
        }
        "number too large to fit in target type" => "the number is too large".to_owned(),
        _ if message.starts_with("data did not match any variant of untagged enum ") => {
            "it has none of the forms that it may have".to_owned()
        }
        // The kind may stand behind it.
        _ if message.starts_with(REGION_OF_SES) => format!("unknown field `region`: {SES_REFUSED}"),
        _ => message.to_owned(),
    }
}

/// Names what a reader expects. Types have the names of Rust; what our own readers say stays as it is.
fn name_expected<'a>(expected: &'a str, group: &'a str) -> &'a str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a string" | "a borrowed string" => "a text",
        "a sequence" => "a list",
        "a map" => group,
        "string or map" | "string or table" => "a word or a group of fields",
        "variant identifier" | "field identifier" => "a word",
        _ if expected.starts_with("a nonzero ") => "a whole number from 1 on",
        _ if expected.starts_with("enum ") => "a word or a group of fields",
        _ if expected.starts_with("struct ") || expected.contains("tagged enum ") => group,
        _ if expected.starts_with("tuple ") || expected.starts_with("a tuple ") => "a list",
        _ => expected,
    }
}

/// Names what a reader found.
fn name_found(found: &str, group: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => group.to_owned(),
        "null" | "unit value" | "Option value" => "`null`".to_owned(),
        _ => {
            let value = ["integer ", "floating point ", "boolean "]
                .iter()
                .find_map(|kind| found.strip_prefix(kind));
            let text = found
                .strip_prefix("string ")
                .map(|text| format!("the text {text}"));
            text.unwrap_or_else(|| value.unwrap_or(found).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EmailSender;
    use serde::Deserialize;
    use serde_json::{Value, from_value, json};

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is read alone")]
    struct Entry {
        rate: Option<Rate>,
        names: Option<Vec<String>>,
        small: Option<u8>,
        is_on: Option<bool>,
        word: Option<Word>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is read alone")]
    struct Rate {
        per_second: f64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        Never,
        AtResolve,
    }

    fn describe(entry: Value) -> String {
        let error = from_value::<Entry>(entry).unwrap_err().to_string();
        describe_wrong_value(&error, "an object")
    }

    #[test]
    fn a_wrong_value_is_described_without_the_names_of_types() {
        let cases = [
            (json!({"rate": 5}), "it must be an object, and is `5`"),
            (
                json!({"rate": {"per_second": "x"}}),
                "it must be a number, and is the text \"x\"",
            ),
            (json!({"rate": {}}), "missing field `per_second`"),
            (json!({"names": "x"}), "it must be a list, and is the text \"x\""),
            (json!({"names": [true]}), "it must be a text, and is `true`"),
            (
                json!({"small": 300}),
                "it must be a whole number from 0 to 255, and is `300`",
            ),
            (
                json!({"is_on": "yes"}),
                "it must be `true` or `false`, and is the text \"yes\"",
            ),
            (
                json!({"is_on": null, "small": {}}),
                "it must be a whole number from 0 to 255, and is an object",
            ),
            (
                json!({"word": "later"}),
                "unknown word `later`, expected `never` or `at_resolve`",
            ),
        ];
        for (entry, expected) in cases {
            assert_eq!(describe(entry.clone()), expected, "{entry}");
        }
    }

    #[test]
    fn a_sender_of_the_kind_that_there_was_once_is_refused_in_any_order() {
        for fields in [
            r#""kind": "ses", "region": "sa-east-1""#,
            r#""region": "sa-east-1", "kind": "ses""#,
        ] {
            let error = serde_json::from_str::<EmailSender>(&format!("{{{fields}}}")).unwrap_err();
            let told = describe_wrong_value(&error.to_string(), "an object");
            assert!(told.contains(SES_REFUSED), "{told}");
        }
    }

    #[test]
    fn what_our_own_readers_say_stays_as_it_is() {
        let told = "instance id is malformed";
        assert_eq!(describe_wrong_value(told, "an object"), told);
        let found = "invalid type: integer `5`, expected a list of hours";
        assert_eq!(
            describe_wrong_value(found, "a table"),
            "it must be a list of hours, and is `5`"
        );
        assert_eq!(
            describe_wrong_value("invalid digit found in string", "an object"),
            "it must be a whole number"
        );
    }
}
