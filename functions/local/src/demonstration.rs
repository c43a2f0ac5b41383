//! The first two minutes: a burst of three messages goes in as Evolution API would post it, and one reply comes out.

use crate::keyring::Keyring;
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use recado_domain::config::{Document, Instance};
use recado_domain::secret::webhook_secret;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;

const CONTACT: &str = "5511900000001";
const BURST: [&str; 3] = ["Oi!", "Queria marcar uma consulta", "Pode ser na terça de manhã?"];

/// How long the reply may take: debounce, model and send, with room to spare.
const PATIENCE: Duration = Duration::from_secs(60);

/// The webhook secret of an instance, as text.
pub(crate) fn secret(keyring: &Keyring, instance: &Instance) -> Option<String> {
    let secret = webhook_secret(keyring.master()?, instance.provider, &instance.external()?);
    Some(secret.expose().to_owned())
}

/// Shows it, unless `wanted` says no or the instance would really send: nothing is ever sent to the invented number.
pub(crate) async fn run(
    wanted: bool,
    address: SocketAddr,
    keyring: &Keyring,
    document: &Document,
) -> Result<()> {
    let evolution = |instance: &&Instance| instance.provider == recado_whatsapp::evolution::NAME;
    let Some(instance) = document.instances.iter().find(evolution).filter(|_| wanted) else {
        return Ok(());
    };
    if std::env::var("EVOLUTION_API_KEY").is_ok() || instance.credential.is_some() {
        return Ok(());
    }
    let http = recado_ai::http_client()?;
    println!("\nA burst comes in on {}:", instance.id);
    for (number, text) in BURST.iter().enumerate() {
        post(&http, address, keyring, instance, number, text).await?;
        println!("  → {text}");
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    println!("  … waiting for the rest of the burst");
    let reply = wait_for_reply(&http, address, keyring).await?;
    println!("One reply goes out (to the simulated provider):\n  ← {reply}\n\nServing. Ctrl-C stops.");
    Ok(())
}

async fn post(
    http: &reqwest::Client,
    address: SocketAddr,
    keyring: &Keyring,
    instance: &Instance,
    number: usize,
    text: &str,
) -> Result<()> {
    let now = Timestamp::now();
    let body = json!({
        "event": "messages.upsert",
        "instance": instance.external(),
        "data": {
            "key": {
                "remoteJid": format!("{CONTACT}@s.whatsapp.net"),
                "fromMe": false,
                "id": format!("DEMO{}{number}", now.as_millisecond()),
            },
            "pushName": "João",
            "message": {"conversation": text},
            "messageType": "conversation",
            "messageTimestamp": now.as_second(),
        },
        "date_time": now.to_string(),
    });
    let answer = http
        .post(format!("http://{address}/webhooks/evolution"))
        .header(
            "apikey",
            secret(keyring, instance).context("the instance has no secret")?,
        )
        .json(&body)
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
            if let Some(text) = newest_reply(http, address, keyring, begun).await? {
                return Ok(text);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(PATIENCE, find)
        .await
        .context("no reply came")?
}

async fn newest_reply(
    http: &reqwest::Client,
    address: SocketAddr,
    keyring: &Keyring,
    since: Timestamp,
) -> Result<Option<String>> {
    let outbox: Value = http
        .get(format!("http://{address}/simulator/outbox"))
        .bearer_auth(keyring.token.expose())
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
