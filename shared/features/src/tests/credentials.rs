//! Whoever may configure instances tries to have a secret sent to a host of their own: nothing arrives there.

use crate::tests::test_providers::{TestProviders, TestSecrets};
use crate::tests::{Answered, Site, TOKEN};
use axum::http::StatusCode;
use recado_pipeline::records::configuration::put_configuration;
use recado_whatsapp::ProviderConfig;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A host that keeps all that is sent to it and answers as Evolution does.
#[derive(Debug, Clone)]
struct Host {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Host {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept: Arc<Mutex<Vec<String>>> = Arc::default();
        let host = Self {
            url,
            requests: Arc::clone(&kept),
        };
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = vec![0; 64 * 1024];
                let read = stream.read(&mut bytes).await.unwrap();
                kept.lock()
                    .unwrap()
                    .push(String::from_utf8_lossy(&bytes[..read]).to_lowercase());
                let body = r#"{"key": {"id": "3EB0AA"}}"#;
                let head = format!(
                    "HTTP/1.1 201 X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        host
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// An installation with every secret that there could be, configured with Evolution elsewhere.
struct CredentialSetup {
    site: Site,
}

impl CredentialSetup {
    fn new() -> Self {
        let mut site = Site::in_memory();
        let config = ProviderConfig {
            evolution_base_url: Some("http://127.0.0.1:9".to_owned()),
            ..ProviderConfig::default()
        };
        site.providers = TestProviders::real(TestSecrets::Every, config);
        Self { site }
    }

    async fn operate(&self, method: &str, path: &str, body: &Value) -> Answered {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str())];
        self.site.ask(method, path, &headers, body.to_string()).await
    }

    /// Has instance `evil` send a message, and works on it.
    async fn send(&self) {
        let text = json!({"to": "+5511900000001", "text": "oi"});
        let answered = self.operate("POST", "/v1/instances/evil/messages", &text).await;
        assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.text);
        crate::tests::forged::work(&self.site.store, &self.site.deps()).await;
    }
}

fn document(fields: &Value) -> Value {
    let mut evil = json!({"id": "evil", "tenant": "clinic", "agent": "ana", "provider": "evolution"});
    evil.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    json!({"tenants": [{"id": "clinic"}, {"id": "other"}],
        "agents": [{"id": "ana", "tenant": "clinic", "model": "claude-sonnet-4-5", "system_prompt": "x"}],
        "instances": [evil]})
}

/// What an attacker who may configure instances would name. `here` is the attacker's host.
fn attacks(here: &str) -> Vec<Value> {
    let references = [
        "env:META_APP_SECRET",
        "env:META_VERIFY_TOKEN",
        "env:D360_PARTNER_SECRET",
        "env:RECADO_TOKEN",
        "env:RECADO_WEBHOOK_SECRET",
        "env:AWS_SECRET_ACCESS_KEY",
        "env:AWS_SESSION_TOKEN",
        "env:ANTHROPIC_API_KEY",
        "env:HOME",
        "env:EVOLUTION_API_KEY",
        "env:META_ACCESS_TOKEN",
        "env:RECADO_CREDENTIAL_OTHER_KEY",
        "ssm:/recado/meta-app-secret",
        "ssm:/recado/instances/other/key",
    ];
    let mut attacks: Vec<Value> = references
        .iter()
        .map(|reference| json!({"credential": reference, "base_url": here}))
        .collect();
    attacks.push(json!({"base_url": here}));
    for (provider, number) in [("meta", "1"), ("360dialog", "2")] {
        attacks.push(json!({"provider": provider, "external_id": number, "base_url": here}));
    }
    attacks
        .push(json!({"provider": "aws-social", "external_id": "3", "credential": "env:AWS_ACCESS_KEY_ID"}));
    attacks
}

#[tokio::test]
async fn an_instance_that_names_anothers_secret_or_takes_a_key_elsewhere_is_not_applied() {
    let host = Host::start().await;
    for attack in attacks(&host.url) {
        let setup = CredentialSetup::new();
        let answered = setup.operate("PUT", "/v1/config", &document(&attack)).await;
        assert_eq!(
            answered.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{attack}: {}",
            answered.text
        );
        let shown = setup.operate("GET", "/v1/config", &json!({})).await;
        assert_eq!(shown.body["document"]["instances"], json!([]), "{attack}");
    }
    assert_eq!(host.requests(), [""; 0]);
}

#[tokio::test]
async fn a_base_url_to_which_nothing_may_be_sent_is_not_applied() {
    for base in [
        "",
        "file:///etc/passwd",
        "http://169.254.169.254/latest",
        "https://2852039166/",
        "https://[::ffff:169.254.169.254]/",
        "https://[fe80::1]/",
        "http://user:pw@127.0.0.1/",
        "http://evolution.example.org",
        "http://127.0.0.1:19100/containers/create?x=",
        "https://evolution.example.org/#x",
    ] {
        let setup = CredentialSetup::new();
        let instance = json!({"base_url": base, "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"});
        let answered = setup.operate("PUT", "/v1/config", &document(&instance)).await;
        assert_eq!(
            answered.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{base}: {}",
            answered.text
        );
        assert!(answered.text.contains("base_url"), "{}", answered.text);
    }
}

