//! `recado secret`: gives an instance of a running installation a new webhook secret.

use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::dlq::tables::format_fields;
use crate::installation::InstallationArguments;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

/// The webhook secret of an instance: rotate.
#[derive(Debug, Args)]
pub struct SecretArguments {
    #[command(subcommand)]
    command: SecretCommand,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum SecretCommand {
    /// Gives one instance a new webhook secret, and prints it. Shows the overlap, and asks.
    Rotate {
        /// The instance's id.
        instance: String,
        /// The number of hours for which the earlier secret is accepted, too. 0, if it leaked: it is refused at once.
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=720))]
        overlap_hours: u32,
        /// Rotates without a question.
        #[arg(long)]
        yes: bool,
    },
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_secret_command(
    arguments: SecretArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let SecretCommand::Rotate {
        instance,
        overlap_hours,
        yes,
    } = arguments.command;
    let filters = [("instances", Some(instance.as_str()))];
    there.check_filters(&Value::Null, &filters).await?;
    let until = match overlap_hours {
        0 => "at once".to_owned(),
        hours => format!("in {hours} hours"),
    };
    let question =
        format!("Replace the webhook secret of {instance}? Its present secret is refused {until}.");
    confirm_action(&question, yes)?;
    let body = json!({"overlap_seconds": u64::from(overlap_hours) * 3_600});
    let path = ["v1", "instances", &instance, "secret", "rotate"];
    let request = there.build_request(Method::POST, &path)?.json(&body);
    let answer = there.request_json(request).await;
    let answer = answer.with_context(|| format!("the secret of {instance} was not rotated"))?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{}", format_fields(&answer));
        println!("Enter `secret` at the provider now: `recado connect {instance}` does it for Evolution.");
    }
    Ok(())
}
