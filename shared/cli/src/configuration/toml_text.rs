//! Changes single fields of entries in a text of TOML. Comments and everything else stay as they are.

use anyhow::{Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;

/// A statement of the text: the header of a table, or a key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TomlStatement {
    /// The lines of the statement, with the last line end.
    range: Range<usize>,
    /// The end of the value. A comment may follow.
    value_end: usize,
    what: TomlStatementKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TomlStatementKind {
    /// `[a.b]` or `[[a.b]]`: the parts of the name.
    Header(Vec<String>),
    /// `key = value`: the first part of the key.
    Field(String),
}

/// Changes fields of the entry `id` in the array of tables `table`. A field that gets no value is taken out. Returns the new text.
pub(super) fn change_fields(
    text: &str,
    table: &str,
    id: &str,
    fields: &BTreeMap<String, Option<Value>>,
) -> Result<String> {
    let statements = list_statements(text);
    let Some(block) = find_block(text, &statements, table, id) else {
        bail!("there is no [[{table}]] with the id {id} in the file");
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let own_end = own_fields(block)
        .last()
        .map_or(block[0].range.end, |last| last.range.end);
    for (field, value) in fields {
        let line = value.as_ref().map(|value| format_field(field, value));
        let mut line = line.transpose()?;
        for statement in own_fields(block).iter().filter(|one| one.is_field(field)) {
            let new = line.take().map_or_else(String::new, |line| {
                format!("{line}{}", &text[statement.value_end..statement.range.end])
            });
            edits.push((statement.range.clone(), new));
        }
        let parts = list_parts(block, field);
        edits.extend(parts.into_iter().map(|range| (range, String::new())));
        if let Some(line) = line {
            edits.push((own_end..own_end, format!("{line}\n")));
        }
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut changed = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        let needs_line = range.is_empty() && !changed[..range.start].ends_with('\n');
        let start = if needs_line { "\n" } else { "" };
        changed.replace_range(range, &format!("{start}{new}"));
    }
    Ok(changed)
}

impl TomlStatement {
    fn is_field(&self, name: &str) -> bool {
        matches!(&self.what, TomlStatementKind::Field(key) if key == name)
    }

    /// Returns the parts of the name of a table's header.
    fn header(&self) -> Option<&[String]> {
        match &self.what {
            TomlStatementKind::Header(parts) => Some(parts),
            TomlStatementKind::Field(_) => None,
        }
    }
}

/// Finds the statements of an entry: its header, its fields and its tables.
fn find_block<'a>(
    text: &str,
    statements: &'a [TomlStatement],
    table: &str,
    id: &str,
) -> Option<&'a [TomlStatement]> {
    let is_entry = |one: &TomlStatement| {
        one.header()
            .is_some_and(|name| name.len() == 1 && name[0] == table)
    };
    let is_other = |one: &TomlStatement| {
        one.header()
            .is_some_and(|name| name.len() == 1 || name[0] != table)
    };
    let starts = (0..statements.len()).filter(|place| is_entry(&statements[*place]));
    let mut blocks = starts.map(|start| {
        let rest = &statements[start + 1..];
        let length = rest.iter().position(is_other).unwrap_or(rest.len());
        &statements[start..=start + length]
    });
    blocks.find(|block| {
        let named = own_fields(block).iter().find(|one| one.is_field("id"));
        let line = named.and_then(|one| toml::from_str::<toml::Table>(&text[one.range.clone()]).ok());
        line.is_some_and(|line| line.get("id").and_then(toml::Value::as_str) == Some(id))
    })
}

/// Returns the fields of an entry that stand before its tables.
fn own_fields(block: &[TomlStatement]) -> &[TomlStatement] {
    let fields = &block[1..];
    let end = fields.iter().position(|one| one.header().is_some());
    &fields[..end.unwrap_or(fields.len())]
}