#[tokio::test]
async fn a_configuration_that_was_stored_before_sends_no_secret_either() {
    let host = Host::start().await;
    for attack in attacks(&host.url) {
        if attack["provider"].is_string() {
            continue;
        }
        let setup = CredentialSetup::new();
        let stored = serde_json::from_value(document(&attack)).unwrap();
        put_configuration(&setup.site.store, &stored).await.unwrap();
        setup.send().await;
        let health = setup
            .operate("GET", "/health/whatsapp?instance=evil", &json!({}))
            .await;
        assert_eq!(
            health.body["instances"][0]["connection"], "needs_credentials",
            "{attack}: {}",
            health.text
        );
    }
    assert_eq!(host.requests(), [""; 0]);
}

#[tokio::test]
async fn an_instance_with_a_key_of_its_tenants_own_sends_that_key_to_its_own_host() {
    let host = Host::start().await;
    let setup = CredentialSetup::new();
    let own = json!({"base_url": host.url, "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"});
    let answered = setup.operate("PUT", "/v1/config", &document(&own)).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    setup.send().await;
    let requests = host.requests();
    assert!(
        requests[0].contains("apikey: env:recado_credential_clinic_key"),
        "{requests:?}"
    );
}

#[tokio::test]
async fn a_variable_that_two_tenants_would_share_is_nobodys() {
    let setup = CredentialSetup::new();
    let mut document = document(&json!({"credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"}));
    document["tenants"] = json!([{"id": "clinic"}, {"id": "Clinic"}]);
    let answered = setup.operate("PUT", "/v1/config", &document).await;
    assert_eq!(
        answered.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        answered.text
    );
}

/// The token of a manager of the tenant `clinic`, which has an agent.
async fn create_manager(setup: &CredentialSetup) -> String {
    let mut configured = document(&json!({}));
    configured.as_object_mut().unwrap().remove("instances");
    let applied = setup.operate("PUT", "/v1/config", &configured).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let wanted = json!({"name": "clinic-manager", "role": "manager", "tenant": "clinic"});
    let made = setup.operate("POST", "/v1/tokens", &wanted).await;
    made.body["secret"].as_str().unwrap().to_owned()
}

/// The document of a manager that names a host for its instance.
fn named_by_manager(base: &str) -> Value {
    json!({"instances": [{"id": "clinic-evil", "tenant": "clinic", "agent": "ana", "provider": "evolution",
        "base_url": base, "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY", "named_by_tenant": false}]})
}

/// The parts of a document in which a tenant names a URL.
fn name_url(kind: &str, url: &str) -> Value {
    let tool = |fields: Value| {
        let mut tool =
            json!({"id": "clinic-tool", "tenant": "clinic", "description": "d", "effect": "reads"});
        tool.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({"tools": [tool]})
    };
    let agent = json!({"id": "clinic-own", "tenant": "clinic",
        "http": {"url": url, "secret": "env:RECADO_CREDENTIAL_CLINIC_KEY"}});
    match kind {
        "tool" => tool(json!({"http": {"url": url}})),
        "question" => tool(
            json!({"effect": "acts", "http": {"url": "https://tool.example.org/a", "method": "POST",
            "ask": {"url": format!("{url}?id={{effect_id}}")}}}),
        ),
        "server" => tool(json!({"mcp": {"url": url, "allow": ["find"]}})),
        _ => json!({"agents": [agent]}),
    }
}

#[tokio::test]
async fn whatever_url_a_tenants_token_names_is_https_to_a_public_host_unless_the_installation_allows_others()
{
    for private_tools in [false, true] {
        let mut setup = CredentialSetup::new();
        let token = create_manager(&setup).await;
        setup.site.settings.private_tools = private_tools;
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        for kind in ["tool", "question", "server", "agent", "endpoint"] {
            for (url, is_public) in [
                ("https://tool.example.org/a", true),
                ("http://tool.example.org/a", false),
                ("https://10.0.0.7/a", false),
                ("http://localhost:8080/a", false),
                ("https://intranet/a", false),
            ] {
                let asked = if kind == "endpoint" {
                    let body = json!({"id": format!("e{}", url.len()), "url": url}).to_string();
                    setup.site.ask("POST", "/v1/webhooks", &headers, body).await
                } else {
                    let body = name_url(kind, url).to_string();
                    setup
                        .site
                        .ask("PUT", "/v1/config?dry_run=true", &headers, body)
                        .await
                };
                let is_refused = asked.text.contains("a token of the tenant names it");
                assert_eq!(
                    is_refused,
                    !is_public && !private_tools,
                    "{kind} {url}: {}",
                    asked.text
                );
                let refused = asked.status == StatusCode::UNPROCESSABLE_ENTITY;
                assert!(!is_public || !refused, "{kind} {url}: {}", asked.text);
                assert!(!is_refused || refused, "{kind} {url}: {}", asked.text);
            }
        }
    }
}

