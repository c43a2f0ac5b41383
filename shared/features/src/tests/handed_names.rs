//! A name at a provider passes from one tenant to another: what the first one knew proves nothing any more.

use crate::tests::webhooks::{evolution_message, meta_body};
use crate::tests::{Answered, Site, secret_at};
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::config::ConfigDocument;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, derive_webhook_secrets};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::ports::succeed;
use recado_testkit::webhooks::jwt_hs256;
use serde_json::{Value, json};

const NUMBER: &str = "100000000000001";

/// Tenants `ta` and `tb`, each with an agent and the token of a manager.
struct Town {
    site: Site,
    tokens: [String; 2],
}

impl Town {
    async fn new() -> Self {
        let site = Site::in_memory();
        let tenants = ["ta", "tb"];
        let agents = tenants.map(|id| json!({"id": id, "tenant": id, "model": "m", "system_prompt": "p"}));
        let document = json!({"tenants": tenants.map(|id| json!({"id": id})), "agents": agents});
        let applied = site.operate("PUT", "/v1/config", &document).await;
        assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
        let mut tokens = [String::new(), String::new()];
        for (token, tenant) in tokens.iter_mut().zip(tenants) {
            let wanted = json!({"name": format!("{tenant}-manager"), "role": "manager", "tenant": tenant});
            let made = site.operate("POST", "/v1/tokens", &wanted).await;
            made.body["secret"].as_str().unwrap().clone_into(token);
        }
        Self { site, tokens }
    }

    async fn ask_as(&self, tenant: usize, method: &str, path: &str, body: &Value) -> Answered {
        let bearer = format!("Bearer {}", self.tokens[tenant]);
        let headers = [("authorization", bearer.as_str()), ("if-match", "*")];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answered = self.site.ask(method, path, &headers, body).await;
        assert!(answered.status.is_success(), "{method} {path}: {}", answered.text);
        answered
    }

    async fn shown_secret(&self, tenant: usize, id: &str) -> String {
        let path = format!("/v1/instances/{id}/webhook");
        let shown = self.ask_as(tenant, "GET", &path, &Value::Null).await;
        shown.body["secret"].as_str().unwrap().to_owned()
    }

    /// Posts a webhook of the name with this secret, in each way that shows one. Returns the codes.
    async fn prove(&self, provider: Provider, secret: &str) -> Vec<u16> {
        let now = Timestamp::now().as_second();
        let bearer = format!("Bearer {secret}");
        let signed = format!("Bearer {}", jwt_hs256(secret, now, now + 600));
        let (path, body, proofs) = match provider {
            Provider::Evolution => (
                "/webhooks/evolution",
                evolution_message(),
                vec![
                    ("apikey", secret),
                    ("authorization", &*bearer),
                    ("authorization", &*signed),
                ],
            ),
            _ => (
                "/webhooks/360dialog",
                meta_body(&json!({
                    "contacts": [{"profile": {"name": "Bia"}, "wa_id": "5511900000001"}],
                    "messages": [{"from": "5511900000001", "id": "wamid.X", "timestamp": "1760000000",
                        "type": "text", "text": {"body": "oi"}}],
                })),
                vec![("x-recado-webhook-secret", secret)],
            ),
        };
        let mut codes = Vec::new();
        for proof in proofs {
            let answered = self.site.ask("POST", path, &[proof], body.to_string()).await;
            codes.push(answered.status.as_u16());
        }
        codes
    }
}

/// The instance that a tenant configures under the name.
fn entry(tenant: &str, provider: Provider) -> Value {
    let (external, key) = match provider {
        Provider::Evolution => ("suporte-01", "EVO"),
        _ => (NUMBER, "D360"),
    };
    json!({"id": format!("{tenant}-line"), "tenant": tenant, "agent": tenant, "provider": provider,
        "external_id": external,
        "credential": format!("env:RECADO_CREDENTIAL_{}_{key}", tenant.to_uppercase())})
}

/// All that `ta` is shown of the name while it has it: as documents name versions, and by all rotations.
async fn collect_secrets(town: &Town, provider: Provider) -> Vec<String> {
    town.ask_as(0, "POST", "/v1/instances", &entry("ta", provider))
        .await;
    let mut seen = Vec::new();
    for version in 1..=9 {
        let mut written = entry("ta", provider);
        written["secret_version"] = json!(version);
        town.ask_as(0, "PUT", "/v1/instances/ta-line", &written).await;
        seen.push(town.shown_secret(0, "ta-line").await);
    }
    assert!(
        seen.iter().all(|secret| *secret == seen[0]),
        "a document makes no secret"
    );
    for _ in 2..=9 {
        let path = "/v1/instances/ta-line/secret/rotate";
        town.ask_as(0, "POST", path, &json!({"overlap_seconds": 2_592_000}))
            .await;
        seen.push(town.shown_secret(0, "ta-line").await);
    }
    let present = seen.last().unwrap();
    assert!(
        town.prove(provider, present)
            .await
            .iter()
            .all(|code| *code == 200)
    );
    seen
}

