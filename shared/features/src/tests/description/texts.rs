//! Ids and other texts have types of their own in the code. A reader of the description finds a text in each place where one is used.

use crate::tests::description::Value;
use serde_json::{Map, json};

/// Puts each schema that is a text or a number alone into the places that refer to it.
pub(super) fn inline_texts(api: &mut Value) {
    let schemas = api["components"]["schemas"].as_object_mut().unwrap();
    let all = std::mem::take(schemas).into_iter();
    let (plain, others): (Map<_, _>, Map<_, _>) = all.partition(|(_, schema)| is_plain(schema));
    *schemas = others;
    replace_references(api, false, &plain);
}

fn is_plain(schema: &Value) -> bool {
    (schema["type"] == "string" || schema["type"] == "integer") && schema["enum"].is_null()
}

fn replace_references(told: &mut Value, is_item: bool, plain: &Map<String, Value>) {
    match told {
        Value::Array(parts) => parts
            .iter_mut()
            .for_each(|part| replace_references(part, false, plain)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                replace_references(field, name == "items", plain);
            }
            replace_reference(fields, is_item, plain);
            join_null(fields);
        }
        _ => {}
    }
}

/// What stands beside the reference counts before what the schema says. What the schema says about itself stands at the items of lists
/// alone: a field has words of its own, or none.
fn replace_reference(fields: &mut Map<String, Value>, is_item: bool, plain: &Map<String, Value>) {
    let place = fields.get("$ref").and_then(Value::as_str);
    let name = place.and_then(|place| place.strip_prefix("#/components/schemas/"));
    if let Some(Value::Object(schema)) = name.and_then(|name| plain.get(name)) {
        let mut schema = schema.clone();
        schema.retain(|key, _| is_item || key != "description");
        let beside = std::mem::replace(fields, schema);
        fields.extend(beside.into_iter().filter(|(key, _)| key != "$ref"));
    }
}

/// A text or `null` is one schema with two types.
fn join_null(fields: &mut Map<String, Value>) {
    let either = fields.get("oneOf").and_then(Value::as_array);
    let Some([text, null]) = either.map(Vec::as_slice) else {
        return;
    };
    if is_plain(text) && *null == json!({"type": "null"}) {
        let mut joined = text.as_object().cloned().unwrap_or_default();
        joined.insert("type".to_owned(), json!([text["type"], "null"]));
        let beside = std::mem::replace(fields, joined);
        fields.extend(beside.into_iter().filter(|(key, _)| key != "oneOf"));
    }
}
