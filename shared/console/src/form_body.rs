//! Makes the JSON of a request from the fields of a form.
//!
//! The name of a field is the path of its value, with dots between (`content.source`). A name may end with the kind of its
//! value:
//!
//! | kind | value |
//! | --- | --- |
//! | `:number`, `:bool`, `:json` | a number, a checked box, any JSON |
//! | `:list` | a list with one entry for each line |
//! | `:words` | a list with one entry for each line or comma |
//! | `:days` | exceptional days of opening hours, one for each line ([`day_lines`](crate::day_lines)) |
//! | `:begin`, `:end` | the time at which a day begins or ends, in UTC |
//! | `:time` | a day and a time, in UTC |
//! | `:null`, `:empty` | a text; if it is empty, `null` or an empty text |
//!
//! An empty field of another kind is left out. A name that begins with `?` is a parameter of the request's query. Names
//! that begin with `_` are for the console itself ([`ApiForm`]).
//!
//! A form is read in two steps, each in time that grows with its size: [`FormFields::split`] counts its fields and the parts
//! of their names, and [`FormFields::into_request`] makes the request of them. Between both, the caller asks whether the session's
//! token opens the route.

use crate::day_lines::{parse_day_lines, read_day_begin, read_day_end, read_utc_time};
use axum::http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

/// Maximum number of fields of a form. The largest page of the console has some 60.
const FIELDS_MAX: usize = 200;

/// Maximum length of the name of a field, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Maximum number of parts of a name, with dots between.
const NAME_PARTS_MAX: usize = 8;

/// Maximum number of entries that one field becomes.
const ENTRIES_MAX: usize = 10_000;

/// A form that becomes a request.
#[derive(Debug, PartialEq)]
pub(crate) struct ApiForm {
    /// `_method`: the method of the request, `POST` if absent.
    pub(crate) method: Method,
    /// The query of the request: empty, or `?` and the parameters.
    pub(crate) query: String,
    /// The body of the request. `None`: the request has none.
    pub(crate) body: Option<FormContent>,
    /// `_key`: the key by which the API knows a repeat.
    pub(crate) idempotency_key: Option<String>,
    /// `_match`: the version of the entry that the request replaces.
    pub(crate) replaced_version: Option<String>,
    /// `_show`: the template that shows the answer in the page.
    pub(crate) shown_by: Option<String>,
    /// `_then`: the page that follows.
    then: Option<String>,
}

/// The body that a form makes.
#[derive(Debug, PartialEq)]
pub(crate) enum FormContent {
    /// The fields as JSON. `_json` is the object to which they are added.
    Json(Value),
    /// `_text` as it is, of the kind in `_type`.
    Text {
        /// The text.
        text: String,
        /// The media type.
        mime_type: String,
    },
}

/// The error of a form that is no request.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum FormError {
    /// The body is no form.
    #[error("the form is malformed")]
    Malformed,
    /// The form has more fields, longer names or more entries than any page makes.
    #[error(
        "the form has more than {FIELDS_MAX} fields, a name of more than {NAME_BYTES_MAX} bytes or {NAME_PARTS_MAX} parts, or a field \
         of more than {ENTRIES_MAX} entries"
    )]
    TooLarge,
    /// A value is not of the kind that its field names.
    #[error("`{field}` must be {expected}")]
    Value {
        /// The field.
        field: String,
        /// The kind of value.
        expected: &'static str,
    },
}

impl ApiForm {
    /// Returns the page that follows, its places filled from the answer.
    pub(crate) fn next_page(&self, answer: &Value) -> Option<String> {
        let then = self.then.as_deref().filter(|path| path.starts_with("/console"))?;
        let fields = answer.as_object().into_iter().flatten();
        let texts = fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        crate::page_request::fill_request_path(then, &texts.collect(), &BTreeMap::new())
    }
}

/// The fields of a form, within their limits.
#[derive(Debug)]
pub(crate) struct FormFields {
    method: Method,
    fields: Vec<(String, String)>,
}

impl FormFields {
    /// Splits a form into its fields.
    pub(crate) fn split(bytes: &[u8]) -> Result<Self, FormError> {
        let text = std::str::from_utf8(bytes).map_err(|_| FormError::Malformed)?;
        let fields = split_form_fields(text)?;
        // A form that names GET is a POST: GET has no body.
        let mut method = Method::POST;
        for (_, value) in fields.iter().filter(|(name, _)| name == "_method") {
            method = match value.parse().map_err(|_| FormError::Malformed)? {
                Method::GET => Method::POST,
                named => named,
            };
        }
        Ok(Self { method, fields })
    }

    /// Returns the method of the request.
    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    /// Makes the request of the fields.
    pub(crate) fn into_request(self) -> Result<ApiForm, FormError> {
        let mut reader = FormReader::default();
        for (name, value) in self.fields {
            reader.add_form_field(&name, value)?;
        }
        Ok(reader.finish_reading(self.method))
    }
}

/// A form of which some fields were read.
#[derive(Default)]
struct FormReader {
    /// The fields that are for the console itself.
    own: BTreeMap<String, String>,
    query: String,
    fields: Map<String, Value>,
    has_fields: bool,
}