/// Lists where the tables of a field stand, each from its header to its last value.
fn list_parts(block: &[TomlStatement], field: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut is_within = false;
    for statement in &block[1..] {
        if let Some(name) = statement.header() {
            is_within = name.get(1).is_some_and(|part| part == field);
            if is_within {
                parts.push(statement.range.clone());
            }
        } else if let Some(part) = parts.last_mut().filter(|_| is_within) {
            part.end = statement.range.end;
        }
    }
    parts
}

/// Lists the statements of a text that is known to be TOML.
fn list_statements(text: &str) -> Vec<TomlStatement> {
    let bytes = text.as_bytes();
    let (mut statements, mut start) = (Vec::new(), 0);
    while start < bytes.len() {
        let at = start + count_blanks(&bytes[start..]);
        match bytes.get(at) {
            None => break,
            Some(b'#' | b'\n' | b'\r') => start = find_line_end(bytes, at),
            Some(b'[') => {
                let end = find_line_end(bytes, at);
                let line = text[at..end].split('#').next().unwrap_or_default();
                let name = line.trim().trim_matches(['[', ']']);
                let parts = name
                    .split('.')
                    .map(|part| part.trim().trim_matches(['"', '\'']).to_owned());
                statements.push(TomlStatement {
                    range: start..end,
                    value_end: at,
                    what: TomlStatementKind::Header(parts.collect()),
                });
                start = end;
            }
            Some(_) => {
                let (key, after) = read_key(text, at);
                let value_end = find_value_end(bytes, after);
                let end = find_line_end(bytes, value_end);
                statements.push(TomlStatement {
                    range: start..end,
                    value_end,
                    what: TomlStatementKind::Field(key),
                });
                start = end;
            }
        }
    }
    statements
}

fn count_blanks(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// Returns where the line ends at which `at` stands, behind its line end.
fn find_line_end(bytes: &[u8], at: usize) -> usize {
    let end = bytes[at..].iter().position(|byte| *byte == b'\n');
    end.map_or(bytes.len(), |length| at + length + 1)
}

/// Reads the first part of a key. Returns also where its value begins, behind the `=`.
fn read_key(text: &str, start: usize) -> (String, usize) {
    let bytes = text.as_bytes();
    let (mut at, mut first) = (start, None);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => at = skip_string(bytes, at),
            b'.' | b'=' => {
                let part = || text[start..at].trim().trim_matches(['"', '\'']).to_owned();
                first.get_or_insert_with(part);
                at += 1;
                if *byte == b'=' {
                    break;
                }
            }
            _ => at += 1,
        }
    }
    (first.unwrap_or_default(), at)
}

/// Returns where a value ends that begins at `at`.
fn find_value_end(bytes: &[u8], mut at: usize) -> usize {
    let (mut depth, mut end) = (0_usize, at);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' | b'#' if depth == 0 => break,
            b'#' => {
                at = find_line_end(bytes, at);
                continue;
            }
            b'"' | b'\'' => {
                at = skip_string(bytes, at);
                end = at;
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if !byte.is_ascii_whitespace() {
            end = at;
        }
    }
    end
}

/// Returns where a string ends that begins at `at`, behind its last quote.
fn skip_string(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let long = [quote; 3];
    let is_long = bytes[at..].starts_with(&long);
    let mut at = at + if is_long { 3 } else { 1 };
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' && quote == b'"' {
            at += 2;
        } else if *byte != quote {
            at += 1;
        } else if !is_long {
            return at + 1;
        } else if bytes[at..].starts_with(&long) {
            // Up to two quotes may stand before the three that end it.
            let quotes = bytes[at..].iter().take_while(|byte| **byte == quote).count();
            return at + quotes.min(5);
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Formats a field with its value, without a line end.
fn format_field(name: &str, value: &Value) -> Result<String> {
    Ok(format!("{} = {}", format_key(name), format_value(value)?))
}

fn format_key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(is_bare) {
        return name.to_owned();
    }
    quote_text(name)
}

