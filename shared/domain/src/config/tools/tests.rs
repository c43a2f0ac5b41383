use super::*;
use crate::config::{ConfigDocument, EntryRef};
use serde_json::json;

fn tool(change: &Value) -> Tool {
    let mut tool = json!({
        "id": "opening_slots", "tenant": "clinic", "description": "Lists the free slots of a day.", "effect": "reads",
        "arguments": {"type": "object", "properties": {"date": {"type": "string", "format": "date"}, "doctor": {}},
            "required": ["date"], "additionalProperties": false},
        "http": {"url": "https://clinic.example/slots/{date}?doctor={doctor}&kind=short"},
    });
    for (name, value) in change.as_object().unwrap() {
        if name == "http" {
            for (name, value) in value.as_object().unwrap() {
                tool["http"][name] = value.clone();
            }
        } else {
            tool[name] = value.clone();
        }
    }
    serde_json::from_value(tool).unwrap()
}

fn fault(change: &Value) -> String {
    let fault = tool(change).check_tool().unwrap_err();
    fault.to_string()
}

#[test]
fn a_tool_of_few_words_is_sound_and_its_name_is_its_id() {
    let plain = tool(&json!({}));
    assert_eq!(plain.check_tool(), Ok(()));
    assert_eq!(plain.model_name(), "opening_slots");
    assert_eq!(plain.time_limit(), SignedDuration::from_secs(10));
    let none: Tool = serde_json::from_value(
        json!({"id": "now", "tenant": "clinic", "description": "d", "effect": "reads",
        "http": {"url": "http://127.0.0.1:9/now"}}),
    )
    .unwrap();
    assert_eq!(none.check_tool(), Ok(()));
    assert_eq!(serde_json::from_value::<Tool>(json!(none)).unwrap(), none);
}

#[test]
fn each_mistake_of_a_tool_is_told() {
    for (change, told) in [
        (json!({"id": "a tool"}), "1 to 64 letters"),
        (json!({"name": "é"}), "1 to 64 letters"),
        (json!({"name": "x".repeat(65)}), "1 to 64 letters"),
        (json!({"name": "hand_over"}), "that of a decision"),
        (json!({"description": " "}), "description must"),
        (json!({"effect": "acts"}), "needs http.method"),
        (
            json!({"http": {"ask": {"url": "https://a.example/{effect_id}"}}}),
            "alone",
        ),
        (json!({"http": {"idempotency_header": "X-Id"}}), "alone"),
        (json!({"timeout_seconds": 0}), "timeout_seconds"),
        (json!({"timeout_seconds": 61}), "timeout_seconds"),
        (
            json!({"http": {"credential": "env:HOME"}}),
            "RECADO_CREDENTIAL_CLINIC_NAME",
        ),
        (json!({"http": {"select": "slots"}}), "JSON pointer"),
        (json!({"http": {"body": {}}}), "POST, PUT and PATCH"),
        (json!({"http": {"headers": {"Host": "a"}}}), "headers"),
        (json!({"http": {"headers": {"authorization": "a"}}}), "headers"),
        (json!({"http": {"headers": {"X-A": "a\nb"}}}), "headers"),
    ] {
        let fault = fault(&change);
        assert!(fault.contains(told), "{change}: {fault}");
    }
    let mut no_kind = tool(&json!({}));
    no_kind.http = None;
    assert_eq!(no_kind.check_tool(), Err(ToolError::Kind));
}

