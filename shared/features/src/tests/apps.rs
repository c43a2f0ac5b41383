//! Instances of Meta with apps of their own: each number is spoken for by its own app, and by no other.

use crate::tests::{Answered, Site, signature_of};
use axum::http::StatusCode;
use recado_domain::ids::ExternalId;
use recado_domain::notice::Notice;
use recado_domain::provider::Provider;
use recado_pipeline::records::configuration::{find_config_by_external, put_configuration};
use recado_pipeline::records::notices::list_notices;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// Of tenant `ta`, with an app of its own.
const A: &str = "100000000000021";
/// Of tenant `tb`, with an app of its own.
const B: &str = "100000000000022";
/// Of tenant `tb`, with the installation's app.
const OURS: &str = "100000000000023";
/// Of tenant `tb`, with an app whose secret is not there.
const LOST: &str = "100000000000024";
const ACCOUNT_OF_A: &str = "200000000000021";
const ACCOUNT_OF_B: &str = "200000000000022";
const INSTALLATION: &str = "app-secret";

fn document() -> Value {
    let numbers = [
        (
            "m-a",
            "ta",
            A,
            Some("env:RECADO_CREDENTIAL_TA_APP"),
            Some(ACCOUNT_OF_A),
        ),
        (
            "m-b",
            "tb",
            B,
            Some("env:RECADO_CREDENTIAL_TB_APP"),
            Some(ACCOUNT_OF_B),
        ),
        ("m-o", "tb", OURS, None, None),
        ("m-l", "tb", LOST, Some("env:RECADO_CREDENTIAL_TB_LOST"), None),
    ];
    let instances = numbers.map(|(id, tenant, external, app, account)| {
        json!({"id": id, "tenant": tenant, "agent": tenant, "provider": "meta", "external_id": external,
            "app_secret": app, "account_id": account})
    });
    let agents = ["ta", "tb"]
        .map(|id| json!({"id": id, "tenant": id, "model": "claude-sonnet-4-5", "system_prompt": "x"}));
    json!({"tenants": [{"id": "ta"}, {"id": "tb"}], "agents": agents, "instances": instances})
}

async fn town() -> Site {
    let site = Site::in_memory();
    let document = serde_json::from_value(document()).unwrap();
    succeed(put_configuration(&site.store, &document)).await;
    site
}

/// A message of a contact to each of these numbers, each in an entry of its own.
fn messages(numbers: &[&str], id: &str) -> Value {
    let entry = |number: &&str| {
        let message = json!({"from": format!("551190000000{id}"), "id": format!("wamid.{id}{number}"),
            "timestamp": "1760000000", "type": "text", "text": {"body": "bom dia"}});
        let value = json!({"messaging_product": "whatsapp", "messages": [message],
            "metadata": {"display_phone_number": "1555", "phone_number_id": number}});
        json!({"id": "200000000000000", "changes": [{"field": "messages", "value": value}]})
    };
    json!({"object": "whatsapp_business_account", "entry": numbers.iter().map(entry).collect::<Vec<_>>()})
}

fn notice(account: &str) -> Value {
    let value = json!({"event": "DISABLED_UPDATE", "phone_number": "1555"});
    json!({"object": "whatsapp_business_account",
        "entry": [{"id": account, "changes": [{"field": "account_update", "value": value}]}]})
}

/// Posts a body that the app with this secret signed.
async fn post(site: &Site, app: &str, path: &str, body: &Value) -> Answered {
    let body = body.to_string();
    let signed = signature_of(app, body.as_bytes());
    site.ask("POST", path, &[("x-hub-signature-256", &signed)], body)
        .await
}