/// A secret is made of a random salt of the present entry, which no document sets.
#[tokio::test]
async fn no_secret_that_a_tenant_was_shown_proves_anything_once_the_name_is_anothers() {
    for provider in [Provider::Evolution, Provider::Dialog360] {
        let town = Town::new().await;
        let seen = collect_secrets(&town, provider).await;
        town.ask_as(0, "DELETE", "/v1/instances/ta-line?force=true", &Value::Null)
            .await;
        for secret in &seen {
            let codes = town.prove(provider, secret).await;
            assert!(
                codes.iter().all(|code| *code == 401),
                "{provider}, while nobody has it: {codes:?}"
            );
        }
        let mut theirs = entry("tb", provider);
        // What a document says of the secret has no effect.
        theirs["secret_version"] = json!(7);
        town.ask_as(1, "POST", "/v1/instances", &theirs).await;
        for rotated in 0..3 {
            for secret in &seen {
                let codes = town.prove(provider, secret).await;
                assert!(
                    codes.iter().all(|code| *code == 401),
                    "{provider} {rotated}: {codes:?}"
                );
            }
            let own = town.shown_secret(1, "tb-line").await;
            let codes = town.prove(provider, &own).await;
            assert!(
                codes.iter().all(|code| *code == 200),
                "{provider} {rotated}: {codes:?}"
            );
            let path = "/v1/instances/tb-line/secret/rotate";
            town.ask_as(1, "POST", path, &Value::Null).await;
        }
    }
}

#[tokio::test]
async fn an_entry_that_gets_another_tenant_gets_other_secrets() {
    let town = Town::new().await;
    let seen = collect_secrets(&town, Provider::Evolution).await;
    let mut moved = entry("tb", Provider::Evolution);
    moved["id"] = json!("ta-line");
    let changed = town
        .site
        .operate("PUT", "/v1/config", &json!({"instances": [moved]}))
        .await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);
    for secret in &seen {
        assert_eq!(town.prove(Provider::Evolution, secret).await, [401, 401, 401]);
    }
    let own = town.shown_secret(1, "ta-line").await;
    assert_eq!(town.prove(Provider::Evolution, &own).await, [200, 200, 200]);
}

#[tokio::test]
async fn the_secrets_of_an_entry_from_before_salts_end_with_it_or_with_its_rotation() {
    let town = Town::new().await;
    let stored: ConfigDocument =
        serde_json::from_value(json!({"instances": [entry("ta", Provider::Evolution)]})).unwrap();
    succeed(put_configuration(&town.site.store, &stored)).await;
    let present = secret_at(Provider::Evolution, "master", "suporte-01");
    assert_eq!(
        town.shown_secret(0, "ta-line").await,
        present,
        "its derivation is kept"
    );
    town.ask_as(
        0,
        "PUT",
        "/v1/instances/ta-line",
        &entry("ta", Provider::Evolution),
    )
    .await;
    assert_eq!(town.prove(Provider::Evolution, &present).await, [200, 200, 200]);
    let (master, name) = (
        Secret::new("master").unwrap(),
        ExternalId::parse("suporte-01").unwrap(),
    );
    let old: Vec<String> = derive_webhook_secrets(&master, Provider::Evolution, &name, None)
        .map(|(_, secret)| secret.expose_secret().to_owned())
        .collect();
    let path = "/v1/instances/ta-line/secret/rotate";
    town.ask_as(0, "POST", path, &json!({"overlap_seconds": 0})).await;
    let rotated = town.shown_secret(0, "ta-line").await;
    town.ask_as(0, "DELETE", "/v1/instances/ta-line?force=true", &Value::Null)
        .await;
    town.ask_as(1, "POST", "/v1/instances", &entry("tb", Provider::Evolution))
        .await;
    for secret in old.iter().chain([&rotated]) {
        assert_eq!(town.prove(Provider::Evolution, secret).await, [401, 401, 401]);
    }
}

#[tokio::test]
async fn a_dry_run_shows_no_secret_that_nobody_keeps() {
    let town = Town::new().await;
    let document = json!({"instances": [entry("ta", Provider::Evolution)]});
    let tried = town.ask_as(0, "PUT", "/v1/config?dry_run=true", &document).await;
    assert_eq!(
        tried.body["instances"][0]["secret"],
        Value::Null,
        "{}",
        tried.text
    );
    let applied = town.ask_as(0, "PUT", "/v1/config", &document).await;
    let secret = applied.body["instances"][0]["secret"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(secret, town.shown_secret(0, "ta-line").await);
}