#[test]
fn a_tool_that_acts_has_a_method_that_changes_something_and_may_say_where_to_ask() {
    let acting = |change: Value| {
        let mut http = json!({"method": "POST"});
        for (name, value) in change.as_object().unwrap() {
            http[name] = value.clone();
        }
        tool(&json!({"effect": "acts", "http": http}))
    };
    let ask = |url: &str| acting(json!({"ask": {"url": url}}));
    let plain = acting(json!({}));
    assert_eq!((plain.check_tool(), plain.once_per_turn), (Ok(()), true));
    assert_eq!(plain.http.as_ref().unwrap().effect_header(), "Idempotency-Key");
    let asked = ask("https://clinic.example/orders/{effect_id}?by=id");
    assert_eq!(asked.check_tool(), Ok(()));
    let url = asked
        .http
        .as_ref()
        .unwrap()
        .ask
        .as_ref()
        .unwrap()
        .build_url("abc");
    assert_eq!(url.as_deref(), Ok("https://clinic.example/orders/abc?by=id"));
    let often = Tool {
        once_per_turn: false,
        ..asked
    };
    assert_eq!(serde_json::from_value::<Tool>(json!(often)).unwrap(), often);
    for (wrong, told) in [
        (ask("https://clinic.example/orders"), "{effect_id}"),
        (ask("https://clinic.example/{date}/{effect_id}"), "only place"),
        (ask("https://{effect_id}.example/"), "only place"),
        (
            acting(json!({"ask": {"url": "https://a.example/{effect_id}", "select": "x"}})),
            "JSON pointer",
        ),
        (acting(json!({"idempotency_header": "Host"})), "headers"),
        (acting(json!({"idempotency_header": "a b"})), "headers"),
        (acting(json!({"headers": {"idempotency-key": "1"}})), "headers"),
        (acting(json!({"method": "GET"})), "needs http.method"),
    ] {
        let fault = wrong.check_tool().unwrap_err().to_string();
        assert!(fault.contains(told), "{wrong:?}: {fault}");
    }
    let slow = Tool {
        timeout_seconds: 31.0,
        ..plain
    };
    assert_eq!(slow.check_tool(), Err(ToolError::TimeLimit));
}

#[test]
fn arguments_stand_in_the_path_the_query_and_the_body_and_nowhere_else() {
    for (url, told) in [
        ("ftp://clinic.example/", "http.url"),
        ("https://{date}.example/", "http.url"),
        ("https://clinic.example:{date}/", "http.url"),
        ("https://user:pass@clinic.example/", "http.url"),
        ("https://clinic.example/#{date}", "http.url"),
        ("https://clinic.example/{date", "an argument is named"),
        ("https://clinic.example/date}", "an argument is named"),
        ("https://clinic.example/{}", "an argument is named"),
        ("https://clinic.example/?{date}=1", "an argument is named"),
        ("https://clinic.example/{day}", "no property `day`"),
        ("https://clinic.example/{doctor}", "must require it"),
    ] {
        let fault = fault(&json!({"http": {"url": url}}));
        assert!(fault.contains(told), "{url}: {fault}");
    }
    let body = json!({"http": {"method": "POST", "body": {"a": ["on {date}", {"b": "{who}"}]}}});
    assert!(fault(&body).contains("no property `who`"));
    let body = json!({"http": {"method": "POST", "body": {"a": ["on {date}", {"b": "{doctor}"}]}}});
    assert_eq!(tool(&body).check_tool(), Ok(()));
}

#[test]
fn a_schema_describes_an_object_and_refers_to_itself_alone() {
    let compile = |schema: Value| ArgumentSchema::compile(schema.as_object().unwrap());
    for (schema, told) in [
        (json!({}), "of type `object`"),
        (json!({"type": "array"}), "of type `object`"),
        (json!({"type": "object", "properties": 1}), "no JSON schema"),
        (
            json!({"type": "object", "$ref": "https://example.org/a.json"}),
            "no JSON schema",
        ),
        (
            json!({"type": "object", "$ref": "file:///etc/passwd"}),
            "no JSON schema",
        ),
        (
            json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
            "no JSON schema",
        ),
        (json!({"type": "object", "title": "x".repeat(16_000)}), "16,000"),
    ] {
        let fault = compile(schema.clone()).unwrap_err().to_string();
        assert!(fault.contains(told), "{schema}: {fault}");
    }
    let own = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/day"}}, "$defs": {"day": {"type": "string"}}});
    let schema = compile(own).unwrap();
    assert_eq!(schema.check_arguments(&json!({"a": "x"})), Ok(()));
    assert!(schema.check_arguments(&json!({"a": 1})).is_err());
}

#[test]
fn mistakes_in_arguments_are_told_with_their_places() {
    let schema = ArgumentSchema::compile(&tool(&json!({})).arguments).unwrap();
    assert_eq!(schema.check_arguments(&json!({"date": "2026-01-31"})), Ok(()));
    for (arguments, told) in [
        (json!({}), "date"),
        (json!([]), "object"),
        (json!({"date": 5}), "/date: want string"),
        (json!({"date": "tomorrow"}), "/date"),
        (json!({"date": "2026-01-31", "x": 1}), "x"),
    ] {
        let mistakes = schema.check_arguments(&arguments).unwrap_err();
        assert!(
            mistakes.contains(told) && mistakes.len() <= 800,
            "{arguments}: {mistakes}"
        );
    }
}

