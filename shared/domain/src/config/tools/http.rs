//! A tool that is a request over HTTP.

use super::check::ToolError;
use crate::config::CredentialRef;
use crate::web_url::WebUrl;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Greatest number of headers of a tool.
const HEADERS_MAX: usize = 20;

/// Greatest length of a URL or a header's value, in characters.
const TEXT_MAX: usize = 2_000;

/// The headers that Recado sets itself.
const OWN_HEADERS: [&str; 6] = [
    "host",
    "content-length",
    "content-type",
    "connection",
    "transfer-encoding",
    "upgrade",
];

/// A request over HTTP, with places for the arguments: `{name}` in the path, in the query and in texts of the body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HttpTool {
    /// The method. If absent, GET.
    #[serde(default)]
    pub method: HttpMethod,
    /// The URL. Arguments stand in its path and in the values of its query; they cannot change the host.
    #[cfg_attr(feature = "schema", schema(example = "https://clinic.example/slots/{date}"))]
    pub url: String,
    /// Headers of the request. They are no place for a secret: they are shown as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body, as JSON. If absent, a POST, PUT or PATCH sends the arguments as they are.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The part of the answer that the model reads, as a JSON pointer such as `/slots`. If absent, all of it.
    #[cfg_attr(feature = "schema", schema(example = "/slots"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
    /// Reference to a secret of the tenant that the request carries (`env:NAME` or `ssm:/path/name`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialRef>,
    /// The header that carries the secret.
    #[cfg_attr(feature = "schema", schema(default = "Authorization"))]
    #[serde(default = "default_credential_header")]
    pub credential_header: String,
    /// The words before the secret in its header.
    #[cfg_attr(feature = "schema", schema(default = "Bearer "))]
    #[serde(default = "default_credential_prefix")]
    pub credential_prefix: String,
    /// The header of a tool that acts which carries the id of the effect. If absent, `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// The request by which it is asked whether an effect happened. If absent, nobody can be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<HttpAsk>,
}

/// The place of the effect's id in the URL of [`HttpAsk`].
pub(super) const EFFECT_ID: &str = "effect_id";

/// The header that carries the id of an effect, if the tool names none.
const IDEMPOTENCY_HEADER: &str = "Idempotency-Key";

/// The request by which it is asked whether an effect happened: a GET. 2xx says that it did, 404 that it did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HttpAsk {
    /// The URL, with the effect's id as `{effect_id}` in its path or query.
    #[cfg_attr(
        feature = "schema",
        schema(example = "https://clinic.example/orders/{effect_id}")
    )]
    pub url: String,
    /// The part of the answer that the model reads, as a JSON pointer. If absent, all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
}

impl HttpAsk {
    fn check_question(&self) -> Result<(), ToolError> {
        let mut properties = Map::new();
        properties.insert(EFFECT_ID.to_owned(), Value::Object(Map::new()));
        let mut schema = Map::new();
        schema.insert("properties".to_owned(), Value::Object(properties));
        schema.insert("required".to_owned(), Value::from(vec![EFFECT_ID]));
        if !self.url.contains("{effect_id}") {
            return Err(ToolError::AskWithoutId);
        }
        let pointer = self.select.as_deref().unwrap_or_default();
        if !(pointer.is_empty() || pointer.starts_with('/')) {
            return Err(ToolError::Select);
        }
        check_url(&self.url, &schema, Vec::new()).map_err(|_| ToolError::AskUrl)
    }
}

/// The method of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// GET.
    #[default]
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

impl HttpMethod {
    /// Returns `true` if a request of this method has a body.
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

fn default_credential_header() -> String {
    "Authorization".to_owned()
}

fn default_credential_prefix() -> String {
    "Bearer ".to_owned()
}

impl HttpTool {
    /// Checks the request. `schema` describes the arguments.
    pub(super) fn check_request(&self, schema: &Map<String, Value>) -> Result<(), ToolError> {
        let mut named = Vec::new();
        if let Some(body) = &self.body {
            collect_body_placeholders(body, &mut named)?;
        }
        check_url(&self.url, schema, named)?;
        self.check_headers()?;
        let pointer = self.select.as_deref().unwrap_or_default();
        let method_fits = self.body.is_none() || self.method.has_body();
        match (pointer.is_empty() || pointer.starts_with('/'), method_fits) {
            (false, _) => Err(ToolError::Select),
            (_, false) => Err(ToolError::BodyWithoutMethod),
            (true, true) => Ok(()),
        }
    }

    /// Returns the header that carries the id of an effect.
    pub fn effect_header(&self) -> &str {
        self.idempotency_header.as_deref().unwrap_or(IDEMPOTENCY_HEADER)
    }

    fn has_effect_header_twice(&self) -> bool {
        let mut names = self.headers.keys().chain([&self.credential_header]);
        names.any(|name| name.eq_ignore_ascii_case(self.effect_header()))
    }

