use super::*;
use serde_json::{Value, json};

fn instance(fields: &Value) -> Instance {
    let mut written = json!({"id": "a", "tenant": "clinic", "agent": "ana", "provider": "evolution"});
    let fields = fields.as_object().unwrap().clone();
    written.as_object_mut().unwrap().extend(fields);
    serde_json::from_value(written).unwrap()
}

fn refused(fields: &Value) -> bool {
    let instance = instance(fields);
    check_credential_and_url(&instance).is_err()
}

#[test]
fn evolution_may_be_near_without_tls_and_anywhere_with_it() {
    for fine in [
        "https://evolution.example.org",
        "https://evolution.example.org:8443/api/",
        "http://127.0.0.1:8081",
        "http://localhost:8081",
        "http://[::1]:8081",
        "http://10.0.0.7",
        "http://172.20.0.3:8080",
        "http://192.168.1.20",
        "http://[fd12:3456::1]",
        "http://evolution-api:8080",
        "HTTP://EVOLUTION",
        "https://10.0.0.7",
    ] {
        assert!(parse_base_url(fine).is_ok(), "{fine}: {:?}", parse_base_url(fine));
    }
}

#[test]
fn a_base_url_that_could_lead_a_key_astray_is_refused() {
    for wrong in [
        "",
        " ",
        "evolution.example.org",
        "//evolution.example.org",
        "file:///etc/passwd",
        "ftp://evolution.example.org",
        "data:text/plain,x",
        "https://",
        "http://evolution.example.org",
        "http://8.8.8.8",
        "http://0.0.0.0:8080",
        "https://user:pw@evolution.example.org",
        "https://user@evolution.example.org",
        "http://localhost:80@evil.example",
        "http://localhost\\@169.254.169.254",
        "http://169.254.169.254/latest",
        "https://169.254.169.254/latest",
        "https://169.254.169.254./latest",
        "http://2852039166/latest",
        "https://2852039166/latest",
        "https://0xa9fea9fe/latest",
        "https://0xA9.0xFE.0xA9.0xFE/latest",
        "https://0251.0376.0251.0376/latest",
        "https://169.254.43518/latest",
        "https://169.16689662/latest",
        "https://①⑥⑨.254.169.254/latest",
        "https://[fe80::1]",
        "https://[::ffff:169.254.169.254]/latest",
        "https://[::ffff:a9fe:a9fe]/latest",
        "https://[64:ff9b::169.254.169.254]",
        "https://[fd00:ec2::254]/latest",
        "http://169.254.169.254%2f@localhost",
        "http://127.0.0.1:19100/containers/create?x=",
        "https://evolution.example.org?",
        "https://evolution.example.org/#",
        "https://evolution.example.org/api#x",
    ] {
        assert!(
            parse_base_url(wrong).is_err(),
            "{wrong}: {:?}",
            parse_base_url(wrong)
        );
        assert!(refused(&json!({"base_url": wrong})), "{wrong}");
    }
}

#[test]
fn an_instance_names_its_providers_key_or_its_tenants_own() {
    for (provider, own) in [
        ("evolution", "EVOLUTION_API_KEY"),
        ("meta", "META_ACCESS_TOKEN"),
        ("360dialog", "D360_API_KEY"),
    ] {
        let with = |credential: String| json!({"provider": provider, "credential": credential});
        assert!(!refused(&with(format!("env:{own}"))));
        assert!(!refused(&with("env:RECADO_CREDENTIAL_CLINIC_KEY".to_owned())));
        assert!(!refused(&with("ssm:/recado/instances/clinic/key".to_owned())));
        for secret in [
            "META_APP_SECRET",
            "META_VERIFY_TOKEN",
            "D360_PARTNER_SECRET",
            "RECADO_TOKEN",
            "RECADO_WEBHOOK_SECRET",
            "ANTHROPIC_API_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "HOME",
            "RECADO_CREDENTIAL_OTHER_KEY",
        ] {
            assert!(refused(&with(format!("env:{secret}"))), "{provider} {secret}");
        }
    }
    let of_another = json!({"provider": "meta", "credential": "env:EVOLUTION_API_KEY"});
    assert!(refused(&of_another));
    let of_aws = json!({"provider": "aws-social", "credential": "env:AWS_ACCESS_KEY_ID"});
    assert!(refused(&of_aws));
}

#[test]
fn the_installations_key_stays_with_the_installations_hosts() {
    let config = ProviderConfig {
        evolution_base_url: Some("https://evolution.example.org/api".to_owned()),
        ..ProviderConfig::default()
    };
    let kept = |fields: &Value, config: &ProviderConfig| {
        let instance = instance(fields);
        check_with_installation(&instance, config).is_ok()
    };
    assert!(kept(&json!({}), &config));
    assert!(kept(
        &json!({"base_url": "https://Evolution.example.org:443/v2"}),
        &config
    ));
    let own = json!({"base_url": "http://10.0.0.7", "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"});
    assert!(kept(&own, &config));
    for (fields, config) in [
        (json!({"base_url": "https://evil.example"}), &config),
        (json!({"base_url": "https://evolution.example.org:444"}), &config),
        (
            json!({"base_url": "http://10.0.0.7", "credential": "env:EVOLUTION_API_KEY"}),
            &config,
        ),
        (
            json!({"base_url": "https://evolution.example.org"}),
            &ProviderConfig::default(),
        ),
        (
            json!({"provider": "meta", "base_url": "https://evil.example"}),
            &config,
        ),
        (
            json!({"provider": "360dialog", "base_url": "https://evil.example"}),
            &config,
        ),
    ] {
        assert!(!kept(&fields, config), "{fields}");
    }
}

#[test]
fn an_aws_number_is_kept_by_its_bare_id_however_it_is_written() {
    let id = "0123456789abcdef0123456789abcdef";
    for written in [
        id.to_owned(),
        format!("phone-number-id-{id}"),
        format!("arn:aws:social-messaging:sa-east-1:123456789012:phone-number-id/{id}"),
    ] {
        let adopted = normalize(instance(
            &json!({"provider": "aws-social", "external_id": written}),
        ))
        .unwrap();
        assert_eq!(adopted.resolve_external_id().unwrap().as_str(), id);
    }
    let other = normalize(instance(
        &json!({"provider": "360dialog", "external_id": "x/phone-number-id-7"}),
    ))
    .unwrap();
    assert_eq!(
        other.resolve_external_id().unwrap().as_str(),
        "x/phone-number-id-7"
    );
}
