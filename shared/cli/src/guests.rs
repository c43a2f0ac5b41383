//! `recado guests`: lists, adds and shows the guests of occasions of a running installation.

use crate::api_command::{ApiCommand, TenantGroup};
use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::{AnswerTable, format_fields};
use crate::installation::InstallationClient;
use crate::json_fields::{list_items, number_or_zero, text_or_dash};
use crate::tenant::name_tenant;
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use recado_machine::output::print_answer;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The subcommands about guests.
#[derive(Debug, Subcommand)]
pub enum GuestCommand {
    /// Lists the guests of an occasion, with what they answered.
    List {
        /// The occasion.
        event: String,
    },
    /// Adds guests from a file of comma-separated values. Its first row names the columns `id`, `name`, `phone`, `email`,
    /// `language`, `time_zone`, `status`. The same file again changes nothing. Ends with an error if rows were refused.
    Import {
        /// The occasion.
        event: String,
        /// The file.
        file: PathBuf,
    },
    /// Shows a guest.
    Show {
        /// The occasion.
        event: String,
        /// The guest's id.
        guest: String,
    },
}

/// The list of guests.
const GUESTS: AnswerTable = AnswerTable {
    nothing: "No guests.",
    fields: &["id", "name", "phone", "status"],
    ..AnswerTable::EMPTY
};

/// Runs the subcommand and prints its result.
pub(crate) async fn run_guest_command(
    group: TenantGroup<GuestCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = group.asked.there.build_client(environment)?;
    let (tenant, as_json) = (group.tenant.as_deref(), group.asked.json);
    match &group.command {
        GuestCommand::List { event } => {
            let path = ["v1", "occasions", event, "guests"];
            let guests = there.list_all_items(&path, &name_tenant(tenant)).await?;
            if list_items(&guests, "items").is_empty() {
                // It is an error if there is no such occasion.
                there.get_json(&path[..3], &name_tenant(tenant)).await?;
            }
            print_answer(&guests, as_json, |guests| GUESTS.format(guests))
        }
        GuestCommand::Import { event, file } => {
            let answer = import_guests(&there, tenant, event, file).await?;
            print_answer(&answer, as_json, format_import)?;
            if !list_items(&answer, "refused").is_empty() {
                bail!("some rows were refused: mend them, and import the file again");
            }
            Ok(())
        }
        GuestCommand::Show { event, guest } => {
            let command = ApiCommand::get(&["v1", "occasions", event, "guests", guest]);
            let command = command.query("tenant", tenant).show(format_guest);
            command.run(&there, as_json).await
        }
    }
}

async fn import_guests(
    there: &InstallationClient,
    tenant: Option<&str>,
    event: &str,
    file: &Path,
) -> Result<Value> {
    let list = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let request = there.build_request(Method::POST, &["v1", "occasions", event, "guests"])?;
    let request = request
        .query(&name_tenant(tenant))
        .header(CONTENT_TYPE, "text/csv")
        .body(list);
    there.request_json(request).await
}

fn format_import(answer: &Value) -> String {
    let count = |name: &str| number_or_zero(answer, name);
    let (added, changed, unchanged) = (count("added"), count("changed"), count("unchanged"));
    let refused = list_items(answer, "refused").iter().map(|row| {
        let (line, why) = (number_or_zero(row, "line"), text_or_dash(row, "why"));
        format!("line {line} refused: {why}\n")
    });
    format!("{added} added, {changed} changed, {unchanged} unchanged\n") + &refused.collect::<String>()
}

fn format_guest(guest: &Value) -> String {
    let mut guest = guest.clone();
    if let Some(fields) = guest.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        let reply = fields.remove("confirmation_payload");
        let reply = reply.iter().filter_map(Value::as_object).flatten();
        for (name, value) in reply.filter(|(_, value)| !value.is_null()) {
            let name = if name == "at" {
                "answered_at"
            } else {
                name.as_str()
            };
            fields.insert(name.to_owned(), value.clone());
        }
    }
    format_fields(&guest)
}
