use super::*;
use serde_json::json;

fn document(instance: &serde_json::Value) -> ConfigDocument {
    serde_json::from_value(json!({
        "tenants": [{"id": "clinic", "time_zone": "America/Sao_Paulo"}, {"id": "shop"}],
        "agents": [
            {"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p"},
            {"id": "bob", "tenant": "shop", "model": "m", "system_prompt": "p"},
        ],
        "instances": [instance],
    }))
    .unwrap()
}

fn refused(instance: &serde_json::Value) -> String {
    document(instance)
        .validate_against(&ConfigDocument::default())
        .unwrap_err()
        .to_string()
}

#[test]
fn a_sound_document_passes_and_applying_it_twice_changes_nothing() {
    let document = document(&json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": "evolution"}));
    document.validate_against(&ConfigDocument::default()).unwrap();
    document.validate_against(&document).unwrap();
    assert_eq!(document.with_changes(&document), document);
}

#[test]
fn what_is_wrong_is_named() {
    let base = json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": "evolution"});
    let with = |key: &str, value: serde_json::Value| {
        let mut changed = base.clone();
        changed[key] = value;
        changed
    };
    assert!(refused(&with("agent", json!("eve"))).contains("no agent `eve`"));
    assert!(refused(&with("agent", json!("bob"))).contains("to another"));
    assert!(refused(&with("tenant", json!("x"))).contains("no tenant `x`"));
    assert!(refused(&with("debounce_seconds", json!(-1))).contains("debounce_seconds"));
    assert!(refused(&with("rate", json!({"per_second": 0.0, "burst": 5}))).contains("per_second"));
    assert!(refused(&with("api_version", json!(3))).contains("api_version"));
}

#[test]
fn a_pasted_secret_is_refused_and_not_repeated() {
    let error = serde_json::from_value::<CredentialRef>(json!("sk-ant-123"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("env:NAME") && !error.contains("sk-ant"));
}
