//! The demonstration at start: a burst of three messages comes in as a provider would post it, and one reply goes out.

use crate::credential;
use crate::keyring::Keyring;
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::secret::derive_webhook_secret;
use recado_onboarding::{
    AuthenticatedWebhook, SampleMessage, WebhookCredentials, authenticate, example_webhook,
    example_webhook_in_shell,
};
use recado_pipeline::key_check::InstanceKeys;
use recado_pipeline::ports::CredentialState;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

const CONTACT: &str = "5511900000001";
const BURST: [&str; 3] = ["Oi!", "Queria marcar uma consulta", "Pode ser na terça de manhã?"];

/// The longest time that the reply may take: debounce, model and send, with a reserve.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// Builds a message of the invented contact.
fn build_sample<'a>(text: &'a str, id: &'a str, at: Timestamp) -> SampleMessage<'a> {
    SampleMessage {
        phone: CONTACT,
        name: "João",
        text,
        id,
        at,
    }
}

/// Derives the secrets with which webhooks of these instances are signed.
fn derive_signing_secrets<'i>(
    keyring: &Keyring,
    instances: impl Iterator<Item = &'i Instance>,
) -> WebhookCredentials {
    let mut proofs = WebhookCredentials::new(credential::read_secret_variable);
    for instance in instances {
        if let (Some(master), Some(external)) = (keyring.get_master_secret(), instance.resolve_external_id())
        {
            let secret = derive_webhook_secret(master, instance.provider, &external, instance.secret_version);
            proofs.add_instance_secret(instance, secret);
        }
    }
    proofs
}

/// Signs a webhook with the instance's own secret.
fn sign_with_keyring(keyring: &Keyring, instance: &Instance, body: Value) -> Result<AuthenticatedWebhook> {
    Ok(authenticate(
        instance.provider,
        body,
        &derive_signing_secrets(keyring, [instance].into_iter()),
    )?)
}

/// Returns a `curl` command line that posts a message as the provider of one of `instances` would. The message goes to
/// the installation at `url`. `None` if no instance has webhooks that can be signed here.
pub(crate) fn format_curl_line<'i>(
    url: &str,
    proofs: &WebhookCredentials,
    mut instances: impl Iterator<Item = &'i Instance>,
) -> Option<String> {
    let sample = SampleMessage {
        phone: "5511900000002",
        name: "Maria",
        text: "Qual o horario de funcionamento?",
        id: "",
        at: Timestamp::now(),
    };
    instances.find_map(|instance| {
        let data = example_webhook_in_shell(instance, &sample)?;
        let signed = authenticate(instance.provider, example_webhook(instance, &sample)?, proofs).ok()?;
        let shown: Vec<String> = signed
            .headers
            .iter()
            .map(|(name, proof)| format!("-H '{name}: {proof}' "))
            .collect();
        Some(format!(
            "curl -sS {url}{} -H 'Content-Type: application/json' {}-d '{data}'",
            signed.path,
            shown.concat()
        ))
    })
}

/// Runs the demonstration on the first instance that is simulated, unless `wanted` is `false`: nothing is ever sent to
/// the invented number.
pub(crate) async fn run_demonstration(
    wanted: bool,
    address: SocketAddr,
    keyring: &Keyring,
    keys: &[InstanceKeys],
) -> Result<()> {
    if !wanted {
        return Ok(());
    }
    let sample = build_sample("", "", Timestamp::now());
    let shown = |keys: &&InstanceKeys| {
        keys.credential == CredentialState::Simulated && example_webhook(&keys.instance, &sample).is_some()
    };
    let Some(InstanceKeys { instance, .. }) = keys.iter().find(shown) else {
        println!("\nThere is no demonstration, since no instance is simulated. Serving. Ctrl-C stops.");
        return Ok(());
    };
    let http = recado_http_client::build_http_client()?;
    println!("\nA burst comes in on {}:", instance.id);
    for (number, text) in BURST.iter().enumerate() {
        post_burst_message(&http, address, keyring, instance, number, text).await?;
        println!("  → {text}");
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    println!("  … waiting for the rest of the burst");
    let reply = wait_for_reply(&http, address, keyring).await?;
    println!("One reply goes out (to the simulated provider):\n  ← {reply}\n");
    println!("To write to it yourself: recado try --url http://{address} | sh");
    println!("Serving. Ctrl-C stops.");
    Ok(())
}

async fn post_burst_message(
    http: &reqwest::Client,
    address: SocketAddr,
    keyring: &Keyring,
    instance: &Instance,
    number: usize,
    text: &str,
) -> Result<()> {
    let at = Timestamp::now();
    let id = format!("DEMO{}{number}", at.as_millisecond());
    let body = example_webhook(instance, &build_sample(text, &id, at)).context("the instance has no name")?;
    let webhook = sign_with_keyring(keyring, instance, body)?;
    let answer = webhook
        .build_request(http, &format!("http://{address}"))
        .timeout(Duration::from_secs(10))
        .send()
        .await?;
    if !answer.status().is_success() {
        bail!("the webhook answered {}", answer.status());
    }
    Ok(())
}

async fn wait_for_reply(http: &reqwest::Client, address: SocketAddr, keyring: &Keyring) -> Result<String> {
    let begun = Timestamp::now();
    let find = async {
        loop {
            if let Some(text) = find_newest_reply(http, address, keyring, begun).await? {
                return Ok(text);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(REPLY_TIMEOUT, find)
        .await
        .context("no reply came")?
}

async fn find_newest_reply(
    http: &reqwest::Client,
    address: SocketAddr,
    keyring: &Keyring,
    since: Timestamp,
) -> Result<Option<String>> {
    let outbox: Value = http
        .get(format!("http://{address}/simulator/outbox"))
        .bearer_auth(keyring.token.expose_secret())
        .timeout(Duration::from_secs(10))
        .send()
        .await?
        .error_for_status()?
        .json()
        .await?;
    let ours = |message: &&Value| {
        let to = message["to"].as_str().unwrap_or_default();
        let at = message["sent_at"]
            .as_str()
            .and_then(|at| at.parse::<Timestamp>().ok());
        to.contains(CONTACT) && at.is_some_and(|at| at >= since)
    };
    let items = outbox["items"].as_array().cloned().unwrap_or_default();
    Ok(items
        .iter()
        .rfind(ours)
        .and_then(|message| message["text"].as_str())
        .map(str::to_owned))
}