#[tokio::test]
async fn a_tenants_token_names_no_host_of_the_installations_network() {
    let host = Host::start().await;
    let setup = CredentialSetup::new();
    let token = create_manager(&setup).await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let private = [
        host.url.as_str(),
        "http://10.0.0.7",
        "https://10.0.0.7",
        "http://evolution:8080",
    ];
    for base in private {
        for path in ["/v1/config", "/v1/config?dry_run=true"] {
            let body = named_by_manager(base).to_string();
            let refused = setup.site.ask("PUT", path, &headers, body).await;
            assert_eq!(
                refused.status,
                StatusCode::UNPROCESSABLE_ENTITY,
                "{base}: {}",
                refused.text
            );
            assert!(
                refused.text.contains("RECADO_ONBOARDING_HOSTS"),
                "{}",
                refused.text
            );
        }
    }
    assert_eq!(host.requests(), [""; 0]);
    let public = "https://evolution.example.org";
    let body = named_by_manager(public).to_string();
    let applied = setup
        .site
        .ask("PUT", "/v1/config?dry_run=true", &headers, body)
        .await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
}

#[tokio::test]
async fn a_tenants_token_names_no_mail_server_of_the_installations_network() {
    let mut setup = CredentialSetup::new();
    let token = create_manager(&setup).await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let document = |server: &str| {
        json!({"tenants": [{"id": "clinic", "email_senders": [
            {"id": "mail", "kind": "smtp", "from": "hello@clinic.example", "server": server}]}]})
    };
    let private = ["smtp://127.0.0.1", "smtps://10.0.0.1:465", "smtps://mail"];
    for server in private {
        let body = document(server).to_string();
        let refused = setup.site.ask("PUT", "/v1/config", &headers, body).await;
        assert_eq!(
            refused.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{server}: {}",
            refused.text
        );
        let setting = "RECADO_PRIVATE_MAIL_SERVERS";
        assert!(refused.text.contains(setting), "{}", refused.text);
    }
    let public = document("smtps://mail.clinic.example").to_string();
    let applied = setup.site.ask("PUT", "/v1/config", &headers, public).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    // What the installation named stays, and with the setting each may be named.
    let named = setup.operate("PUT", "/v1/config", &document(private[0])).await;
    assert_eq!(named.status, StatusCode::OK, "{}", named.text);
    for (server, is_allowed) in [(private[0], false), (private[1], true)] {
        setup.site.settings.private_mail_servers = is_allowed;
        let body = document(server).to_string();
        let applied = setup.site.ask("PUT", "/v1/config", &headers, body).await;
        assert_eq!(applied.status, StatusCode::OK, "{server}: {}", applied.text);
    }
}

#[tokio::test]
async fn whoever_writes_an_entry_later_is_not_who_named_its_host() {
    let host = Host::start().await;
    let mut setup = CredentialSetup::new();
    let listing = |hosts: Vec<String>| {
        let config = ProviderConfig {
            evolution_base_url: Some("http://127.0.0.1:9".to_owned()),
            listed_hosts: hosts,
            ..ProviderConfig::default()
        };
        TestProviders::real(TestSecrets::Every, config)
    };
    setup.site.providers = listing(vec![host.url.clone()]);
    let token = create_manager(&setup).await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let document = named_by_manager(&host.url);
    let applied = setup
        .site
        .ask("PUT", "/v1/config", &headers, document.to_string())
        .await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    assert!(!host.requests().is_empty(), "a listed host is asked");
    // The host is listed no more. An operator who changes another field does not name it anew.
    setup.site.providers = listing(Vec::new());
    let mut changed = document.clone();
    changed["instances"][0]["typing"] = json!(true);
    let refused = setup.operate("PUT", "/v1/config", &changed).await;
    assert_eq!(
        refused.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        refused.text
    );
    let asked = host.requests().len();
    let text = json!({"to": "+5511900000001", "text": "oi"});
    setup
        .operate("POST", "/v1/instances/clinic-evil/messages", &text)
        .await;
    crate::tests::forged::work(&setup.site.store, &setup.site.deps()).await;
    assert_eq!(
        host.requests().len(),
        asked,
        "what is stored already is not asked either"
    );
}

#[tokio::test]
async fn a_dry_run_asks_nobody() {
    let host = Host::start().await;
    let setup = CredentialSetup::new();
    let own = json!({"base_url": host.url, "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"});
    let tried = setup
        .operate("PUT", "/v1/config?dry_run=true", &document(&own))
        .await;
    assert_eq!(tried.status, StatusCode::OK, "{}", tried.text);
    assert_eq!((host.requests().len(), &tried.body["warnings"]), (0, &json!([])));
    let applied = setup.operate("PUT", "/v1/config", &document(&own)).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    assert!(!host.requests().is_empty(), "only an apply asks");
}
