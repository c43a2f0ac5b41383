//! Says why a JSON body is not read, and which field is wrong.

use recado_domain::wrong_value::describe_wrong_value;

/// A group that is open at some place of a body: the field of an object that is read there, or the number of a list's item.
enum OpenGroup {
    Object(String),
    List(usize),
}

/// Describes why a body was not read: what is wrong, and with which field. A body that is no JSON has a line and a column instead.
pub(crate) fn describe_body_fault(body: &[u8], error: &serde_json::Error) -> String {
    let told = error.to_string();
    if !error.is_data() {
        return told;
    }
    let position = format!(" at line {} column {}", error.line(), error.column());
    let why = describe_wrong_value(told.strip_suffix(&position).unwrap_or(&told), "an object");
    match name_place(read_before(body, error)) {
        place if place.is_empty() => why,
        place => format!("`{place}`: {why}"),
    }
}

/// Returns the part of a body that was read before an error.
fn read_before<'a>(body: &'a [u8], error: &serde_json::Error) -> &'a [u8] {
    let lines = body.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    body.get(..before + error.column()).unwrap_or(body)
}

/// Names the place at which sound JSON ends, such as `agents[0].limits`. Behind the end of a group it is that group's.
fn name_place(json: &[u8]) -> String {
    let mut open: Vec<OpenGroup> = Vec::new();
    let (mut at, mut is_name) = (0, false);
    while let Some(byte) = json.get(at) {
        match byte {
            b'{' => {
                open.push(OpenGroup::Object(String::new()));
                is_name = true;
            }
            b'[' => open.push(OpenGroup::List(0)),
            b'}' | b']' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(OpenGroup::List(item)) => *item += 1,
                Some(OpenGroup::Object(_)) => is_name = true,
                None => {}
            },
            b'"' => {
                let text = &json[at..at + text_length(&json[at..])];
                if let (true, Some(OpenGroup::Object(name))) = (is_name, open.last_mut()) {
                    *name = serde_json::from_slice(text).unwrap_or_default();
                    is_name = false;
                }
                at += text.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    join_place(&open)
}

/// Returns the length of the text that begins here, with its quotes.
fn text_length(json: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = json.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}

fn join_place(open: &[OpenGroup]) -> String {
    let mut place = String::new();
    for group in open {
        match group {
            OpenGroup::Object(name) => {
                if !place.is_empty() && !name.is_empty() {
                    place.push('.');
                }
                place.push_str(name);
            }
            OpenGroup::List(item) => place.extend(["[", &item.to_string(), "]"]),
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_that_of_the_field_or_of_the_group_that_ended() {
        for (json, place) in [
            ("", ""),
            (r#"{"a""#, "a"),
            (r#"{"a": [{"b": 1}, {"c\"}": "#, "a[1].c\"}"),
            (r#"{"a": [{}, "x, \"y\"", {"b": {"c": [1, 2]}"#, "a[2].b"),
            (r#"{"a": {"b": "\\"}, "c": 5"#, "c"),
            (r"[[1], 2", "[1]"),
            (r#"{"a": {}}"#, ""),
        ] {
            assert_eq!(name_place(json.as_bytes()), place, "{json}");
        }
    }
}
