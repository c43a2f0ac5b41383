//! Applies a configuration file to a running installation, or writes back what is stored there.

mod pull;
mod toml_text;

use crate::command_environment::CommandEnvironment;
use crate::confirm::confirm_action;
use crate::installation::InstallationArguments;
use crate::json_fields::{find_text, join_texts, list_items, text_or_dash};
use anyhow::{Result, bail};
use clap::Args;
use recado_domain::config::ConfigDocument;
use recado_machine::configuration_file::read_configuration;
use recado_machine::output::print_answer;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Applies a configuration file to a running installation, here or on AWS, and shows what that changes.
#[derive(Debug, Args)]
pub struct ApplyArguments {
    /// The configuration file.
    #[arg(default_value = "recado.toml")]
    file: PathBuf,
    /// Removes what the file does not name, after showing it and asking. An instance with conversations or dead letters is
    /// disabled instead: what it has stays readable.
    #[arg(long)]
    prune: bool,
    /// Only shows what would change.
    #[arg(long)]
    dry_run: bool,
    /// Writes what was changed otherwise (in the console, by the API) back into the file instead, entry by entry. The file as it was is
    /// kept as `FILE.old`.
    #[arg(long, conflicts_with_all = ["prune", "force", "json"])]
    pull: bool,
    /// Removes or disables an instance also if it still owes a reply, which then waits.
    #[arg(long, requires = "prune")]
    force: bool,
    /// Removes without asking.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON: the changes, the warnings, and the webhook settings with their secrets.
    #[arg(long)]
    json: bool,
}

/// `recado apply`: sends a configuration file to a running installation and prints what that changes.
pub(crate) async fn apply_configuration(
    command: ApplyArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    require_file(&command.file)?;
    if command.pull {
        let there = command.there.build_client(environment)?;
        return pull::pull_entries(&command.file, &there, command.dry_run).await;
    }
    let document = read_configuration(&command.file)?;
    if document == ConfigDocument::default() {
        bail!("{} names no tenant, agent or instance", command.file.display());
    }
    let there = command.there.build_client(environment)?;
    let options = |dry_run| {
        let given = [
            ("prune", command.prune),
            ("dry_run", dry_run),
            ("force", command.force),
            ("file", true),
        ];
        given.map(|(name, value)| (name, value.to_string()))
    };
    if command.dry_run || command.prune {
        let preview = there.apply_with_options(&document, &options(true)).await?;
        if command.dry_run {
            return command.print_answer(&preview);
        }
        confirm_removal(&preview, command.yes)?;
    }
    let applied = there.apply_with_options(&document, &options(false)).await?;
    command.print_answer(&applied)?;
    if !command.json {
        print_webhooks(&applied);
    }
    Ok(())
}

/// Fails with what to do if the file is not there.
fn require_file(file: &Path) -> Result<()> {
    if !file.exists() {
        let file = file.display();
        bail!("there is no {file} here: name the file (recado apply FILE), or make one (recado init)");
    }
    Ok(())
}

impl ApplyArguments {
    fn print_answer(&self, answer: &Value) -> Result<()> {
        // The problems of the document that did not keep it from being applied.
        for warning in list_items(answer, "warnings").iter().filter_map(Value::as_str) {
            eprintln!("Warning: {warning}");
        }
        print_answer(answer, self.json, |answer| {
            let changes = list_items(answer, "changes").iter();
            changes.map(|change| describe_change(change) + "\n").collect()
        })
    }
}

/// Shows what would be removed or disabled, and asks. Succeeds at once if there is nothing.
fn confirm_removal(preview: &Value, yes: bool) -> Result<()> {
    let is_removal = |change: &&Value| matches!(find_text(change, "what"), Some("removed" | "disabled"));
    let changes = list_items(preview, "changes").iter();
    let removals: Vec<&Value> = changes.filter(is_removal).collect();
    if removals.is_empty() {
        return Ok(());
    }
    if !yes {
        eprintln!("The file does not name:");
        for removal in &removals {
            eprintln!("  {}", describe_change(removal));
        }
    }
    let question = match removals.len() {
        1 => "Remove or disable it?".to_owned(),
        number => format!("Remove or disable these {number}?"),
    };
    confirm_action(&question, yes)
}

/// Describes a change in a line: its kind, the entry, and the fields or conversations that it concerns.
fn describe_change(change: &Value) -> String {
    let fields = join_texts(change, "fields");
    let part = |name| find_text(change, name).unwrap_or_default();
    let more = match change.get("conversations").and_then(Value::as_u64) {
        Some(count) if part("what") == "disabled" => {
            format!(" ({}, readable as before)", describe_conversations(count))
        }
        Some(count) => format!(" ({})", describe_conversations(count)),
        None if fields.is_empty() => String::new(),
        None => format!(" ({fields})"),
    };
    format!("{:<9} {} {}{more}", part("what"), part("kind"), part("id"))
}

/// Formats a number of conversations. The installation counts up to 200.
fn describe_conversations(count: u64) -> String {
    match count {
        1 => "1 conversation".to_owned(),
        200.. => "200 conversations or more".to_owned(),
        _ => format!("{count} conversations"),
    }
}

fn print_webhooks(body: &Value) {
    for instance in list_items(body, "instances") {
        let part = |name| text_or_dash(instance, name);
        println!("\n{} ({})", part("id"), part("provider"));
        println!("  webhook  {}", part("webhook_url"));
        if let Some(header) = find_text(instance, "secret_header") {
            println!("  header   {header} (or the secret as Basic password)");
        }
        if let Some(secret) = find_text(instance, "secret") {
            println!("  secret   {secret}");
        }
    }
}
