//! `recado doctor`: looks an installation over, instance by instance, and says how to mend what is wrong.

mod dialog360;
mod evolution;
mod finding;
mod here;
mod meta;
mod qr;

use crate::credential;
use crate::environment::Environment;
use crate::installation::{Configured, Installation, Webhook, Where};
use anyhow::{Result, bail};
use clap::Args;
use finding::{Finding, Grade};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::secret::Secret;
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
    /// Prints the findings as JSON; no QR code then.
    #[arg(long)]
    json: bool,
}

/// What is examined.
struct Patient<'a> {
    there: &'a Installation,
    environment: &'a Environment,
    instance: &'a Instance,
    webhook: Option<&'a Webhook>,
    key: Option<Secret>,
    /// Whether a QR code may be shown.
    shows: bool,
}

/// How far a provider's clock may be from ours, in seconds: Evolution's tokens live for 10 minutes, and what is older
/// than an hour is not answered.
const CLOCK_SECONDS: i64 = 60;

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
            println!("{finding}");
        }
    }
    if broken > 0 {
        bail!("{broken} of {} findings must be mended", findings.len());
    }
    Ok(())
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
    let mut findings = Vec::new();
    for instance in chosen {
        let told = secrets.iter().find(|told| told.id == instance.id.as_str());
        let mut patient = Patient {
            there,
            environment,
            instance,
            webhook: told.or_else(|| configured.webhook(instance)),
            key: None,
            shows: !command.json,
        };
        findings.extend(here::instance(&patient).await);
        match credential::of(instance, command.key.as_deref()) {
            Ok(key) => patient.key = Some(key),
            Err(error) => {
                let name = instance.id.as_str();
                findings.push(
                    Finding::note(name, "credential", format!("{error:#}"))
                        .mend("run this where the key is, to have the provider asked as well"),
                );
                continue;
            }
        }
        findings.extend(match instance.provider {
            recado_whatsapp::evolution::NAME => evolution::examine(&patient).await,
            recado_whatsapp::meta::NAME => meta::examine(&patient).await,
            recado_whatsapp::dialog360::NAME => dialog360::examine(&patient).await,
            // AWS is asked with AWS's own tools.
            _ => Vec::new(),
        });
    }
    Ok(findings)
}

/// What the provider's clock says of ours.
fn clock(name: &str, date: Option<Timestamp>) -> Finding {
    let Some(date) = date else {
        return Finding::note(name, "clock", "the provider does not tell its time");
    };
    let ahead = Timestamp::now().as_second() - date.as_second();
    match ahead.abs() {
        0..=CLOCK_SECONDS => Finding::good(name, "clock", format!("within {} s", ahead.abs())),
        apart => {
            let which = if ahead > 0 { "ahead of" } else { "behind" };
            Finding::broken(
                name,
                "clock",
                format!("this machine is {apart} s {which} the provider"),
            )
            .mend("set the clock of whichever is wrong (NTP)")
        }
    }
}
