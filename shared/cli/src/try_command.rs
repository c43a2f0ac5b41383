//! `recado try`: prints a request to try an installation with.

use crate::command_environment::CommandEnvironment;
use crate::demonstration;
use crate::installation::InstallationArguments;
use anyhow::{Context, Result};
use clap::Args;
use recado_domain::config::Instance;
use recado_machine::secret_variable::read_secret_variable;
use recado_onboarding::WebhookCredentials;
use serde_json::json;

/// Prints a `curl` line that posts a message as an instance's provider would. It holds the instance's webhook secret.
#[derive(Debug, Args)]
pub struct TryArguments {
    /// The instance's id. Absent: the first instance that can be tried like this.
    instance: Option<String>,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the command line as JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the command line.
pub(crate) async fn print_try_request(command: TryArguments, environment: &CommandEnvironment) -> Result<()> {
    let there = command.there.build_client(environment)?;
    let configured = there.get_configuration().await?;
    let instances: Vec<&Instance> = match &command.instance {
        Some(name) => vec![configured.find_instance(name)?],
        None => configured.document.instances.iter().collect(),
    };
    let mut proofs = WebhookCredentials::new(read_secret_variable);
    there.add_webhook_secrets(&instances, &mut proofs).await?;
    let line = demonstration::format_curl_line(&there.url, &proofs, instances.into_iter());
    let line = line
        .context("no webhook can be signed here: the provider's own secret proves those of this instance")?;
    if command.json {
        println!("{:#}", json!({ "command": line }));
    } else {
        println!("{line}");
    }
    Ok(())
}
