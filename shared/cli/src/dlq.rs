//! `recado dlq`: lists, shows, redrives and deletes dead letters of a running installation, here or on AWS.

mod client;
mod filters;
pub mod tables;

use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::installation::InstallationArguments;
use anyhow::Result;
use clap::{Args, Subcommand};
use client::DeadLetterClient;
use filters::DeadLetterFilterArguments;
use jiff::Timestamp;
use recado_machine::output::print_answer;
use serde_json::Value;
use tables::{format_dead_letters, format_fields, format_purge_preview};

/// Dead letters of a running installation, here or on AWS: list, show, redrive, purge.
#[derive(Debug, Args)]
pub struct DeadLetterArguments {
    #[command(subcommand)]
    command: DeadLetterCommand,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum DeadLetterCommand {
    /// Lists dead letters, the newest first.
    List {
        #[command(flatten)]
        which: DeadLetterFilterArguments,
        /// Lists at most so many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// The cursor that the page before gave.
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Shows one dead letter, with the payload that a redrive would process again.
    Show {
        /// The dead letter's id.
        id: String,
    },
    /// Processes, answers or sends again what dead letters name, in order within each conversation.
    Redrive {
        /// The ids of the dead letters.
        #[arg(conflicts_with_all = ["all", "queue", "reason", "instance", "since", "until"])]
        ids: Vec<String>,
        /// Redrives all dead letters.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        which: DeadLetterFilterArguments,
        /// Only shows how many there are, and what a redrive would find.
        #[arg(long)]
        dry_run: bool,
    },
    /// Deletes dead letters for good, after showing them and asking. The audit keeps the name of the token: `recado audit
    /// --action dead_letter_deleted`.
    Purge {
        /// The ids of the dead letters.
        #[arg(conflicts_with_all = ["all", "queue", "reason", "instance", "since", "until"])]
        ids: Vec<String>,
        /// Deletes all dead letters.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        which: DeadLetterFilterArguments,
        /// Only shows what would be deleted.
        #[arg(long)]
        dry_run: bool,
        /// Deletes without asking.
        #[arg(long, short)]
        yes: bool,
    },
}

/// Runs the subcommand and prints its result, as a table or as JSON.
pub(crate) async fn run_dead_letter_command(
    arguments: DeadLetterArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = DeadLetterClient {
        there: arguments.there.build_client(environment)?,
    };
    let (answer, table): (Value, fn(&Value) -> String) = match arguments.command {
        DeadLetterCommand::List { which, limit, cursor } => {
            let mut page = there.list_dead_letters(&which, limit, cursor).await?;
            if !arguments.json {
                there.name_contacts(&mut page).await;
            }
            (page, format_dead_letters)
        }
        DeadLetterCommand::Show { id } => (there.get_dead_letter(&id).await?, format_fields),
        DeadLetterCommand::Redrive {
            ids,
            all,
            which,
            dry_run,
        } => {
            which.require_selection(&ids, all)?;
            there.check_filter(&which).await?;
            (
                there.redrive_dead_letters(&ids, &which, dry_run).await?,
                format_fields,
            )
        }
        DeadLetterCommand::Purge {
            ids,
            all,
            mut which,
            dry_run,
            yes,
        } => {
            which.require_selection(&ids, all)?;
            there.check_filter(&which).await?;
            // What is given up while a person reads the preview is not deleted.
            which.end_by(Timestamp::now());
            if dry_run {
                (there.preview_purge(&ids, &which).await?, format_purge_preview)
            } else {
                if !yes {
                    let found = there.preview_purge(&ids, &which).await?;
                    eprint!("{}", format_purge_preview(&found));
                    if has_items(&found) {
                        confirm_action("Delete these dead letters for good?", yes)?;
                    }
                }
                (there.purge_dead_letters(&ids, all, &which).await?, format_fields)
            }
        }
    };
    print_answer(&answer, arguments.json, table)
}

fn has_items(answer: &Value) -> bool {
    let items = answer.get("items").and_then(Value::as_array);
    items.is_some_and(|items| !items.is_empty())
}