/// Posts messages, and returns the instances that events were enqueued for; `None` if the webhook was refused.
async fn taken(site: &Site, app: &str, numbers: &[&str], id: &str) -> Option<Vec<String>> {
    let answered = post(site, app, "/webhooks/meta", &messages(numbers, id)).await;
    if answered.status == StatusCode::UNAUTHORIZED {
        assert!(site.jobs().await.is_empty());
        return None;
    }
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    let jobs = site.jobs().await;
    assert_eq!(answered.body["events"], jobs.len(), "{}", answered.text);
    assert_eq!(answered.body["ignored"], numbers.len() - jobs.len());
    Some(jobs)
}

fn only(number: &str) -> Vec<String> {
    vec![number.to_owned()]
}

#[tokio::test]
async fn a_number_with_an_app_of_its_own_is_spoken_for_by_that_app_alone() {
    let site = town().await;
    assert_eq!(taken(&site, "app-of-ta", &[A], "1").await, Some(only(A)));
    assert_eq!(taken(&site, INSTALLATION, &[A], "2").await, Some(vec![]));
    for app in ["app-of-tb", "app-of-tb-2", "app-of-tb, app-of-tb-2", "", "x"] {
        assert_eq!(taken(&site, app, &[A], "3").await, None, "{app}");
    }
    assert_eq!(taken(&site, INSTALLATION, &[OURS], "4").await, Some(only(OURS)));
    for app in ["app-of-ta", "app-of-tb"] {
        assert_eq!(taken(&site, app, &[OURS], "5").await, None, "{app}");
    }
}

#[tokio::test]
async fn of_several_numbers_in_one_body_those_count_whose_app_signed_it() {
    let site = town().await;
    let all = [A, B, OURS, LOST];
    assert_eq!(taken(&site, "app-of-ta", &all, "1").await, Some(only(A)));
    assert_eq!(taken(&site, "app-of-tb", &all, "2").await, Some(only(B)));
    assert_eq!(taken(&site, INSTALLATION, &all, "3").await, Some(only(OURS)));
    // What was ignored of the others is no repeat when its own app tells it.
    assert_eq!(taken(&site, "app-of-ta", &[A], "3").await, Some(only(A)));
}

#[tokio::test]
async fn both_secrets_of_a_rotation_count_and_one_that_is_not_there_opens_nothing() {
    let site = town().await;
    assert_eq!(taken(&site, "app-of-tb", &[B], "1").await, Some(only(B)));
    assert_eq!(taken(&site, "app-of-tb-2", &[B], "2").await, Some(only(B)));
    for app in ["", "app-of-tb", "app-of-ta"] {
        assert_eq!(taken(&site, app, &[LOST], "3").await, None, "{app}");
    }
    assert_eq!(taken(&site, INSTALLATION, &[LOST], "4").await, Some(vec![]));
}

