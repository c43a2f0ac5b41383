//! 360dialog: the webhook is set by its API and read back, and our own end of it tried.

use super::Plan;
use anyhow::{Context, Result, bail};
use recado_whatsapp::ProviderConfig;
use recado_whatsapp::setup::{dialog360_webhook, set_dialog360_webhook};
use reqwest::StatusCode;
use serde_json::{Map, json};
use std::time::Duration;

/// How long our own webhook may take; 360dialog waits for 5 seconds.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn connect(plan: &Plan<'_>) -> Result<()> {
    let key = plan.key()?;
    let name = &plan.instance.id;
    let secret = plan.webhook.secret.as_ref();
    let secret = secret
        .context("the installation has no master secret: no webhook of 360dialog can be proven there")?;
    let header = plan.webhook.secret_header.as_deref();
    let header = header.context("the installation does not say which header carries the secret")?;
    let base = base(plan);
    if !plan.command.check {
        let headers = Map::from_iter([(header.to_owned(), json!(secret))]);
        set_dialog360_webhook(&plan.there.http, &base, &key, &plan.webhook.url, &headers)
            .await
            .with_context(|| format!("360dialog did not take the webhook of {name}"))?;
        println!("{name}: webhook set at 360dialog");
    }
    let said = dialog360_webhook(&plan.there.http, &base, &key)
        .await
        .context("360dialog did not say how the webhook is set")?;
    if said.body["url"] != json!(plan.webhook.url) {
        bail!("the webhook is not as it should be: it goes elsewhere");
    }
    println!("{name}: read back as it should be");
    ping(plan, header, secret).await?;
    println!("{name}: a webhook with this proof is taken");
    Ok(())
}

/// The instance's own base, the environment's, or 360dialog's.
fn base(plan: &Plan<'_>) -> String {
    let own = plan.instance.base_url.clone();
    own.or_else(|| plan.environment.dialog360_url.clone())
        .unwrap_or_else(|| ProviderConfig::default().dialog360_base_url)
}

/// Posts what says nothing, with the proof, to the URL that 360dialog was told.
async fn ping(plan: &Plan<'_>, header: &str, secret: &str) -> Result<()> {
    let nothing = json!({ "object": "whatsapp_business_account", "entry": [] });
    let request = plan.there.http.post(&plan.webhook.url).header(header, secret);
    let answer = request
        .json(&nothing)
        .timeout(TIMEOUT)
        .send()
        .await
        .context("the webhook's URL cannot be reached from here")?;
    match answer.status() {
        StatusCode::OK => Ok(()),
        status => bail!("a webhook with this proof is answered {status}"),
    }
}