impl FormReader {
    fn add_form_field(&mut self, name: &str, value: String) -> Result<(), FormError> {
        if name == "_json" {
            let whole = parse_json(name, &value)?;
            let Value::Object(whole) = whole else {
                return Err(expect_kind(name, "a JSON object"));
            };
            (self.fields, self.has_fields) = (whole, true);
        } else if let Some(own) = name.strip_prefix('_') {
            self.own.insert(own.to_owned(), value);
        } else if let Some(name) = name.strip_prefix('?') {
            let (name, kind) = name.split_once(':').unwrap_or((name, ""));
            if let Some(Value::String(text)) = parse_field_value(name, kind, value)? {
                let text = utf8_percent_encode(&text, NON_ALPHANUMERIC);
                self.query.push(if self.query.is_empty() { '?' } else { '&' });
                self.query.push_str(name);
                self.query.push('=');
                self.query.extend(text);
            }
        } else {
            self.has_fields = true;
            let (path, kind) = name.split_once(':').unwrap_or((name, ""));
            if let Some(value) = parse_field_value(path, kind, value)? {
                insert_at_path(&mut self.fields, path, value);
            }
        }
        Ok(())
    }

    fn finish_reading(mut self, method: Method) -> ApiForm {
        let mut take = |name: &str| self.own.remove(name).filter(|value| !value.is_empty());
        let mime_type = take("type").unwrap_or_else(|| "text/plain".to_owned());
        let body = match take("text") {
            Some(text) => Some(FormContent::Text { text, mime_type }),
            None => self
                .has_fields
                .then_some(FormContent::Json(Value::Object(self.fields))),
        };
        ApiForm {
            body,
            idempotency_key: take("key"),
            replaced_version: take("match"),
            shown_by: take("show"),
            then: take("then"),
            method,
            query: self.query,
        }
    }
}

/// Splits `application/x-www-form-urlencoded`. Of a checked box and the hidden field before it, the last counts.
fn split_form_fields(text: &str) -> Result<Vec<(String, String)>, FormError> {
    let decode = |part: &str| {
        let spaced = part.replace('+', " ");
        percent_encoding::percent_decode_str(&spaced)
            .decode_utf8_lossy()
            .into_owned()
    };
    let mut fields = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name);
        let is_long = name.len() > NAME_BYTES_MAX || name.split('.').count() > NAME_PARTS_MAX;
        if is_long || fields.len() == FIELDS_MAX {
            return Err(FormError::TooLarge);
        }
        fields.push((name, decode(value).replace("\r\n", "\n")));
    }
    Ok(fields)
}

fn expect_kind(field: &str, expected: &'static str) -> FormError {
    FormError::Value {
        field: field.to_owned(),
        expected,
    }
}

fn parse_json(field: &str, text: &str) -> Result<Value, FormError> {
    serde_json::from_str(text).map_err(|_| expect_kind(field, "JSON"))
}

/// The form of a field of exceptional days.
const DAYS_EXPECTED: &str = "lines such as `2026-12-25: closed` or `2026-12-24: 09:00-12:00`";

fn parse_field_value(field: &str, kind: &str, text: String) -> Result<Option<Value>, FormError> {
    let is_empty = text.trim().is_empty();
    let value = match kind {
        "bool" => Value::Bool(matches!(text.as_str(), "on" | "true" | "1")),
        "list" => collect_entries(text.lines())?,
        "words" => collect_entries(text.split(['\n', ',']))?,
        "days" if text.split(['\n', ',']).nth(ENTRIES_MAX).is_some() => return Err(FormError::TooLarge),
        "days" => parse_day_lines(&text).ok_or_else(|| expect_kind(field, DAYS_EXPECTED))?,
        "null" if is_empty => Value::Null,
        "empty" if is_empty => Value::String(String::new()),
        _ if is_empty => return Ok(None),
        "number" => {
            let number = text.trim().replace(',', ".");
            let whole = number.parse::<i64>().ok().map(Number::from);
            let number = whole.or_else(|| number.parse().ok().and_then(Number::from_f64));
            Value::Number(number.ok_or_else(|| expect_kind(field, "a number"))?)
        }
        "json" => parse_json(field, &text)?,
        "begin" => Value::String(read_day_begin(&text).ok_or_else(|| expect_kind(field, "a day"))?),
        "end" => Value::String(read_day_end(&text).ok_or_else(|| expect_kind(field, "a day"))?),
        "time" => Value::String(read_utc_time(&text).ok_or_else(|| expect_kind(field, "a day and a time"))?),
        _ => Value::String(text),
    };
    Ok(Some(value))
}

fn collect_entries<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Value, FormError> {
    let mut entries = parts.map(str::trim).filter(|entry| !entry.is_empty());
    let kept: Value = entries.by_ref().take(ENTRIES_MAX).collect();
    match entries.next() {
        Some(_) => Err(FormError::TooLarge),
        None => Ok(kept),
    }
}

/// Puts a value where its path says. A part of the path that is no object yet becomes one.
fn insert_at_path(body: &mut Map<String, Value>, path: &str, value: Value) {
    let (parents, last) = match path.rsplit_once('.') {
        Some((parents, last)) => (Some(parents), last),
        None => (None, path),
    };
    let mut place = body;
    for part in parents.into_iter().flat_map(|parents| parents.split('.')) {
        let inner = place.entry(part).or_insert(Value::Null);
        if !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        let Value::Object(inner) = inner else { return };
        place = inner;
    }
    place.insert(last.to_owned(), value);
}
