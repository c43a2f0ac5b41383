//! `recado doctor`: looks an installation over, instance by instance, and says how to mend what is wrong.

mod here;
mod qr;

use crate::consent::Consent;
use crate::credential;
use crate::environment::Environment;
use crate::installation::{Configured, Installation, Where};
use anyhow::{Result, bail};
use clap::Args;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_whatsapp::setting_up::{self, Finding, Grade, Subject};
use serde_json::json;

/// Checks every instance of a running installation (credentials, connection, webhook, templates, clock, limits) and says
/// how to mend what is wrong. Exit status 1 if something is broken.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Only these instances.
    instances: Vec<String>,
    #[command(flatten)]
    there: Where,
    /// The providers' key or token, if not the ones that the instances name.
    #[arg(long, env = "RECADO_PROVIDER_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Sends keys to hosts that the installation names without asking.
    #[arg(long, short)]
    yes: bool,
    /// Prints the findings as JSON; no QR code then.
    #[arg(long)]
    json: bool,
}

/// Examines everything.
pub(crate) async fn run(command: Doctor, environment: &Environment) -> Result<()> {
    let there = command.there.reach(environment)?;
    let mut findings = here::installation(&there).await;
    let configured = match there.configured().await {
        Ok(configured) => Some(configured),
        Err(error) => {
            findings.push(
                Finding::broken("-", "token", format!("{error:#}"))
                    .mend("start Recado there, or give --url and --token as it has them"),
            );
            None
        }
    };
    if let Some(configured) = &configured {
        findings.extend(instances(&command, environment, &there, configured).await?);
    }
    let broken = findings
        .iter()
        .filter(|finding| finding.grade == Grade::Broken)
        .count();
    if command.json {
        let all = json!({ "broken": broken, "findings": findings });
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        for finding in &findings {
            show(finding);
        }
    }
    if broken > 0 {
        bail!("{broken} of {} findings must be mended", findings.len());
    }
    Ok(())
}

/// Prints a finding, and the QR code that it may come with.
fn show(finding: &Finding) {
    println!("{finding}");
    let name = &finding.instance;
    match finding.pairing.as_ref().map(|code| qr::drawn(code.expose())) {
        Some(Some(drawn)) => {
            println!("\n{name}: WhatsApp on the phone, Linked devices, Link a device:\n\n{drawn}");
        }
        Some(None) => println!("{name}: the QR code is too long to be shown"),
        None => {}
    }
}

async fn instances(
    command: &Doctor,
    environment: &Environment,
    there: &Installation,
    configured: &Configured,
) -> Result<Vec<Finding>> {
    let mut chosen: Vec<&Instance> = Vec::new();
    for name in &command.instances {
        chosen.push(configured.instance(name)?);
    }
    if chosen.is_empty() {
        chosen.extend(&configured.document.instances);
    }
    // With their secrets, to compare what is set at the provider. Whoever may not apply looks without.
    let secrets = there.webhooks(&chosen).await.unwrap_or_default();
    let consent = Consent::new(command.yes);
    let mut findings = Vec::new();
    for instance in chosen {
        let told = secrets.iter().find(|told| told.id == instance.id.as_str());
        let webhook = told.or_else(|| configured.webhook(instance));
        findings.extend(here::instance(there, instance, webhook).await);
        let subject = Subject {
            http: &there.http,
            config: &environment.providers,
            instance,
            named: credential::named,
            now: Timestamp::now,
        };
        match credential::of(instance, command.key.as_deref(), &environment.providers, &consent) {
            Ok(key) => findings.extend(setting_up::examine(&subject, webhook, &key).await),
            Err(error) => {
                let name = instance.id.as_str();
                findings.push(
                    Finding::note(name, "credential", format!("{error:#}"))
                        .mend("run this where the key is, to have the provider asked as well"),
                );
            }
        }
    }
    Ok(findings)
}
