//! `recado try`: a request to try an installation with.

use crate::credential;
use crate::demonstration;
use crate::environment::Environment;
use crate::installation::Where;
use anyhow::{Context, Result};
use clap::Args;
use recado_domain::config::Instance;
use recado_whatsapp::setting_up::Proofs;

/// Prints a `curl` line that posts a message as an instance's provider would. It holds the instance's webhook secret.
#[derive(Debug, Args)]
pub(crate) struct Try {
    /// The instance's id; the first that can be tried so if absent.
    instance: Option<String>,
    #[command(flatten)]
    there: Where,
}

/// Prints it.
pub(crate) async fn run(command: Try, environment: &Environment) -> Result<()> {
    let there = command.there.reach(environment)?;
    let configured = there.configured().await?;
    let instances: Vec<&Instance> = match &command.instance {
        Some(name) => vec![configured.instance(name)?],
        None => configured.document.instances.iter().collect(),
    };
    let mut proofs = Proofs::new(credential::named);
    for (instance, webhook) in instances.iter().zip(there.webhooks(&instances).await?) {
        if let Some(secret) = webhook.secret {
            proofs.learn(instance, secret);
        }
    }
    let line = demonstration::curl(&there.url, &proofs, instances.into_iter());
    println!(
        "{}",
        line.context("no instance can be tried so: its webhooks are proven by other secrets")?
    );
    Ok(())
}
