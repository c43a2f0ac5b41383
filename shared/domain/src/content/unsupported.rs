//! Renders content of unknown kinds: the words that people would see of it.

use serde_json::Value;

/// Names of the fields whose texts are for people, in the order in which they are shown.
const SHOWN: [&str; 6] = ["name", "title", "text", "description", "caption", "body"];

/// Names of fields about the message, whose texts are not its own.
const BESIDE: [&str; 6] = ["contextInfo", "context", "errors", "key", "contacts", "metadata"];

/// Greatest depth at which words are looked for.
const DEPTH_MAX: usize = 6;

/// Greatest number of texts, and of characters in all of them, that are shown.
const TEXTS_MAX: usize = 20;
const CHARS_MAX: usize = 1_000;

/// Returns `true` if people see words of content of the unknown kind `kind`.
pub(super) fn has_shown_words(kind: &str, raw: &Value) -> bool {
    !list_texts(kind, raw).is_empty()
}

/// Renders content of the kind `kind`, which came as `raw`.
pub(super) fn render_unsupported(kind: &str, raw: &Value) -> String {
    let texts = list_texts(kind, raw);
    let label = match kind {
        "unsupported" | "unknown" => "[unsupported message]".to_owned(),
        kind if kind.starts_with("unsupported ") => format!("[{kind}]"),
        kind => format!("[unsupported {kind}]"),
    };
    let words: String = texts.join("\n").chars().take(CHARS_MAX).collect();
    format!("{label} {words}").trim_end().to_owned()
}

/// Lists the texts for people: the value of the kind's own field, where that is a text, and those below it.
fn list_texts<'a>(kind: &str, raw: &'a Value) -> Vec<&'a str> {
    let own = raw.get(kind).and_then(Value::as_str).map(str::trim);
    let mut texts: Vec<&str> = own.into_iter().filter(|text| !text.is_empty()).collect();
    collect_texts(raw, DEPTH_MAX, &mut texts);
    texts
}

fn collect_texts<'a>(value: &'a Value, depth: usize, texts: &mut Vec<&'a str>) {
    if depth == 0 || texts.len() >= TEXTS_MAX {
        return;
    }
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(members) => {
            for member in members {
                collect_texts(member, depth - 1, texts);
            }
            return;
        }
        _ => return,
    };
    let own = SHOWN.iter().filter_map(|name| fields.get(*name)?.as_str());
    for text in own.map(str::trim).filter(|text| !text.is_empty()) {
        if texts.len() < TEXTS_MAX && !texts.contains(&text) {
            texts.push(text);
        }
    }
    for (name, inner) in fields {
        if !BESIDE.contains(&name.as_str()) {
            collect_texts(inner, depth - 1, texts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_words_of_an_unknown_kind_are_shown_wherever_they_lie() {
        let raw = json!({"holidayCardMessage": {
            "cards": [{"header": {"title": "Boas festas"}, "body": " Até janeiro! "}, {"body": "Até janeiro!"}],
            "caption": "da equipe", "code": "X1", "contextInfo": {"quotedMessage": {"text": "no"}}, "name": ""}});
        assert_eq!(
            render_unsupported("holidayCardMessage", &raw),
            "[unsupported holidayCardMessage] da equipe\nAté janeiro!\nBoas festas"
        );
        let failed = json!({"type": "unsupported", "errors": [{"title": "Unsupported", "code": 131_051}]});
        assert_eq!(
            render_unsupported("unsupported", &failed),
            "[unsupported message]"
        );
        assert_eq!(
            render_unsupported("unsupported poll_creation", &failed),
            "[unsupported poll_creation]"
        );
    }

    #[test]
    fn the_value_of_an_unknown_kind_that_is_a_text_is_shown() {
        let raw = json!({"shoutMessage": " gritando aqui ", "messageContextInfo": {"text": "gritando aqui"}});
        assert_eq!(
            render_unsupported("shoutMessage", &raw),
            "[unsupported shoutMessage] gritando aqui"
        );
        assert!(has_shown_words("shoutMessage", &raw));
        let empty = json!({"shoutMessage": " ", "id": "A1"});
        assert_eq!(
            render_unsupported("shoutMessage", &empty),
            "[unsupported shoutMessage]"
        );
        assert!(!has_shown_words("shoutMessage", &empty));
    }

    #[test]
    fn a_large_or_deep_body_is_cut() {
        let long = json!({"x": {"text": "á".repeat(5_000)}});
        assert_eq!(
            render_unsupported("x", &long).chars().count(),
            "[unsupported x] ".len() + CHARS_MAX
        );
        let many: Vec<Value> = (0..100).map(|at| json!({"name": format!("n{at}")})).collect();
        assert_eq!(render_unsupported("x", &json!(many)).lines().count(), TEXTS_MAX);
        let deep = (0..50).fold(json!({"text": "far"}), |inner, _| json!({ "next": inner }));
        assert_eq!(render_unsupported("x", &deep), "[unsupported x]");
    }
}