#[tokio::test]
async fn an_app_of_very_many_numbers_speaks_for_all_of_them_and_for_no_other() {
    let site = Site::in_memory();
    let numbers: Vec<String> = (0..40)
        .map(|number| (300_000_000_000_000_u64 + number).to_string())
        .collect();
    let instances = numbers.iter().map(|number| {
        json!({"id": format!("m-{number}"), "tenant": "ta", "agent": "ta", "provider": "meta",
            "external_id": number, "app_secret": "env:RECADO_CREDENTIAL_TA_APP"})
    });
    let mut document = document();
    document["instances"].as_array_mut().unwrap().extend(instances);
    succeed(put_configuration(
        &site.store,
        &serde_json::from_value(document).unwrap(),
    ))
    .await;
    let mut named: Vec<&str> = numbers.iter().map(String::as_str).collect();
    named.push(B);
    let answered = post(&site, "app-of-ta", "/webhooks/meta", &messages(&named, "1")).await;
    assert_eq!(
        (&answered.body["events"], &answered.body["ignored"]),
        (&json!(40), &json!(1))
    );
    // A stranger's app, which signs rightly for none of them.
    let answered = post(&site, "app-of-tb", "/webhooks/meta", &messages(&named[..40], "2")).await;
    assert_eq!(answered.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn an_own_app_tells_of_its_own_account_only_and_only_on_the_path_of_its_number() {
    let site = town().await;
    let told = async |account: &str| -> usize {
        let notices: Vec<Notice> = succeed(list_notices(&site.store, Provider::Meta, account)).await;
        notices.len()
    };
    let path = |number: &str| format!("/webhooks/meta/{number}");
    let refused = post(&site, "app-of-ta", "/webhooks/meta", &notice(ACCOUNT_OF_A)).await;
    assert_eq!(
        refused.status,
        StatusCode::UNAUTHORIZED,
        "no number says whose secret counts"
    );
    for (app, path) in [
        ("app-of-ta", path(B)),
        ("app-of-ta", path(OURS)),
        ("app-of-tb", path(A)),
    ] {
        let refused = post(&site, app, &path, &notice(ACCOUNT_OF_A)).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{app} {path}");
    }
    let foreign = post(&site, "app-of-ta", &path(A), &notice(ACCOUNT_OF_B)).await;
    assert_eq!(
        (foreign.status, &foreign.body["notices"]),
        (StatusCode::OK, &json!(0))
    );
    assert_eq!((told(ACCOUNT_OF_A).await, told(ACCOUNT_OF_B).await), (0, 0));
    let own = post(&site, "app-of-ta", &path(A), &notice(ACCOUNT_OF_A)).await;
    assert_eq!((own.status, &own.body["notices"]), (StatusCode::OK, &json!(1)));
    assert_eq!((told(ACCOUNT_OF_A).await, told(ACCOUNT_OF_B).await), (1, 0));
    // The path does not widen what the signature holds for.
    let both = post(&site, "app-of-ta", &path(A), &messages(&[B, OURS], "1")).await;
    assert_eq!((both.status, &both.body["events"]), (StatusCode::OK, &json!(0)));
    let others = post(&site, "app-of-ta", &path(B), &messages(&[B], "2")).await;
    assert_eq!(others.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_change_of_the_configuration_counts_for_the_next_webhook() {
    let site = town().await;
    assert_eq!(taken(&site, INSTALLATION, &[A], "1").await, Some(vec![]));
    let mut document = document();
    document["instances"][0]["app_secret"] = Value::Null;
    succeed(put_configuration(
        &site.store,
        &serde_json::from_value(document).unwrap(),
    ))
    .await;
    assert_eq!(taken(&site, INSTALLATION, &[A], "2").await, Some(only(A)));
    assert_eq!(taken(&site, "app-of-ta", &[A], "3").await, None);
}

#[tokio::test]
async fn an_instance_names_no_app_secret_but_one_of_its_tenant_and_only_at_meta() {
    let site = town().await;
    for (reference, provider) in [
        ("env:META_APP_SECRET", "meta"),
        ("env:RECADO_CREDENTIAL_TB_APP", "meta"),
        ("env:RECADO_TOKEN", "meta"),
        ("ssm:/recado/own/meta-app-secret", "meta"),
        ("ssm:/recado/instances/tb/app-secret", "meta"),
        ("ssm:/recado/instances/ta/meta-token", "meta"),
        ("env:RECADO_CREDENTIAL_TA_APP", "360dialog"),
        ("env:RECADO_CREDENTIAL_TA_APP", "evolution"),
    ] {
        let mut document = document();
        document["instances"][0]["app_secret"] = json!(reference);
        document["instances"][0]["provider"] = json!(provider);
        let refused = site.operate("PUT", "/v1/config", &document).await;
        assert_eq!(
            refused.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{reference} {provider}: {}",
            refused.text
        );
        assert!(refused.text.contains("m-a"), "{}", refused.text);
    }
    let external = ExternalId::parse(A).unwrap();
    let stored = succeed(find_config_by_external(&site.store, Provider::Meta, &external))
        .await
        .unwrap();
    let reference = stored.instance.app_secret.clone().map(String::from);
    assert_eq!(reference.as_deref(), Some("env:RECADO_CREDENTIAL_TA_APP"));
}
