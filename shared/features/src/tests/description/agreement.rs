//! Holds requests and answers of the tests against the description. Stricter than JSON Schema: a field that is not
//! described is a fault.

use crate::tests::Answered;
use crate::tests::description::{Value, operations};
use std::collections::BTreeSet;

/// Checks that the answer, and the request's body if it was accepted, are as described. Paths that do not exist are left
/// out.
pub(crate) fn check_agreement(api: &Value, method: &str, path: &str, sent: &[u8], answered: &Answered) {
    if answered.body["detail"] == "there is no such route" {
        return;
    }
    let path = path.split('?').next().unwrap();
    let called = |(told, route, _): &(String, &str, &Value)| told == method && fits(route, path);
    // A path without parameters goes before one with: `/v1/contacts/find`.
    let Some((_, _, operation)) = operations(api)
        .filter(called)
        .min_by_key(|(_, route, _)| route.matches('{').count())
    else {
        return;
    };
    let place = format!("{method} {path}");
    let answer = resolve(api, &operation["responses"][answered.status.as_str()]);
    assert!(
        answer.is_object(),
        "{place}: {} is not described",
        answered.status
    );
    if let Some(content) = answer["content"].as_object() {
        let told = answered.header("content-type").unwrap();
        let (_, content) = content
            .iter()
            .find(|(kind, _)| *kind == "*/*" || told.starts_with(kind.as_str()))
            .unwrap_or_else(|| panic!("{place}: {told} is not described"));
        if told.contains("json") && !told.contains("ndjson") {
            agree(api, &content["schema"], &answered.body, &place);
        }
    }
    let kinds = &operation["requestBody"]["content"];
    let request = &kinds["application/json"]["schema"];
    if answered.status.is_success() && request.is_object() && !sent.is_empty() {
        match serde_json::from_slice(sent) {
            Ok(sent) => agree(api, request, &sent, &format!("{place}, request")),
            Err(error) => assert!(kinds["text/csv"].is_object(), "{place}: {error}"),
        }
    }
}

pub(super) fn fits(route: &str, path: &str) -> bool {
    let (route, path): (Vec<_>, Vec<_>) = (route.split('/').collect(), path.split('/').collect());
    route.len() == path.len()
        && route
            .iter()
            .zip(path)
            .all(|(told, part)| told.starts_with('{') || *told == part)
}

fn resolve<'a>(api: &'a Value, told: &'a Value) -> &'a Value {
    let name = told["$ref"].as_str();
    name.map_or(told, |name| api.pointer(&name[1..]).unwrap())
}

fn agree(api: &Value, schema: &Value, value: &Value, place: &str) {
    let fault = find_fault(api, schema, value, true);
    assert_eq!(fault, None, "{place} is not as described: {value}");
}

/// The first place at which a value is not as its schema says. `closed`: fields that the schema does not name are
/// faults.
fn find_fault(api: &Value, schema: &Value, value: &Value, closed: bool) -> Option<String> {
    let schema = resolve(api, schema);
    if let Some(either) = schema["oneOf"].as_array() {
        let faults: Vec<_> = either
            .iter()
            .filter_map(|one| find_fault(api, one, value, closed))
            .collect();
        return (faults.len() + 1 != either.len())
            .then(|| format!("{} of {}: {faults:?}", either.len() - faults.len(), either.len()));
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let fault = find_fault(api, part, value, false);
        if fault.is_some() {
            return fault;
        }
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fine = |told: &Value| told == kind || (told == "number" && kind == "integer");
    match &schema["type"] {
        Value::Null => {}
        Value::Array(kinds) if kinds.iter().any(fine) => {}
        told if fine(told) => {}
        told => return Some(format!("{kind} in place of {told}")),
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Some(format!("{value} is none of {words:?}"));
    }
    let mut items = value.as_array().into_iter().flatten();
    let fault = items.find_map(|item| find_fault(api, &schema["items"], item, true));
    fault.or_else(|| find_field_fault(api, schema, value, closed))
}

fn find_field_fault(api: &Value, schema: &Value, value: &Value, closed: bool) -> Option<String> {
    let fields = value.as_object()?;
    for name in schema["required"].as_array().into_iter().flatten() {
        if !fields.contains_key(name.as_str().unwrap()) {
            return Some(format!("{name} is missing"));
        }
    }
    let mut named = BTreeSet::new();
    collect_fields(api, schema, &mut named);
    let others = &schema["additionalProperties"];
    for (name, field) in fields {
        let told = &schema["properties"][name];
        let fault = if told.is_null() {
            let unknown = !named.contains(name) && !others.is_object() && !named.is_empty();
            if unknown && (closed || others == false) {
                return Some(format!("{name} is not described"));
            }
            find_fault(api, others, field, true)
        } else {
            find_fault(api, told, field, true)
        };
        if let Some(fault) = fault {
            return Some(format!("{name}: {fault}"));
        }
    }
    None
}

fn collect_fields(api: &Value, schema: &Value, named: &mut BTreeSet<String>) {
    let schema = resolve(api, schema);
    named.extend(
        schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|all| all.keys().cloned()),
    );
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect_fields(api, part, named);
    }
}
