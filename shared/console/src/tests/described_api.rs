//! The API as `docs/openapi.json` describes it: its routes, samples of its answers, and whether it takes a request.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// How deep samples go.
const DEPTH_MAX: usize = 8;

/// Words in fields named `status` that no schema lists.
const STATUS_WORDS: [&str; 4] = ["running", "paused", "preparing", "confirmed"];

/// The description of the API.
pub(super) struct DescribedApi {
    described: Value,
    /// The routes, as method and path.
    routes: Vec<(String, String)>,
}

/// How a sample is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleKind {
    /// The text in every field that is no code and no time.
    pub(super) text: &'static str,
    /// Which of the codes of a field.
    pub(super) code: usize,
    /// `false`: only with the fields that are always there, and lists are empty.
    pub(super) is_full: bool,
}

impl DescribedApi {
    /// Returns the description, which is read once.
    pub(super) fn shared() -> &'static Self {
        static READ: LazyLock<DescribedApi> = LazyLock::new(DescribedApi::load);
        &READ
    }

    fn load() -> Self {
        let text = include_str!("../../../../docs/openapi.json");
        let described: Value = serde_json::from_str(text).unwrap();
        let paths = described["paths"].as_object().unwrap();
        let routes = paths.iter().flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(move |method| (method.to_uppercase(), path.clone()))
        });
        let routes = routes.collect();
        Self { described, routes }
    }

    /// Lists the routes, as method and path.
    pub(super) fn list_routes(&self) -> &[(String, String)] {
        &self.routes
    }

    /// Finds the route of a request.
    pub(super) fn find_route(&self, method: &str, path: &str) -> Option<String> {
        let wanted: Vec<&str> = path.split('/').collect();
        let fits = |route: &str| {
            let parts: Vec<&str> = route.split('/').collect();
            parts.len() == wanted.len()
                && parts
                    .iter()
                    .zip(&wanted)
                    .all(|(part, word)| part == word || (part.starts_with('{') && !word.is_empty()))
        };
        let routes = self.routes.iter().filter(|(known, _)| known == method);
        let mut found: Vec<&String> = routes
            .map(|(_, route)| route)
            .filter(|route| fits(route))
            .collect();
        // A word counts before a parameter.
        found.sort_by_key(|route| route.matches('{').count());
        found.first().map(|route| (*route).clone())
    }

    fn operation(&self, method: &str, route: &str) -> &Value {
        &self.described["paths"][route][method.to_lowercase()]
    }

    /// Lists the parameters of a route's query.
    pub(super) fn list_query(&self, method: &str, route: &str) -> BTreeSet<String> {
        let params = self.operation(method, route)["parameters"].as_array();
        let of_query = params.into_iter().flatten().filter(|one| one["in"] == "query");
        of_query
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Makes an answer of a route. `None`: it has no JSON.
    pub(super) fn make_answer(&self, method: &str, route: &str, kind: SampleKind) -> Option<Value> {
        let responses = self.operation(method, route)["responses"].as_object()?;
        let (_, success) = responses.iter().rfind(|(code, _)| code.starts_with('2'))?;
        let schema = &success["content"]["application/json"]["schema"];
        schema.is_object().then(|| self.make_sample(schema, "", kind, 0))
    }

    /// Lists the codes of a schema.
    pub(super) fn codes_of(&self, schema: &str) -> Vec<String> {
        let codes = self.described["components"]["schemas"][schema]["enum"].as_array();
        let codes = codes.into_iter().flatten().filter_map(Value::as_str);
        codes.map(str::to_owned).collect()
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(name) => &self.described["components"]["schemas"][name.rsplit('/').next().unwrap()],
            None => schema,
        }
    }

    fn make_sample(&self, schema: &Value, name: &str, kind: SampleKind, depth: usize) -> Value {
        let schema = self.resolve(schema);
        if let Some(parts) = schema["allOf"].as_array() {
            let samples = parts.iter().map(|part| self.make_sample(part, name, kind, depth));
            return samples.fold(json!({}), merge);
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(parts) = schema[choice].as_array() {
                let some: Vec<_> = parts.iter().filter(|part| part["type"] != "null").collect();
                if !kind.is_full && some.len() < parts.len() {
                    return Value::Null;
                }
                return self.make_sample(some[kind.code / 2 % some.len()], name, kind, depth);
            }
        }
        if let Some(codes) = schema["enum"].as_array() {
            return codes[kind.code % codes.len()].clone();
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::String(one) => vec![one],
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        if !kind.is_full && types.contains(&"null") {
            return Value::Null;
        }
        match types.first().copied() {
            _ if schema["properties"].is_object() => self.make_object(schema, kind, depth),
            Some("object") => json!({kind.text: kind.text}),
            Some("array") if !kind.is_full || depth > DEPTH_MAX => json!([]),
            Some("array") => json!([
                self.make_sample(&schema["items"], name, kind, depth + 1),
                self.make_sample(
                    &schema["items"],
                    name,
                    SampleKind {
                        code: kind.code + 1,
                        ..kind
                    },
                    depth + 1
                ),
            ]),
            Some("boolean") => json!(kind.code.is_multiple_of(2)),
            Some("integer") => json!(7),
            Some("number") => json!(1.5),
            Some("string") if schema["format"] == "date-time" => json!("2026-11-27T10:00:00Z"),
            Some("string") if schema["format"] == "date" => json!("2026-11-27"),
            Some("null") => Value::Null,
            // The words of batches, guests and invitations have no schema.
            Some("string") if name == "status" => json!(STATUS_WORDS[kind.code % STATUS_WORDS.len()]),
            // What a timeline tells of a stage has no schema.
            None if name == "detail" => json!({
                "waited_for": "debounce", "attempts": 1, "covers": 3, "model": kind.text, "input_tokens": 9, "output_tokens": 3,
                "steps": [{"step": "read", "ms": 3}, {"step": "model", "ms": 812}],
                "knowledge": {"search": "lexical", "vectors": null, "gap": kind.text, "whole": 12,
                    "blocks": [{"source": "k_1", "title": kind.text, "place": kind.text, "score": 1.25}]},
                "tools": [{"name": kind.text}], "no_answer": "stale", "waits_for": "person", "by": kind.text, "why": kind.text,
                "effects": [{"number": 1, "tool": kind.text, "arguments": {"a": kind.text}, "state": "unknown", "result": kind.text}],
            }),
            _ => json!(kind.text),
        }
    }

    fn make_object(&self, schema: &Value, kind: SampleKind, depth: usize) -> Value {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut made = Map::new();
        for (name, property) in schema["properties"].as_object().unwrap() {
            let is_wanted = required.contains(&json!(name)) || (kind.is_full && depth <= DEPTH_MAX);
            if is_wanted {
                made.insert(name.clone(), self.make_sample(property, name, kind, depth + 1));
            }
        }
        Value::Object(made)
    }

    /// Says why the route does not take this body; `None` if it does.
    pub(super) fn find_fault(&self, method: &str, route: &str, body: &Value) -> Option<String> {
        let schema = &self.operation(method, route)["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            return Some(format!("{method} {route} takes no JSON"));
        }
        self.check_value(schema, body, "body")
    }

    fn check_value(&self, schema: &Value, value: &Value, place: &str) -> Option<String> {
        let schema = self.resolve(schema);
        if let Some(parts) = schema["allOf"].as_array() {
            // Each part names some of the fields.
            let names = parts.iter().flat_map(|part| self.property_names(part));
            let names: BTreeSet<String> = names.collect();
            let unknown = value.as_object()?.keys().find(|name| !names.contains(*name));
            return unknown.map(|name| format!("{place}: unknown field {name}"));
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(parts) = schema[choice].as_array() {
                let faults: Vec<_> = parts
                    .iter()
                    .map(|part| self.check_value(part, value, place))
                    .collect();
                return faults.into_iter().min_by_key(Option::is_some).flatten();
            }
        }
        if let Some(codes) = schema["enum"].as_array() {
            return (!codes.contains(value)).then(|| format!("{place}: {value} is none of {codes:?}"));
        }
        let types = match &schema["type"] {
            Value::Null => return None,
            Value::Array(many) => many.clone(),
            one => vec![one.clone()],
        };
        let is = |name: &str| types.contains(&json!(name));
        let fits = match value {
            Value::Null => is("null"),
            Value::Bool(_) => is("boolean"),
            Value::Number(number) => is("number") || (is("integer") && number.is_i64()),
            Value::String(_) => is("string"),
            Value::Array(_) => is("array"),
            Value::Object(_) => is("object"),
        };
        if !fits {
            return Some(format!("{place}: {value} is no {types:?}"));
        }
        match value {
            Value::Array(items) => items
                .iter()
                .find_map(|item| self.check_value(&schema["items"], item, &format!("{place}[]"))),
            Value::Object(fields) if schema["properties"].is_object() => {
                self.check_fields(schema, fields, place)
            }
            _ => None,
        }
    }

    fn check_fields(&self, schema: &Value, fields: &Map<String, Value>, place: &str) -> Option<String> {
        let required = schema["required"].as_array().into_iter().flatten();
        let missing = required
            .filter_map(Value::as_str)
            .find(|name| !fields.contains_key(*name));
        if let Some(name) = missing {
            return Some(format!("{place}: {name} is missing"));
        }
        fields.iter().find_map(|(name, value)| {
            let place = format!("{place}.{name}");
            match schema["properties"].get(name) {
                Some(property) => self.check_value(property, value, &place),
                None => Some(format!("{place} is unknown")),
            }
        })
    }

    fn property_names(&self, schema: &Value) -> Vec<String> {
        let schema = self.resolve(schema);
        let own = schema["properties"].as_object().into_iter().flatten();
        let mut names: Vec<String> = own.map(|(name, _)| name.clone()).collect();
        for choice in ["oneOf", "anyOf", "allOf"] {
            for part in schema[choice].as_array().into_iter().flatten() {
                names.extend(self.property_names(part));
            }
        }
        names
    }
}

fn merge(mut whole: Value, part: Value) -> Value {
    if let (Value::Object(whole), Value::Object(part)) = (&mut whole, part) {
        whole.extend(part);
    }
    whole
}
