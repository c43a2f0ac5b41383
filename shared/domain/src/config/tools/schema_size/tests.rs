use crate::tools::{ArgumentSchema, SchemaError};
use serde_json::{Map, Value, json};

fn compile(schema: &Value) -> Result<ArgumentSchema, SchemaError> {
    ArgumentSchema::compile(schema.as_object().unwrap())
}

/// A schema whose parts lead to the next one twice each.
fn double(levels: usize) -> Value {
    let mut places = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        places.insert(format!("a{level}"), json!({"allOf": [next, next]}));
    }
    places.insert(format!("a{levels}"), json!({"type": "object"}));
    json!({"type": "object", "$ref": "#/$defs/a0", "$defs": places})
}

#[test]
fn a_schema_is_measured_with_each_reference_followed() {
    assert!(compile(&double(8)).is_ok());
    assert_eq!(compile(&double(12)).unwrap_err(), SchemaError::TooLarge);
    assert_eq!(compile(&double(200)).unwrap_err(), SchemaError::TooLarge);
    let deep = (0..40).fold(json!({}), |inner, _| json!({"not": inner}));
    let deep = json!({"type": "object", "properties": {"a": deep}});
    assert_eq!(compile(&deep).unwrap_err(), SchemaError::TooLarge);
}

#[test]
fn a_reference_leads_where_it_spells_and_not_to_itself() {
    let reference = |name: &str| SchemaError::Reference(name.to_owned());
    let with = |part: Value| json!({"type": "object", "properties": {"a": part}, "$defs": {"b c": {"type": "string"}}});
    for (schema, refused) in [
        (with(json!({"$ref": "#name"})), reference("$ref")),
        (with(json!({"$ref": "other"})), reference("$ref")),
        (with(json!({"$ref": "#/$defs/none"})), reference("$ref")),
        (with(json!({"$ref": "#/%"})), reference("$ref")),
        (with(json!({"$id": "x", "$ref": "#"})), reference("$id")),
        (with(json!({"$dynamicRef": "#"})), reference("$dynamicRef")),
        (
            with(json!({"$ref": "#/properties/a"})),
            SchemaError::EndlessReference,
        ),
        (
            json!({"type": "object", "anyOf": [{"$ref": "#"}]}),
            SchemaError::EndlessReference,
        ),
    ] {
        assert_eq!(compile(&schema).unwrap_err(), refused, "{schema}");
    }
    let spelled = compile(&with(json!({"$ref": "#/%24defs/b%20c"}))).unwrap();
    assert!(spelled.check_arguments(&json!({"a": "x"})).is_ok());
    assert!(spelled.check_arguments(&json!({"a": 1})).is_err());
}

#[test]
fn a_schema_of_a_tree_is_checked_and_its_work_is_bounded() {
    let tree = json!({"type": "object", "properties": {"name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}}}, "required": ["name"]});
    let schema = compile(&tree).unwrap();
    let leaf = json!({"name": "x", "children": []});
    let nested = (0..12).fold(leaf, |inner, _| json!({"name": "x", "children": [inner, inner]}));
    let chain = (0..12).fold(
        json!({"name": "x"}),
        |inner, _| json!({"name": "x", "children": [inner]}),
    );
    assert_eq!(schema.check_arguments(&chain), Ok(()));
    // 8,191 nodes with one mistake: it is found, since each is looked at once.
    assert!(schema.check_arguments(&nested).is_ok());
    assert!(
        schema
            .check_arguments(&json!({"name": "x", "children": [{}]}))
            .is_err()
    );
}

#[test]
fn arguments_that_make_a_recursive_schema_double_its_work_are_not_looked_at() {
    let doubling = json!({"type": "object", "$defs": {"n": {"properties": {"a":
        {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}}}, "$ref": "#/$defs/n"});
    let schema = compile(&doubling).unwrap();
    let nest = |levels| (0..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    assert_eq!(schema.check_arguments(&nest(5)), Ok(()));
    let refused = schema.check_arguments(&nest(60)).unwrap_err();
    assert!(refused.contains("too large"), "{refused}");
}

#[test]
fn the_most_nesting_fits_on_the_stack_of_a_thread() {
    let steps = (0..4).fold(
        json!({"properties": {"a": {"$ref": "#"}}}),
        |inner, _| json!({"allOf": [inner]}),
    );
    let schema = json!({"type": "object", "allOf": [steps]});
    let check = move || {
        let schema = compile(&schema).unwrap();
        let nest = |levels| (0..levels).fold(json!({"a": 1}), |inner, _| json!({"a": inner}));
        let (mut fits, mut refused) = (0, 0);
        for levels in 0..60 {
            match schema.check_arguments(&nest(levels)) {
                Err(why) if why.contains("too large") => refused += 1,
                Err(_) => fits += 1,
                Ok(()) => {}
            }
        }
        (fits, refused)
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(check)
        .unwrap();
    let (fits, refused) = thread.join().unwrap();
    assert!(fits > 5 && refused > 5, "{fits} {refused}");
}

#[test]
fn patterns_of_a_schema_are_small_and_so_is_what_they_read() {
    let with = |pattern: &str| json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}});
    for pattern in ["(a{90}){90}", &"a".repeat(501)] {
        assert_eq!(
            compile(&with(pattern)).unwrap_err(),
            SchemaError::Pattern,
            "{pattern}"
        );
    }
    let named = json!({"type": "object", "patternProperties": {"(a{90}){90}": true}});
    assert_eq!(compile(&named).unwrap_err(), SchemaError::Pattern);
    let many: Map<String, Value> = (0..20)
        .map(|n| (format!("x{n}"), json!({"pattern": "a{999}"})))
        .collect();
    let many = json!({"type": "object", "$defs": many});
    assert_eq!(compile(&many).unwrap_err(), SchemaError::Pattern);
    let schema = compile(&with("^(a|b|ab){300}$")).unwrap();
    assert!(schema.check_arguments(&json!({"a": "ab".repeat(300)})).is_ok());
    let long = schema.check_arguments(&json!({"a": "ab".repeat(300_000)}));
    assert!(long.unwrap_err().contains("too large"));
}

#[test]
fn long_lists_and_texts_of_costly_kinds_are_not_looked_at() {
    for (part, short, long) in [
        (
            json!({"uniqueItems": true}),
            json!([1, 2]),
            json!(vec![1; 20_000]),
        ),
        (
            json!({"format": "regex"}),
            json!("a+"),
            json!(r"\d".repeat(20_000)),
        ),
        (json!({"enum": vec![1; 5_000]}), json!(1), json!(1)),
    ] {
        let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": part}}});
        let schema = compile(&schema).unwrap();
        assert_eq!(schema.check_arguments(&json!({"a": [short]})), Ok(()), "{part}");
        let refused = schema.check_arguments(&json!({"a": vec![long; 40]})).unwrap_err();
        assert!(refused.contains("too large"), "{part}: {refused}");
    }
}