    /// Checks what only a tool that acts has, and that it has a method which changes something.
    pub(super) fn check_acting(&self, acts: bool) -> Result<(), ToolError> {
        match (acts, &self.ask, &self.idempotency_header) {
            (false, None, None) => Ok(()),
            (false, _, _) => Err(ToolError::ReadsWithEffect),
            (true, _, _) if self.method == HttpMethod::Get => Err(ToolError::ActsWithGet),
            (true, _, _) if self.has_effect_header_twice() => Err(ToolError::Header),
            (true, Some(ask), _) => ask.check_question(),
            (true, None, _) => Ok(()),
        }
    }

    fn check_headers(&self) -> Result<(), ToolError> {
        let names = self.headers.keys().chain([&self.credential_header]);
        let names = names.chain(&self.idempotency_header);
        let mut seen = BTreeSet::new();
        for name in names {
            let fine = !name.is_empty()
                && name.len() <= 100
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            let name = name.to_ascii_lowercase();
            if !fine || OWN_HEADERS.contains(&name.as_str()) || !seen.insert(name) {
                return Err(ToolError::Header);
            }
        }
        let values = self.headers.values().chain([&self.credential_prefix]);
        let fits = |value: &String| {
            value.len() <= TEXT_MAX && value.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
        };
        if self.headers.len() > HEADERS_MAX || !{ values }.all(fits) {
            return Err(ToolError::Header);
        }
        Ok(())
    }
}

/// Checks a URL with places for arguments. `named` are the arguments of other places.
fn check_url(url: &str, schema: &Map<String, Value>, mut named: Vec<String>) -> Result<(), ToolError> {
    let own = url.split('#').next() == Some(url);
    let authority_end = url.find("://").and_then(|at| {
        let rest = at + 3;
        url[rest..].find(['/', '?']).map(|end| rest + end)
    });
    let (origin, rest) = url.split_at(authority_end.unwrap_or(url.len()));
    let fine = own && !origin.contains(['{', '}']) && url.chars().count() <= TEXT_MAX;
    if !fine || WebUrl::parse(url).is_none() {
        return Err(ToolError::Url);
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let in_path = list_placeholders(path).ok_or(ToolError::Placeholder)?;
    named.extend(in_path.iter().cloned());
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name.contains(['{', '}']) {
            return Err(ToolError::Placeholder);
        }
        named.extend(list_placeholders(value).ok_or(ToolError::Placeholder)?);
    }
    check_names(schema, &in_path, &named)
}

/// Checks that each place names an argument, and those of the path arguments that every call has.
fn check_names(schema: &Map<String, Value>, in_path: &[String], named: &[String]) -> Result<(), ToolError> {
    let known = |name: &String| schema.get("properties").and_then(|all| all.get(name)).is_some();
    if let Some(unknown) = named.iter().find(|name| !known(name)) {
        return Err(ToolError::UnknownArgument(unknown.clone()));
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|all| all.contains(&Value::from(name.as_str())));
    match in_path.iter().find(|name| !is_required(name)) {
        Some(optional) => Err(ToolError::OptionalInPath(optional.clone())),
        None => Ok(()),
    }
}

/// Lists the names between braces in a text. `None`: a brace is without its other.
pub(super) fn list_placeholders(text: &str) -> Option<Vec<String>> {
    let parts = split_template(text)?;
    let names = parts.into_iter().filter_map(|part| match part {
        TemplatePart::Argument(name) => Some(name.to_owned()),
        TemplatePart::Text(_) => None,
    });
    Some(names.collect())
}

/// A part of a text with places for arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplatePart<'a> {
    /// Text that stays as it is.
    Text(&'a str),
    /// The place of an argument.
    Argument(&'a str),
}

/// Splits a text at its places for arguments. `None`: a brace is without its other, or a name is empty.
pub(super) fn split_template(text: &str) -> Option<Vec<TemplatePart<'_>>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if before.contains('}') || name.is_empty() || !name.chars().all(fine) {
            return None;
        }
        parts.push(TemplatePart::Text(before));
        parts.push(TemplatePart::Argument(name));
        rest = after;
    }
    if rest.contains('}') {
        return None;
    }
    parts.push(TemplatePart::Text(rest));
    Some(parts)
}

fn collect_body_placeholders(body: &Value, into: &mut Vec<String>) -> Result<(), ToolError> {
    match body {
        Value::String(text) => into.extend(list_placeholders(text).ok_or(ToolError::Placeholder)?),
        Value::Array(items) => {
            for item in items {
                collect_body_placeholders(item, into)?;
            }
        }
        Value::Object(fields) => {
            for field in fields.values() {
                collect_body_placeholders(field, into)?;
            }
        }
        _ => {}
    }
    Ok(())
}
