use super::*;
use crate::check_result::check_clock;
use crate::stand_in::{Does, StandIn};
use jiff::Timestamp;
use recado_domain::ids::ExternalId;
use recado_domain::secret::derive_webhook_secret;
use recado_whatsapp::ProviderConfig;
use reqwest::Client;
use serde_json::json;

mod connecting;
mod setup_service;

fn instance(fields: &Value) -> Instance {
    let mut all = json!({"id": "suporte-01", "tenant": "clinica", "agent": "ana"});
    let object = all.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn webhook(fields: &Value) -> InstanceWebhook {
    let mut all =
        json!({"id": "suporte-01", "webhook_url": "https://recado.example/webhooks/x", "proof_set": true});
    let object = all.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn nothing(_: &str) -> Option<Secret> {
    None
}

fn app_secrets(name: &str) -> Option<Secret> {
    (name == "META_APP_SECRET").then(|| Secret::new("first, second").unwrap())
}

fn checks(findings: &[CheckResult]) -> Vec<(&str, Severity)> {
    findings
        .iter()
        .map(|finding| (finding.check, finding.grade))
        .collect()
}

#[test]
fn what_is_proven_here_is_verified_there() {
    let master = Secret::new("master").unwrap();
    let known = |instance: &Instance| {
        let external = instance.resolve_external_id().unwrap();
        let mut proofs = WebhookCredentials::new(app_secrets);
        proofs.add_instance_secret(
            instance,
            derive_webhook_secret(&master, instance.provider, &external, &instance.secret_parts()),
        );
        (external, proofs)
    };
    let (external, proofs) = known(&instance(&json!({"provider": "evolution"})));
    let body = json!({"event": "messages.upsert", "instance": "suporte-01"});
    let signed = authenticate(Provider::Evolution, body, &proofs).unwrap();
    assert_eq!(signed.path, "/webhooks/evolution");
    let shown = recado_whatsapp::evolution::EvolutionCredentials {
        apikey: Some(&signed.headers[0].1),
        ..recado_whatsapp::evolution::EvolutionCredentials::default()
    };
    let masters = [master.clone()];
    let now = Timestamp::now();
    let proven = recado_whatsapp::evolution::find_proven_secrets(&shown, &masters, &external, None, now);
    assert_eq!(proven.len(), 1);

    let number = instance(&json!({"provider": "360dialog", "external_id": "100200300"}));
    let (external, proofs) = known(&number);
    let body = json!({"entry": [{"changes": [{"value": {"metadata": {"phone_number_id": "100200300"}}}]}]});
    let signed = authenticate(Provider::Dialog360, body.clone(), &proofs).unwrap();
    assert_eq!(signed.path, "/webhooks/360dialog");
    let shown = recado_whatsapp::dialog360::Dialog360Credentials {
        secret: Some(&signed.headers[0].1),
        ..recado_whatsapp::dialog360::Dialog360Credentials::default()
    };
    let proven =
        recado_whatsapp::dialog360::verify_credentials(&shown, &masters, [&external], &[], &signed.body);
    assert_eq!(
        proven,
        Some(recado_whatsapp::dialog360::Dialog360Sender::Number(
            external,
            vec![number.secret_parts()]
        ))
    );

    let own_app = instance(&json!({"provider": "meta", "external_id": "100200300"}));
    let mut own = proofs.clone();
    own.add_instance_secret(&own_app, Secret::new("its-own").unwrap());
    let signed = authenticate(Provider::Meta, body.clone(), &own).unwrap();
    let its_own = [Secret::new("its-own").unwrap()];
    assert!(recado_whatsapp::meta::verify_signature(
        Some(&signed.headers[0].1),
        &signed.body,
        &its_own
    ));
    let signed = authenticate(Provider::Meta, body, &proofs).unwrap();
    assert_eq!(signed.path, "/webhooks/meta");
    let first = [Secret::new("first").unwrap()];
    assert!(recado_whatsapp::meta::verify_signature(
        Some(&signed.headers[0].1),
        &signed.body,
        &first
    ));
}

#[test]
fn a_body_that_cannot_be_proven_says_why() {
    let nobody = WebhookCredentials::new(nothing);
    let why = |provider, body| authenticate(provider, body, &nobody).unwrap_err().to_string();
    let evolution = |body| why(Provider::Evolution, body);
    for nameless in [json!([]), json!("x"), json!({}), json!({"instance": 7})] {
        assert_eq!(evolution(nameless), "a body names no instance");
    }
    assert!(evolution(json!({"instance": "outra"})).contains("no instance outra"));
    assert!(evolution(json!({"instance": {"instanceName": "outra"}})).contains("no instance outra"));
    assert!(why(Provider::Meta, json!({})).contains("META_APP_SECRET"));
    assert!(why(Provider::Dialog360, json!({"entry": []})).contains("names no number"));
    assert!(why(Provider::AwsSocial, json!({})).contains("queue"));
}

#[test]
fn a_body_can_be_replayed_as_if_for_another_instance() {
    let own = instance(&json!({"provider": "evolution", "external_id": "loja-1"}));
    let mut proofs = WebhookCredentials::new(nothing);
    proofs.add_instance_secret(&own, Secret::new("s3cret").unwrap());
    proofs.readdress_to(&own);
    for body in [json!({"instance": "outra"}), json!({"instanceName": "outra"})] {
        let signed = authenticate(Provider::Evolution, body, &proofs).unwrap();
        let body: Value = serde_json::from_slice(&signed.body).unwrap();
        let named = body.get("instance").or(body.get("instanceName")).unwrap();
        assert_eq!((named, body.as_object().unwrap().len()), (&json!("loja-1"), 1));
        assert!(
            !format!("{signed:?}{proofs:?}").contains("s3cret"),
            "no proof is shown"
        );
    }
}

#[test]
fn a_body_is_recognised_by_its_shape() {
    let meta = json!({"object": "whatsapp_business_account", "entry": []});
    assert_eq!(recognize_provider(&meta), Some(Provider::Meta));
    for name in ["instance", "instanceName"] {
        assert_eq!(
            recognize_provider(&json!({ name: "a" })),
            Some(Provider::Evolution)
        );
    }
    assert_eq!(recognize_provider(&json!({"hello": 1})), None);
    assert_eq!(recognize_provider(&json!([1])), None);
}

#[test]
fn an_example_is_a_webhook_with_one_message_also_when_a_shell_has_filled_it_in() {
    let own = instance(&json!({"provider": "evolution"}));
    let at = Timestamp::from_second(1_760_000_000).unwrap();
    let sample = SimulatedInbound {
        phone: "5511900000002",
        name: "Maria",
        text: "Oi",
        id: "A1",
        at,
    };
    let body = example_webhook(&own, &sample).unwrap();
    let shell = example_webhook_in_shell(&own, &sample).unwrap();
    let filled = shell
        .replace("'$(date +%s%N)$RANDOM'", "A1")
        .replace("'$(date +%s)'", "1760000000");
    for body in [body.to_string(), filled] {
        let items = recado_whatsapp::split_webhook(Provider::Evolution, body.as_bytes(), at).unwrap();
        assert!(
            matches!(&items[..], [recado_domain::inbound::WebhookItem::Event(event)]
                if event.external == ExternalId::parse("suporte-01").unwrap()),
            "{items:?}"
        );
    }
    let meta = instance(&json!({"provider": "meta", "external_id": "1"}));
    assert!(example_webhook(&meta, &sample).is_none() && example_webhook_in_shell(&meta, &sample).is_none());
}

#[test]
fn what_an_installation_lacks_for_a_provider_is_named() {
    let found = |provider: &str, told: &Value| {
        let own = instance(&json!({"provider": provider, "external_id": "1"}));
        setup_state(&own, Some(&webhook(told)))
    };
    let fine = found("meta", &json!({"verify_token_set": true}));
    assert_eq!(
        checks(&fine),
        [("secrets", Severity::Good), ("url", Severity::Good)]
    );
    let lacking =
        json!({"proof_set": false, "verify_token_set": false, "webhook_url": "http://10.0.0.1/k/secret"});
    let mends = |provider| {
        let found = found(provider, &lacking);
        assert!(!format!("{found:?}").contains("k/secret"), "no secret is shown");
        let mends = found
            .into_iter()
            .map(|finding| (finding.grade, finding.mend.unwrap()));
        mends.collect::<Vec<_>>()
    };
    let meta = mends("meta");
    assert_eq!(meta.len(), 3);
    assert_eq!(
        meta[0],
        (Severity::Broken, "set META_APP_SECRET there".to_owned())
    );
    assert!(meta[1].1.contains("META_VERIFY_TOKEN"));
    assert_eq!(meta[2].0, Severity::Broken, "Meta posts to https only");
    let evolution = mends("evolution");
    assert_eq!(evolution[0].1, "set RECADO_WEBHOOK_SECRET there");
    assert_eq!(
        evolution.last().unwrap().0,
        Severity::Note,
        "Evolution may be near"
    );
    let salt = json!({"value": "0".repeat(32)});
    let told = webhook(&json!({}));
    for (provider, salt, expected) in [
        ("evolution", None, 1),
        ("360dialog", None, 1),
        ("evolution", Some(&salt), 0),
        ("meta", None, 0),
    ] {
        let own = instance(&json!({"provider": provider, "external_id": "1", "secret_salt": salt}));
        let found = setup_state(&own, Some(&told));
        let older = found.iter().filter(|one| one.found.contains("from before"));
        let mends: Vec<_> = older.map(|one| (one.grade, one.mend.clone().unwrap())).collect();
        assert_eq!(mends.len(), expected, "{provider}");
        assert!(
            mends
                .iter()
                .all(|(grade, mend)| *grade == Severity::Note && mend.contains("secret rotate"))
        );
    }
    let aws = found("aws-social", &json!({"webhook_url": null}));
    assert!(aws.is_empty(), "its events come by a queue");
    let unknown = setup_state(&instance(&json!({"provider": "evolution"})), None);
    assert_eq!(checks(&unknown), [("secrets", Severity::Broken)]);
}

#[test]
fn only_a_number_connected_like_a_phone_may_be_too_fast() {
    let at = |provider: &str, per_second: f64| {
        let rate = json!({"per_second": per_second, "burst": 5});
        check_rate_limit(&instance(
            &json!({"provider": provider, "external_id": "1", "rate": rate}),
        ))
    };
    assert!(at("evolution", 5.0).is_none());
    assert_eq!(at("evolution", 5.5).unwrap().grade, Severity::Note);
    assert!(at("meta", 80.0).is_none() && at("aws-social", 80.0).is_none());
}

/// A provider that answers as `script` says, and what became of asking it.
struct Scene {
    server: StandIn,
    http: Client,
    instance: Instance,
}

impl Scene {
    async fn set(provider: &str, script: Vec<Does>) -> Self {
        let server = StandIn::start(script).await;
        let fields = json!({"provider": provider, "external_id": "100200300", "base_url": server.url});
        Self {
            instance: instance(&fields),
            http: recado_http_client::build_http_client().unwrap(),
            server,
        }
    }

    async fn examine(&self, webhook: Option<&InstanceWebhook>) -> Vec<CheckResult> {
        let config = ProviderConfig::default();
        check_setup(&self.subject(&config), webhook, &Secret::new("key").unwrap()).await
    }

    async fn connect(
        &self,
        webhook: &InstanceWebhook,
        check: bool,
    ) -> (Vec<String>, Result<(), ConnectError>) {
        let options = ConnectOptions {
            check,
            ..ConnectOptions::default()
        };
        self.connect_with(webhook, options).await
    }

    async fn connect_with(
        &self,
        webhook: &InstanceWebhook,
        options: ConnectOptions,
    ) -> (Vec<String>, Result<(), ConnectError>) {
        let (config, key) = (ProviderConfig::default(), Secret::new("key").unwrap());
        let connecting = ConnectParameters {
            webhook,
            key: Ok(&key),
            options,
        };
        let mut steps = Vec::new();
        let connected = connect_instance(&self.subject(&config), &connecting, &mut steps).await;
        (steps.iter().map(ToString::to_string).collect(), connected)
    }

    fn subject<'a>(&'a self, config: &'a ProviderConfig) -> OnboardingTarget<'a> {
        OnboardingTarget {
            http: &self.http,
            config,
            instance: &self.instance,
            lookup_secret: nothing,
            now: Timestamp::now,
        }
    }
}

#[tokio::test]
async fn what_pairs_a_phone_comes_with_the_finding_and_into_no_record() {
    let script = vec![
        Does::Answers(200, r#"{"instance": {"state": "close"}}"#),
        Does::Answers(200, r#"{"code": "2@pairing", "pairingCode": null}"#),
        Does::Answers(404, r#"{"response": {"message": "none"}}"#),
    ];
    let scene = Scene::set("evolution", script).await;
    let found = scene.examine(None).await;
    assert_eq!(
        checks(&found)[..3],
        [
            ("credential", Severity::Good),
            ("connection", Severity::Broken),
            ("webhook", Severity::Broken)
        ]
    );
    let code = found[1].pairing.as_ref().unwrap();
    assert_eq!(code.expose_secret(), "2@pairing");
    let record = serde_json::to_value(&found[1]).unwrap();
    let fields: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["instance", "check", "grade", "found", "mend"]);
    assert!(!format!("{found:?}{record}").contains("2@pairing"));
}

#[tokio::test]
async fn aws_is_connected_by_its_queue() {
    let scene = Scene::set("aws-social", vec![Does::Hangs]).await;
    let (steps, connected) = scene
        .connect(&webhook(&json!({"webhook_url": null})), false)
        .await;
    assert!(steps.is_empty());
    assert!(connected.unwrap_err().to_string().contains("SocialTopicArn"));
    assert!(scene.examine(None).await.is_empty());
}

#[test]
fn a_clock_may_be_a_minute_off() {
    let at = |second: i64| Timestamp::from_second(second).unwrap();
    let grade = |ours, theirs| check_clock("a", at(ours), Some(at(theirs))).grade;
    assert_eq!(grade(1000, 1060), Severity::Good);
    assert_eq!(grade(1000, 1061), Severity::Broken);
    assert_eq!(grade(1061, 1000), Severity::Broken);
    assert_eq!(check_clock("a", at(0), None).grade, Severity::Note);
}
