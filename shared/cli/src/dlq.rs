//! `recado dlq`: lists, shows, redrives and deletes dead letters of a running installation, here or on AWS.

mod client;
mod filters;
pub mod tables;

use crate::api_command::{ApiCommand, CommandGroup};
use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::installation::InstallationClient;
use crate::json_fields::list_items;
use anyhow::Result;
use clap::Subcommand;
use client::{list_dead_letters, name_contacts, preview_purge, purge_dead_letters, redrive_dead_letters};
use filters::DeadLetterFilterArguments;
use jiff::Timestamp;
use recado_machine::output::print_answer;
use serde_json::Value;
use tables::{format_dead_letters, format_fields, format_purge_preview};

/// The subcommands about dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadLetterCommand {
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
    group: CommandGroup<DeadLetterCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = group.asked.there.build_client(environment)?;
    let as_json = group.asked.json;
    match group.command {
        DeadLetterCommand::List { which, limit, cursor } => {
            let mut page = list_dead_letters(&there, &which, limit, cursor).await?;
            if !as_json {
                name_contacts(&there, &mut page).await;
            }
            print_answer(&page, as_json, format_dead_letters)
        }
        DeadLetterCommand::Show { id } => {
            let show = ApiCommand::get(&["v1", "dead-letters", &id]);
            show.run(&there, as_json).await
        }
        DeadLetterCommand::Redrive {
            ids,
            all,
            which,
            dry_run,
        } => {
            check_selection(&there, &ids, all, &which).await?;
            let counts = redrive_dead_letters(&there, &ids, &which, dry_run).await?;
            print_answer(&counts, as_json, format_fields)
        }
        DeadLetterCommand::Purge {
            ids,
            all,
            mut which,
            dry_run,
            yes,
        } => {
            check_selection(&there, &ids, all, &which).await?;
            // What is given up while a person reads the preview is not deleted.
            which.end_by(Timestamp::now());
            if dry_run || !yes {
                let found = preview_purge(&there, &ids, &which).await?;
                if dry_run {
                    return print_answer(&found, as_json, format_purge_preview);
                }
                eprint!("{}", format_purge_preview(&found));
                if !list_items(&found, "items").is_empty() {
                    confirm_action("Delete these dead letters for good?", yes)?;
                }
            }
            let counts = purge_dead_letters(&there, &ids, all, &which).await?;
            print_answer(&counts, as_json, format_fields)
        }
    }
}

/// Fails unless dead letters were selected, or if the filter names an instance that is not there.
async fn check_selection(
    there: &InstallationClient,
    ids: &[String],
    all: bool,
    which: &DeadLetterFilterArguments,
) -> Result<()> {
    which.require_selection(ids, all)?;
    there.check_filters(&Value::Null, &which.named_entries()).await
}
