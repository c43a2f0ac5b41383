//! The API's requests go to hosts that the installation allows, with keys that may go there.

use super::*;
use recado_domain::config::CredentialRef;
use recado_http::{SetupAction, SetupError, SetupRequest};
use recado_ports::ports::{PortResult, Secrets};
use recado_whatsapp::webhook::WebhookSetup;

/// Every name leads to a secret.
#[derive(Debug)]
struct EverySecret;

impl Secrets for EverySecret {
    async fn resolve_secret(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(Secret::new("key"))
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}

const CLOSED: Does = Does::Answers(200, r#"{"instance": {"state": "close"}}"#);
const CODE: Does = Does::Answers(200, r#"{"code": "2@code", "pairingCode": "ABCD1234"}"#);

/// Asks to pair an instance at a stand-in. Returns what came, and the number of requests that arrived.
async fn pair_at(
    fields: &Value,
    hosts: impl Fn(&str) -> Vec<String>,
    own: bool,
) -> (Result<Option<Secret>, SetupError>, usize) {
    let server = StandIn::start(vec![CLOSED, CODE]).await;
    let mut all = json!({"provider": "evolution", "base_url": server.url});
    let more = fields.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(more);
    let service = SetupService {
        http: recado_http_client::build_http_client().unwrap(),
        config: ProviderConfig {
            evolution_base_url: own.then(|| server.url.clone()),
            listed_hosts: hosts(&server.url),
            ..ProviderConfig::default()
        },
        secrets: EverySecret,
    };
    let request = SetupRequest {
        instance: instance(&all),
        webhook: WebhookSetup {
            url: Some("https://recado.example/webhooks/evolution".to_owned()),
            secret: None,
            secret_header: None,
            proof_set: true,
            verify_token_set: None,
        },
        action: SetupAction::Pair,
    };
    let answer = service.carry_out(request).await;
    let code = answer.map(|answer| answer.pairing.and_then(|pairing| pairing.code));
    (code, server.requests().len())
}

#[tokio::test]
async fn a_key_goes_to_the_installations_host_and_a_tenants_key_to_listed_ones() {
    let nobody = |_: &str| Vec::new();
    let listed = |url: &str| vec!["evo.example".to_owned(), url.to_owned()];
    let plain = json!({});
    let tenants = json!({"credential": "env:RECADO_CREDENTIAL_CLINICA_KEY"});
    let (code, requests) = pair_at(&plain, nobody, true).await;
    assert!(code.unwrap().is_some_and(|code| code.expose_secret() == "2@code"));
    assert_eq!(requests, 2);
    let (code, requests) = pair_at(&tenants, listed, false).await;
    assert!(code.unwrap().is_some());
    assert_eq!(requests, 2);
    for (fields, is_listed, why) in [
        (&tenants, false, "RECADO_ONBOARDING_HOSTS"),
        (&plain, true, "the installation's own host only"),
        (&json!({"credential": "env:HOME"}), true, "credential"),
        (&json!({"base_url": "http://169.254.169.254/"}), true, "base_url"),
    ] {
        let hosts = |url: &str| if is_listed { listed(url) } else { nobody(url) };
        let (code, requests) = pair_at(fields, hosts, false).await;
        let refused = code.unwrap_err();
        assert!(matches!(&refused, SetupError::Refused(_)), "{refused}");
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(requests, 0, "{why}");
    }
}

#[tokio::test]
async fn a_number_that_is_no_phone_is_not_paired() {
    let (code, requests) = pair_at(
        &json!({"provider": "360dialog", "base_url": null}),
        |_| Vec::new(),
        true,
    )
    .await;
    assert!(matches!(code, Err(SetupError::NotOffered(_))));
    assert_eq!(requests, 0);
}
