use super::*;
use crate::retention::RetentionPeriod;
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
    for name in ["rate", "pair_rate"] {
        for rate in [
            json!({"per_second": 0.0, "burst": 5}),
            json!({"per_second": 1001.0, "burst": 5}),
            json!({"per_second": 1.0, "burst": 0}),
        ] {
            assert!(
                refused(&with(name, rate.clone())).contains("per_second"),
                "{name} = {rate}"
            );
        }
    }
    assert!(refused(&with("api_version", json!(3))).contains("api_version"));
}

#[test]
fn an_id_in_paths_has_no_slash_and_a_providers_id_may_have_one() {
    let instance = |id: &str| json!({"id": id, "tenant": "clinic", "agent": "ana", "provider": "evolution", "external_id": "front/desk"});
    assert!(
        document(&instance("front-desk"))
            .validate_against(&ConfigDocument::default())
            .is_ok()
    );
    let refused = serde_json::from_value::<Instance>(instance("front/desk")).unwrap_err();
    assert!(
        refused.to_string().contains("instance id must have no slash"),
        "{refused}"
    );
}

#[test]
fn a_pasted_secret_is_refused_and_not_repeated() {
    let error = serde_json::from_value::<CredentialRef>(json!("sk-ant-123"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("env:NAME") && !error.contains("sk-ant"));
}

#[test]
fn the_instances_own_rate_counts_then_its_providers_and_then_the_installations() {
    let own = json!({"per_second": 0.5, "burst": 2});
    let installation = Rate {
        per_second: 3.0,
        burst: 7,
    };
    let rates = |provider: &str, own: Option<&serde_json::Value>| {
        let mut instance =
            json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": provider, "external_id": "1"});
        if let Some(own) = own {
            instance["rate"] = own.clone();
            instance["pair_rate"] = own.clone();
        }
        let instance = document(&instance).instances.remove(0);
        let capabilities = instance.provider.capabilities();
        let rate = instance.resolve_rate(&capabilities, installation);
        (rate, instance.resolve_pair_rate(&capabilities))
    };
    let own_rate: Rate = serde_json::from_value(own.clone()).unwrap();
    assert_eq!(rates("evolution", None), (installation, None));
    assert_eq!(rates("meta", None), (Rate::META, Some(Rate::META_PAIR)));
    for provider in ["evolution", "meta"] {
        assert_eq!(
            rates(provider, Some(&own)),
            (own_rate, Some(own_rate)),
            "{provider}"
        );
    }
}

#[test]
fn a_conversation_that_would_go_before_its_messages_is_refused() {
    let mut document =
        document(&json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": "evolution"}));
    let mut check = |conversations| {
        document.tenants[0].retention.conversations = conversations;
        document.validate_against(&ConfigDocument::default())
    };
    let shorter = check(Some(RetentionPeriod::Days(364))).unwrap_err().to_string();
    assert!(shorter.contains("tenant `clinic`") && shorter.contains("retention.conversations"));
    for fine in [
        None,
        Some(RetentionPeriod::Days(365)),
        Some(RetentionPeriod::Forever),
    ] {
        assert_eq!(check(fine), Ok(()));
    }
}

#[test]
fn a_reply_is_held_back_for_ten_seconds_at_most() {
    let with = |seconds: f64| {
        document(&json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": "evolution", "reply_delay_seconds": seconds}))
            .validate_against(&ConfigDocument::default())
    };
    for fine in [0.0, 0.5, 10.0] {
        assert!(with(fine).is_ok(), "{fine}");
    }
    for wrong in [-0.1, 10.1, 600.0] {
        let told = with(wrong).unwrap_err().to_string();
        assert!(
            told.contains("reply_delay_seconds must be between 0 and 10"),
            "{told}"
        );
    }
}

#[test]
fn senders_of_emails_and_rules_for_deliveries_are_checked() {
    let checked = |change: &serde_json::Value| {
        let mut tenant = json!({"id": "clinic"});
        for (name, value) in change.as_object().unwrap() {
            tenant[name] = value.clone();
        }
        let document: ConfigDocument = serde_json::from_value(json!({"tenants": [tenant]})).unwrap();
        document
            .validate_against(&ConfigDocument::default())
            .map_err(|error| error.to_string())
    };
    let sender = |id: &str| json!({"id": id, "kind": "simulated", "from": "hello@clinic.example"});
    let many: Vec<_> = (0..11).map(|number| sender(&format!("mail-{number}"))).collect();
    assert_eq!(
        checked(&json!({"email_senders": [sender("a"), sender("b")]})),
        Ok(())
    );
    let quiet = json!({"quiet_hours": {"from": "21:00", "to": "08:00"}, "frequency_cap": {"messages": 3, "hours": 168}});
    assert_eq!(checked(&json!({"deliveries": quiet})), Ok(()));
    for (change, why) in [
        (json!({"email_senders": [sender("a"), sender("a")]}), "a"),
        (json!({"email_senders": many}), "at most 10"),
        (
            json!({"email_senders": [{"id": "a", "kind": "resend", "from": "a@b.example"}]}),
            "needs `credential`",
        ),
        (
            json!({"email_senders": [{"id": "a", "kind": "resend", "from": "a@b.example",
                "credential": "env:RECADO_CREDENTIAL_OTHER_MAIL"}]}),
            "RECADO_CREDENTIAL_CLINIC_NAME",
        ),
        (
            json!({"deliveries": {"quiet_hours": {"from": "08:00", "to": "08:00"}}}),
            "quiet_hours",
        ),
        (
            json!({"deliveries": {"frequency_cap": {"messages": 0, "hours": 1}}}),
            "frequency_cap",
        ),
    ] {
        let told = checked(&change).unwrap_err();
        assert!(told.contains(why), "{change}: {told}");
    }
}