fn document(agent_tools: &Value, tools: &Value) -> Result<(), String> {
    let document: ConfigDocument = serde_json::from_value(json!({
        "tenants": [{"id": "clinic"}, {"id": "shop"}],
        "tools": tools,
        "agents": [{"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p", "tools": agent_tools}],
    }))
    .unwrap();
    let checked = document.validate_against(&ConfigDocument::default());
    checked.map_err(|error| error.to_string())
}

#[test]
fn an_agent_names_tools_of_its_tenant_each_with_a_name_of_its_own() {
    let of =
        |id: &str, tenant: &str, name: &str| json!(tool(&json!({"id": id, "tenant": tenant, "name": name})));
    let tools = json!([
        of("a", "clinic", "slots"),
        of("b", "clinic", "slots"),
        of("c", "shop", "x")
    ]);
    assert_eq!(document(&json!(["a"]), &tools), Ok(()));
    for (named, told) in [
        (json!(["nobody"]), "agent `ana`: there is no tool `nobody`"),
        (json!(["c"]), "agent `ana`: there is no tool `c`"),
        (
            json!(["a", "b"]),
            "agent `ana`: two of its tools have the same name",
        ),
    ] {
        assert_eq!(document(&named, &tools), Err(told.to_owned()));
    }
    let many: Vec<Value> = (0..=TOOLS_MAX)
        .map(|n| of(&format!("t{n}"), "clinic", &format!("t{n}")))
        .collect();
    let ids: Vec<String> = (0..=TOOLS_MAX).map(|n| format!("t{n}")).collect();
    assert!(
        document(&json!(ids), &json!(many))
            .unwrap_err()
            .contains("at most 32")
    );
    let twice = json!([of("a", "clinic", "x"), of("a", "clinic", "y")]);
    assert_eq!(
        document(&json!([]), &twice),
        Err("tool `a` is declared twice".to_owned())
    );
    let nobodys = json!([of("a", "nobody", "x")]);
    assert_eq!(
        document(&json!([]), &nobodys),
        Err("tool `a`: there is no tenant `nobody`".to_owned())
    );
    let wrong = json!([of("a", "clinic", "resolve")]);
    assert!(
        document(&json!([]), &wrong)
            .unwrap_err()
            .starts_with("tool `a`: the name")
    );
}

#[test]
fn what_a_document_does_not_name_is_removed_unless_an_agent_names_it() {
    let all: ConfigDocument = serde_json::from_value(json!({
        "tenants": [{"id": "clinic"}],
        "tools": [tool(&json!({})), tool(&json!({"id": "prices"}))],
        "agents": [{"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p", "tools": ["opening_slots"]}],
    }))
    .unwrap();
    let wanted = ConfigDocument {
        tools: Vec::new(),
        ..all.clone()
    };
    let plan = all.plan_prune(&wanted, &std::collections::BTreeSet::new());
    let removed = plan.remove.list_entry_names();
    let removed: Vec<String> = removed.iter().map(EntryRef::to_string).collect();
    assert_eq!(removed, ["tool `prices`"]);
    assert_eq!(all.without(&plan.remove).tools.len(), 1);
    assert!(!all.refers_to_removed(&plan.remove, &ConfigDocument::default()));
    let everything = all.plan_prune(&ConfigDocument::default(), &std::collections::BTreeSet::new());
    let tools = everything.remove.list_entry_names().into_iter();
    let tools: Vec<EntryRef> = tools.filter(|name| name.kind_word() == "tool").collect();
    assert_eq!(tools.len(), 2);
    let tools_alone = tools.into_iter().collect();
    assert!(all.refers_to_removed(&tools_alone, &ConfigDocument::default()));
}

#[test]
fn the_credential_of_a_tool_is_no_variable_of_two_tenants() {
    let secret = json!({"http": {"credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"}});
    let document: ConfigDocument = serde_json::from_value(json!({
        "tenants": [{"id": "clinic"}, {"id": "CLINIC"}],
        "tools": [tool(&secret)],
    }))
    .unwrap();
    let fault = document.validate_against(&ConfigDocument::default()).unwrap_err();
    assert!(fault.to_string().contains("alike in capitals"), "{fault}");
}
