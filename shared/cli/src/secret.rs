//! `recado secret`: gives an instance of a running installation a new webhook secret.

use crate::api_command::{ApiCommand, CommandGroup};
use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::dlq::tables::format_fields;
use anyhow::Result;
use clap::Subcommand;
use serde_json::{Value, json};

/// The subcommands about webhook secrets.
#[derive(Debug, Subcommand)]
pub enum SecretCommand {
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

/// Replaces the secret, and prints the answer.
pub(crate) async fn run_secret_command(
    group: CommandGroup<SecretCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = group.asked.there.build_client(environment)?;
    let SecretCommand::Rotate {
        instance,
        overlap_hours,
        yes,
    } = group.command;
    let filters = [("instances", Some(instance.as_str()))];
    there.check_filters(&Value::Null, &filters).await?;
    let until = describe_end(overlap_hours);
    let question =
        format!("Replace the webhook secret of {instance}? Its present secret is refused {until}.");
    confirm_action(&question, yes)?;
    let path = ["v1", "instances", &instance, "secret", "rotate"];
    let enter =
        format!("Enter `secret` at the provider now: `recado connect {instance}` does it for Evolution.\n");
    ApiCommand::post(&path, write_overlap(overlap_hours))
        .or_fail(format!("the secret of {instance} was not rotated"))
        .show(move |answer| format_fields(answer) + &enter)
        .run(&there, group.asked.json)
        .await
}

/// Describes when a secret ends that is replaced now.
pub(crate) fn describe_end(overlap_hours: u32) -> String {
    match overlap_hours {
        0 => "at once".to_owned(),
        hours => format!("in {hours} hours"),
    }
}

/// Writes the body of a request that replaces a secret.
pub(crate) fn write_overlap(overlap_hours: u32) -> Value {
    json!({"overlap_seconds": u64::from(overlap_hours) * 3_600})
}