/// Quotes a text on one line. The escapes of JSON are those of TOML, too.
fn quote_text(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn format_value(value: &Value) -> Result<String> {
    Ok(match value {
        Value::String(text) if text.contains('\n') => {
            let lines = text.split('\n').map(|line| {
                let quoted = quote_text(line);
                quoted[1..quoted.len() - 1].to_owned()
            });
            format!("\"\"\"\n{}\"\"\"", lines.collect::<Vec<_>>().join("\n"))
        }
        Value::String(text) => quote_text(text),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let lines: Result<Vec<String>> = items.iter().map(format_value).collect();
            format!("[\n  {},\n]", lines?.join(",\n  "))
        }
        Value::Array(items) => {
            let items: Result<Vec<String>> = items.iter().map(format_value).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            let set: Result<Vec<String>> = set.map(|(name, value)| format_field(name, value)).collect();
            let set = set?;
            if set.is_empty() {
                return Ok("{}".to_owned());
            }
            format!("{{ {} }}", set.join(", "))
        }
        Value::Null => bail!("it holds null, for which TOML has no word"),
        plain => plain.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILE: &str = r#"# The clinic.
[[tenants]]
id = "clinic"

# Who answers.
[[agents]]
id = "ana" # not "bia"
system_prompt = """
You say "[[agents]]" and
# no comment
"""  # as agreed
steps = [
  { id = "a" }, # the first ]
]
[agents.limits]
turns_per_hour = 5
# The second.
[[agents]]
id = 'bia'
"#;

    fn change(id: &str, fields: &Value) -> String {
        let fields = fields.as_object().unwrap().iter();
        let fields = fields.map(|(name, value)| (name.clone(), (!value.is_null()).then(|| value.clone())));
        change_fields(FILE, "agents", id, &fields.collect()).unwrap()
    }

    #[test]
    fn a_field_gets_its_new_value_and_all_else_stays() {
        let changed = change("ana", &json!({"system_prompt": "One\n\"two\" \\ três"}));
        let expected = FILE.replace(
            "You say \"[[agents]]\" and\n# no comment\n\"\"\"",
            "One\n\\\"two\\\" \\\\ três\"\"\"",
        );
        assert_eq!(changed, expected);
        let read: toml::Table = toml::from_str(&changed).unwrap();
        assert_eq!(
            read["agents"][0]["system_prompt"].as_str(),
            Some("One\n\"two\" \\ três")
        );
    }

    #[test]
    fn fields_are_added_and_taken_out_with_their_tables() {
        let limits = json!({"limits": {"turns_per_hour": 7, "reply": null}, "steps": null, "tools": ["t"]});
        let read: toml::Table = toml::from_str(&change("ana", &limits)).unwrap();
        let ana = &read["agents"][0];
        assert_eq!(ana["limits"]["turns_per_hour"].as_integer(), Some(7));
        assert_eq!(ana["tools"][0].as_str(), Some("t"));
        assert!(ana.get("steps").is_none() && ana["limits"].get("reply").is_none());
        assert_eq!(read["agents"][1]["id"].as_str(), Some("bia"));
        let changed = change("bia", &json!({"steps": [{"id": "x", "a b": true}]}));
        let read: toml::Table = toml::from_str(&changed).unwrap();
        assert_eq!(read["agents"][1]["steps"][0]["a b"].as_bool(), Some(true));
        assert!(changed.contains("# The second.\n"), "{changed}");
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let fields = BTreeMap::from([("a".to_owned(), Some(json!([null])))]);
        assert!(change_fields(FILE, "agents", "ana", &fields).is_err());
        assert!(change_fields(FILE, "agents", "nobody", &BTreeMap::new()).is_err());
        assert!(change_fields("[[agents]]\nid = \"x\"", "agents", "x", &BTreeMap::new()).is_ok());
    }
}
