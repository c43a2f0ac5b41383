//! Evolution API: the webhook is set by its API, read back, and tried.

use super::Plan;
use anyhow::{Context, Result, bail};
use recado_domain::secret::Secret;
use recado_whatsapp::evolution::register::{ProvenBy, Setup, Wanted};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

/// How long our own webhook may take.
const TIMEOUT: Duration = Duration::from_secs(15);

pub(super) async fn connect(plan: &Plan<'_>) -> Result<()> {
    let (key, secret) = (plan.key()?, secret(plan)?);
    let instance = plan.instance.external().context("the instance has no name")?;
    let base = plan.instance.base_url.as_ref();
    let base = base
        .or(plan.environment.evolution_url.as_ref())
        .context("no base URL: set EVOLUTION_API_URL here, or base_url of the instance")?;
    let at = Setup {
        http: &plan.there.http,
        base,
        key: &key,
        instance: &instance,
        version: plan.instance.api_version,
    };
    let proven_by = match (plan.instance.api_version, plan.command.jwt) {
        (1, _) => ProvenBy::Url,
        (_, true) => ProvenBy::Token,
        (_, false) => ProvenBy::Header,
    };
    let wanted = Wanted {
        url: &plan.webhook.url,
        secret: &secret,
        proven_by,
        base64: plan.command.base64,
    };
    let name = &plan.instance.id;
    if !plan.command.check {
        at.set_webhook(&wanted)
            .await
            .with_context(|| format!("Evolution did not take the webhook of {name}"))?;
        println!("{name}: webhook set at Evolution");
    }
    let found = at
        .find_webhook()
        .await
        .context("Evolution did not say how the webhook is set")?;
    let found = found.context("Evolution knows no webhook of this instance")?;
    let wrong = found.differs(&wanted);
    if !wrong.is_empty() {
        bail!("the webhook is not as it should be: {}", wrong.join("; "));
    }
    println!("{name}: read back as it should be ({})", found.events.join(", "));
    ping(&plan.there.http, &wanted, instance.as_str()).await?;
    println!("{name}: a webhook with this proof is taken");
    Ok(())
}

fn secret(plan: &Plan<'_>) -> Result<Secret> {
    let secret = plan.webhook.secret.as_deref().and_then(Secret::new);
    secret.context("the installation has no webhook secret: set RECADO_WEBHOOK_SECRET there")
}

/// Posts an event that means nothing, as Evolution would, to where Evolution would.
pub(crate) async fn ping(http: &Client, wanted: &Wanted<'_>, instance: &str) -> Result<()> {
    let body = json!({"event": "recado.ping", "instance": instance, "data": {}});
    let request = http.post(wanted.url).json(&body).timeout(TIMEOUT);
    let request = match wanted.proven_by {
        ProvenBy::Url => request,
        ProvenBy::Header | ProvenBy::Token => request.header("apikey", wanted.secret.expose()),
    };
    let answer = request.send().await;
    let answer = answer
        .map_err(reqwest::Error::without_url)
        .context("the webhook's URL cannot be reached from here")?;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or_default();
    match status {
        StatusCode::OK if body["ignored"] == 1 => Ok(()),
        StatusCode::OK => bail!("something else than Recado answers at the webhook's URL"),
        StatusCode::UNAUTHORIZED => {
            bail!("a webhook with this secret is refused: is that URL this installation's?")
        }
        status => bail!(
            "a webhook is answered {status}: {}",
            body["detail"].as_str().unwrap_or("-")
        ),
    }
}
