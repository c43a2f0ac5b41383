//! The request over HTTP that a call of a tool makes.

use super::http::{EFFECT_ID, HttpAsk, HttpMethod, HttpTool, TemplatePart, split_template};
use serde_json::{Map, Value};

/// Greatest length of a request's URL, in bytes.
const URL_MAX: usize = 8_000;

/// A request over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpToolRequest {
    /// The method.
    pub method: HttpMethod,
    /// The URL, with the arguments in their places.
    pub url: String,
    /// The body, as JSON.
    pub body: Option<Value>,
}

/// The reasons why arguments make no request. The texts are for the model that gave them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// An argument that the path needs is missing.
    #[error("`{0}` is missing")]
    Missing(String),
    /// An argument would change the path itself.
    #[error("`{0}` must not be empty, `.` or `..`")]
    PathPart(String),
    /// The URL would be too long.
    #[error("the arguments are too long")]
    TooLong,
}

impl HttpAsk {
    /// Builds the URL that asks for the effect with this id.
    pub fn build_url(&self, effect: &str) -> Result<String, ArgumentError> {
        let mut id = Map::new();
        id.insert(EFFECT_ID.to_owned(), Value::from(effect));
        fill_url_template(&self.url, &Value::Object(id))
    }

    /// Returns the part of an answer that the model reads.
    pub fn select_answer(&self, answer: &str) -> String {
        select_part(self.select.as_deref(), answer)
    }
}

impl HttpTool {
    /// Builds the request of a call. Whatever an argument holds, it changes neither the host nor the parts of the path, and no
    /// other argument.
    pub fn build_request(&self, arguments: &Value) -> Result<HttpToolRequest, ArgumentError> {
        let url = fill_url_template(&self.url, arguments)?;
        let body = match &self.body {
            Some(template) => fill_body(template, arguments),
            None if self.method.has_body() => Some(arguments.clone()),
            None => None,
        };
        Ok(HttpToolRequest {
            method: self.method,
            url,
            body,
        })
    }

    /// Returns the part of an answer that the model reads. A text that is no JSON is read as it is.
    pub fn select_answer(&self, answer: &str) -> String {
        select_part(self.select.as_deref(), answer)
    }
}

/// Returns the part of an answer at a JSON pointer. A text that is no JSON is returned as it is.
fn select_part(pointer: Option<&str>, answer: &str) -> String {
    let Some(pointer) = pointer else {
        return answer.trim().to_owned();
    };
    let Ok(answer) = serde_json::from_str::<Value>(answer) else {
        return answer.trim().to_owned();
    };
    match answer.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(part) => part.to_string(),
        None => "null".to_owned(),
    }
}

/// Fills the places of a URL.
fn fill_url_template(template: &str, arguments: &Value) -> Result<String, ArgumentError> {
    let (place, query) = template.split_once('?').unwrap_or((template, ""));
    let mut url = fill_path(place, arguments)?;
    let pairs: Vec<String> = query
        .split('&')
        .filter_map(|pair| fill_pair(pair, arguments))
        .collect();
    if !pairs.is_empty() {
        url.push('?');
        url.push_str(&pairs.join("&"));
    }
    if url.len() > URL_MAX {
        return Err(ArgumentError::TooLong);
    }
    Ok(url)
}

/// Fills the places of a URL before its query. Each part of the path stays one part.
fn fill_path(place: &str, arguments: &Value) -> Result<String, ArgumentError> {
    let filled = place.split('/').map(|part| {
        let mut filled = String::new();
        let mut named = None;
        for piece in split_template(part).unwrap_or_default() {
            match piece {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Argument(name) => {
                    named = Some(name);
                    let missing = || ArgumentError::Missing(name.to_owned());
                    filled.push_str(&encode_argument(&find_text(arguments, name).ok_or_else(missing)?));
                }
            }
        }
        match named {
            Some(name) if ["", ".", ".."].contains(&filled.as_str()) => {
                Err(ArgumentError::PathPart(name.to_owned()))
            }
            _ => Ok(filled),
        }
    });
    let parts: Vec<String> = filled.collect::<Result<_, _>>()?;
    Ok(parts.join("/"))
}

/// Fills a pair of the query. `None`: an argument of it is missing, so the pair is left out.
fn fill_pair(pair: &str, arguments: &Value) -> Option<String> {
    if pair.is_empty() {
        return None;
    }
    let mut filled = String::new();
    for piece in split_template(pair)? {
        match piece {
            TemplatePart::Text(text) => filled.push_str(text),
            TemplatePart::Argument(name) => filled.push_str(&encode_argument(&find_text(arguments, name)?)),
        }
    }
    Some(filled)
}

