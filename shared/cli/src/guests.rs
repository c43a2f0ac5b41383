//! `recado guests`: lists, adds and shows the guests of occasions of a running installation.

use crate::command_environment::CommandEnvironment;
use crate::dlq::tables::{collect_rows, format_fields, format_table};
use crate::installation::{InstallationArguments, InstallationClient};
use crate::json_fields::list_items;
use crate::tenant::name_tenant;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Guests of occasions of a running installation, here or on AWS: list them, add them from a file, show one.
#[derive(Debug, Args)]
pub struct GuestArguments {
    #[command(subcommand)]
    command: GuestCommand,
    /// The tenant, if there are several.
    #[arg(long, global = true)]
    tenant: Option<String>,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum GuestCommand {
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

/// Runs the subcommand and prints its result.
pub(crate) async fn run_guest_command(
    arguments: GuestArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let tenant = arguments.tenant.as_deref();
    let (answer, told) = match &arguments.command {
        GuestCommand::List { event } => {
            let guests = list_all_guests(&there, tenant, event).await?;
            let told = format_guests(&guests);
            (guests, told)
        }
        GuestCommand::Import { event, file } => {
            let answer = import_guests(&there, tenant, event, file).await?;
            let told = format_import(&answer);
            (answer, told)
        }
        GuestCommand::Show { event, guest } => {
            let path = ["v1", "occasions", event, "guests", guest];
            let request = there.build_request(Method::GET, &path)?;
            let answer = there.request_json(request.query(&name_tenant(tenant))).await?;
            let told = format_guest(answer.clone());
            (answer, told)
        }
    };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{told}");
    }
    let refused = answer.get("refused").and_then(Value::as_array);
    if refused.is_some_and(|refused| !refused.is_empty()) {
        bail!("some rows were refused: mend them, and import the file again");
    }
    Ok(())
}

/// Requests all guests, page by page.
async fn list_all_guests(there: &InstallationClient, tenant: Option<&str>, event: &str) -> Result<Value> {
    let path = ["v1", "occasions", event, "guests"];
    let guests = there.list_all_items(&path, &name_tenant(tenant)).await?;
    if list_items(&guests, "items").is_empty() {
        // It is an error if there is no such occasion.
        let request = there.build_request(Method::GET, &["v1", "occasions", event])?;
        there.request_json(request.query(&name_tenant(tenant))).await?;
    }
    Ok(guests)
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

fn format_guests(guests: &Value) -> String {
    let rows = collect_rows(guests, &["id", "name", "phone", "status"]);
    if rows.is_empty() {
        return "No guests.\n".to_owned();
    }
    format_table(&["id", "name", "phone", "status"], rows)
}

fn format_import(answer: &Value) -> String {
    let count = |name: &str| answer.get(name).and_then(Value::as_u64).unwrap_or_default();
    let counts = format!(
        "{} added, {} changed, {} unchanged\n",
        count("added"),
        count("changed"),
        count("unchanged")
    );
    let refused = answer.get("refused").and_then(Value::as_array);
    let refused = refused.into_iter().flatten().map(|row| {
        let line = row.get("line").and_then(Value::as_u64).unwrap_or_default();
        let why = row.get("why").and_then(Value::as_str).unwrap_or("-");
        format!("line {line} refused: {why}\n")
    });
    let lines: Vec<String> = std::iter::once(counts).chain(refused).collect();
    lines.concat()
}

fn format_guest(mut guest: Value) -> String {
    if let Some(fields) = guest.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        if let Some(Value::Object(reply)) = fields.remove("confirmation_payload") {
            fields.extend(
                reply
                    .into_iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(name, value)| match name.as_str() {
                        "at" => ("answered_at".to_owned(), value),
                        _ => (name, value),
                    }),
            );
        }
    }
    format_fields(&guest)
}
