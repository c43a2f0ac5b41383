use super::*;
use serde_json::{Value, json};

fn document(alerts: &Value) -> ConfigDocument {
    serde_json::from_value(json!({
        "tenants": [{"id": "clinic"}],
        "agents": [{"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p"}],
        "instances": [{"id": "ops", "tenant": "clinic", "agent": "ana", "provider": "evolution"}],
        "alerts": alerts,
    }))
    .unwrap()
}

fn refusal(alerts: &Value) -> String {
    let refused = document(alerts).validate_against(&ConfigDocument::default());
    refused.unwrap_err().to_string()
}

fn with_destination(more: &Value) -> Value {
    let mut destination = json!({"id": "pager"});
    for (name, value) in more.as_object().unwrap() {
        destination[name] = value.clone();
    }
    json!({"destinations": [destination]})
}

#[test]
fn an_empty_section_has_the_thresholds_that_the_page_of_settings_names() {
    let alerts = document(&json!({})).alerts.unwrap();
    assert_eq!(alerts, AlertConfig::default());
    assert_eq!(
        (alerts.depth_warning, alerts.depth_critical, alerts.depth_minutes),
        (100, 1000, 5)
    );
    assert_eq!(
        (
            alerts.disconnected_warning_minutes,
            alerts.disconnected_critical_minutes
        ),
        (2, 10)
    );
    assert_eq!(
        (alerts.dead_letters_warning, alerts.dead_letters_critical),
        (10, 50)
    );
    assert!((alerts.rate_per_second - 0.5).abs() < 1e-9);
}

#[test]
fn destinations_of_each_kind_are_accepted() {
    for channel in [
        json!({"webhook": {"url": "https://pager.example/in", "secret": "env:RECADO_ALERT_PAGER"}}),
        json!({"webhook": {"url": "http://127.0.0.1:9/in", "secret": "ssm:/recado/alerts/pager"}}),
        json!({"whatsapp": {"instance": "ops", "to": "+55 11 91234-5678"}, "tenant": "clinic", "severity": "critical"}),
        json!({"email": {"server": "smtps://mail.example", "from": "a@b.example", "to": ["c@d.example"],
            "user": "u", "password": "env:RECADO_ALERT_SMTP"}}),
    ] {
        let document = document(&with_destination(&channel));
        document.validate_against(&ConfigDocument::default()).unwrap();
        assert!(document.alerts.unwrap().destinations[0].channel().is_some());
    }
}

#[test]
fn a_destination_that_cannot_be_told_is_refused_with_the_reason() {
    let webhook = |url: &str, secret: &str| json!({"webhook": {"url": url, "secret": secret}});
    let email =
        |server: &str, to: &str| json!({"email": {"server": server, "from": "a@b.example", "to": [to]}});
    for (channel, why) in [
        (json!({}), "exactly one of"),
        (
            json!({"webhook": {"url": "https://a.example", "secret": "env:RECADO_ALERT_A"}, "tenant": "x"}),
            "no tenant `x`",
        ),
        (webhook("http://pager.example", "env:RECADO_ALERT_A"), "https://"),
        (webhook("http://10.0.0.1", "env:RECADO_ALERT_A"), "https://"),
        (
            webhook("https://169.254.169.254", "env:RECADO_ALERT_A"),
            "https://",
        ),
        (
            webhook("https://pager.example", "env:RECADO_TOKEN"),
            "RECADO_ALERT_NAME",
        ),
        (email("mail.example", "c@d.example"), "smtps://"),
        (email("smtp://mail.example", "c"), "e-mail addresses"),
        (email("smtp://mail.example", "c@d\nBcc: e"), "e-mail addresses"),
        (
            json!({"whatsapp": {"instance": "other", "to": "5511912345678"}}),
            "no instance `other`",
        ),
        (
            json!({"whatsapp": {"instance": "ops", "to": "123"}}),
            "country code",
        ),
        (
            json!({"id": "a b", "whatsapp": {"instance": "ops", "to": "5511912345678"}}),
            "its id",
        ),
    ] {
        let refused = refusal(&with_destination(&channel));
        assert!(refused.contains(why), "{channel}: {refused}");
    }
    let twice = json!({"id": "a", "whatsapp": {"instance": "ops", "to": "5511912345678"}});
    assert!(refusal(&json!({"destinations": [twice, twice]})).contains("declared twice"));
    assert!(refusal(&json!({"rate_per_second": -1.0})).contains("rate_per_second"));
    assert!(refusal(&json!({"heartbeat_minutes": 0})).contains("heartbeat_minutes"));
    assert!(refusal(&json!({"disk_free_megabytes": u64::MAX})).contains("disk_free_megabytes"));
    assert!(refusal(&json!({"dead_letters_critical": 5000})).contains("at most 1000"));
}

#[test]
fn a_document_without_alerts_leaves_them_and_one_with_alerts_replaces_them() {
    let known = document(&json!({"depth_warning": 7}));
    let mut change = document(&json!({"depth_critical": 8}));
    assert_eq!(known.with_changes(&change).alerts, change.alerts);
    change.alerts = None;
    assert_eq!(known.with_changes(&change).alerts, known.alerts);
}

#[test]
fn only_this_machine_is_spoken_to_without_tls() {
    for (server, is_local) in [
        ("smtp://localhost", true),
        ("smtp://127.0.0.1:2525", true),
        ("smtp://127.1.2.3", true),
        ("smtp://127.0.0.1.mail.example", false),
        ("smtp://127.example", false),
        ("smtp://10.0.0.1", false),
        ("smtp://mail.example:587", false),
    ] {
        let destination: EmailDestination =
            serde_json::from_value(json!({"server": server, "from": "a@b.example", "to": ["c@d.example"]}))
                .unwrap();
        assert_eq!(destination.server_parts().unwrap().is_local, is_local, "{server}");
    }
}