/// Fills the texts of a body. A text that is the place of one argument alone becomes its value. `None`: that is missing.
fn fill_body(template: &Value, arguments: &Value) -> Option<Value> {
    match template {
        Value::String(text) => {
            let pieces = split_template(text).unwrap_or_default();
            if let [
                TemplatePart::Text(""),
                TemplatePart::Argument(name),
                TemplatePart::Text(""),
            ] = pieces[..]
            {
                return arguments.get(name).cloned();
            }
            let filled = pieces.into_iter().map(|piece| match piece {
                TemplatePart::Text(text) => text.to_owned(),
                TemplatePart::Argument(name) => find_text(arguments, name).unwrap_or_default(),
            });
            Some(Value::String(filled.collect()))
        }
        Value::Array(items) => {
            let filled = items
                .iter()
                .map(|item| fill_body(item, arguments).unwrap_or(Value::Null));
            Some(Value::Array(filled.collect()))
        }
        Value::Object(fields) => {
            let filled = fields
                .iter()
                .filter_map(|(name, field)| Some((name.clone(), fill_body(field, arguments)?)));
            Some(Value::Object(filled.collect::<Map<_, _>>()))
        }
        other => Some(other.clone()),
    }
}

/// Returns an argument as text. `None`: it is missing or `null`.
fn find_text(arguments: &Value, name: &str) -> Option<String> {
    match arguments.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Encodes a text for a part of the path or of the query: all but letters, digits and `-._~`.
fn encode_argument(text: &str) -> String {
    use std::fmt::Write;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn tool(change: &Value) -> HttpTool {
        let mut tool = json!({"url": "https://clinic.example/slots/{date}?doctor={doctor}&kind=short"});
        for (name, value) in change.as_object().unwrap() {
            tool[name] = value.clone();
        }
        serde_json::from_value(tool).unwrap()
    }

    fn url(arguments: &Value) -> Result<String, ArgumentError> {
        tool(&json!({}))
            .build_request(arguments)
            .map(|request| request.url)
    }

    #[test]
    fn arguments_stand_in_their_places_and_a_pair_without_its_argument_is_left_out() {
        let all = json!({"date": "2026-01-31", "doctor": "Ana & Zoë"});
        assert_eq!(
            url(&all).unwrap(),
            "https://clinic.example/slots/2026-01-31?doctor=Ana%20%26%20Zo%C3%AB&kind=short"
        );
        for few in [json!({"date": 5}), json!({"date": 5, "doctor": null})] {
            assert_eq!(url(&few).unwrap(), "https://clinic.example/slots/5?kind=short");
        }
        assert_eq!(url(&json!({})), Err(ArgumentError::Missing("date".to_owned())));
        let long = json!({"date": "x".repeat(9_000)});
        assert_eq!(url(&long), Err(ArgumentError::TooLong));
    }

    #[test]
    fn no_argument_changes_the_host_or_the_parts_of_the_path() {
        for date in ["..", ".", ""] {
            assert_eq!(
                url(&json!({"date": date})),
                Err(ArgumentError::PathPart("date".to_owned()))
            );
        }
        for date in [
            "../admin",
            "a/b",
            "a?b=c",
            "a#b",
            "@evil.example",
            "\\\\evil",
            "%2e%2e",
            "a\r\nX: y",
        ] {
            let url = url(&json!({"date": date})).unwrap();
            let rest = url.strip_prefix("https://clinic.example/slots/").unwrap();
            let part = rest.strip_suffix("?kind=short").unwrap();
            assert!(
                !part.contains(['/', '?', '#', '@', '\\', '\r', '\n', ' ']),
                "{url}"
            );
            assert!(part != "%2e%2e", "{url}");
        }
    }

    #[test]
    fn a_body_is_the_arguments_or_what_its_template_makes_of_them() {
        let arguments = json!({"date": "d", "doctor": {"id": 7}});
        let post = tool(&json!({"method": "POST"}));
        assert_eq!(
            post.build_request(&arguments).unwrap().body,
            Some(arguments.clone())
        );
        let template = json!({"day": "{date}", "who": "{doctor}", "text": "on {date} with {doctor}", "none": "{x}",
            "list": ["{x}", 1, true]});
        let post = tool(&json!({"method": "POST", "body": template}));
        let expected =
            json!({"day": "d", "who": {"id": 7}, "text": "on d with {\"id\":7}", "list": [null, 1, true]});
        assert_eq!(post.build_request(&arguments).unwrap().body, Some(expected));
        assert_eq!(tool(&json!({})).build_request(&arguments).unwrap().body, None);
    }

    #[test]
    fn the_model_reads_the_part_that_is_selected() {
        let select = |pointer: &str, answer: &str| tool(&json!({"select": pointer})).select_answer(answer);
        assert_eq!(select("/slots", r#"{"slots": ["9:00"]}"#), r#"["9:00"]"#);
        assert_eq!(select("/a/0", r#"{"a": ["text"]}"#), "text");
        assert_eq!(select("/b", r#"{"a": 1}"#), "null");
        assert_eq!(select("/b", " no JSON "), "no JSON");
        assert_eq!(tool(&json!({})).select_answer(" {} "), "{}");
    }

    proptest! {
        #[test]
        fn whatever_an_argument_holds_the_url_has_the_same_parts(date in ".*", doctor in ".*") {
            if let Ok(url) = url(&json!({"date": date, "doctor": doctor})) {
                let rest = url.strip_prefix("https://clinic.example/slots/").unwrap();
                prop_assert_eq!(url.matches('/').count(), 4);
                prop_assert_eq!((rest.matches('?').count(), rest.matches('&').count()), (1, 1));
                prop_assert!(rest.is_ascii() && rest.ends_with("&kind=short"));
            }
        }
    }
}
