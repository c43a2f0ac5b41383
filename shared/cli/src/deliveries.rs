//! `recado deliver`: sends invitations of a running installation, shows what became of them and of batches, and exports the log of
//! deliveries.

use crate::api_command::{ApiCommand, TenantGroup};
use crate::command_environment::CommandEnvironment;
use crate::delivery_batches::{BatchArguments, run_batch_command};
use crate::dlq::tables::{collect_rows, format_fields, format_table};
use crate::installation::InstallationClient;
use crate::json_fields::list_items;
use crate::tenant::name_tenant;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

/// The subcommands about invitations.
#[derive(Debug, Subcommand)]
pub enum DeliveryCommand {
    /// Sends an invitation to a guest. An unknown phone number makes a pending guest.
    Send(SendArguments),
    /// Shows what became of an invitation.
    Status {
        /// The id of the invitation or of its message, or the provider's.
        id: String,
    },
    /// Lists batches, shows how far they are, and pauses, resumes and cancels them.
    Batches(BatchArguments),
    /// Exports the log of deliveries of a month, in UTC.
    Export(ExportArguments),
}

/// The invitation that is sent.
#[derive(Debug, Args)]
pub struct SendArguments {
    /// The occasion.
    #[arg(long)]
    event: String,
    /// The guest's id.
    #[arg(long, required_unless_present = "phone", conflicts_with = "phone")]
    guest: Option<String>,
    /// The guest's phone number.
    #[arg(long)]
    phone: Option<String>,
    /// The template.
    #[arg(long)]
    template: String,
    /// `whatsapp` or `email`.
    #[arg(long, default_value = "whatsapp")]
    channel: String,
    /// A variable of the template, such as `--value table=4`. It may be given several times.
    #[arg(long = "value", value_name = "NAME=VALUE")]
    values: Vec<String>,
    /// The time at which it leaves, such as 2027-03-01T09:00:00-03:00, or without the offset for the guest's own clock.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// The idempotency key: the same command with the same key sends once.
    #[arg(long)]
    key: Option<String>,
}

/// The part of the log that is exported.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The month, such as 2026-11: the present one if absent.
    #[arg(long)]
    month: Option<String>,
    /// Only of this occasion.
    #[arg(long)]
    event: Option<String>,
    /// Only by this template.
    #[arg(long)]
    template: Option<String>,
    /// Only with this status, such as `failed`.
    #[arg(long)]
    status: Option<String>,
    /// The form.
    #[arg(long, value_enum, default_value = "csv")]
    format: ExportForm,
    /// The file to write. Without it the log is printed.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportForm {
    /// Comma-separated values.
    Csv,
    /// A JSON object on each line.
    Json,
    /// No form of an export: whoever asks for it is told what makes it.
    #[value(hide = true)]
    Parquet,
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_delivery_command(
    group: TenantGroup<DeliveryCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = group.asked.there.build_client(environment)?;
    let (tenant, as_json) = (group.tenant.as_deref(), group.asked.json);
    match &group.command {
        DeliveryCommand::Send(send) => {
            let answer = send_invitation(&there, tenant, send).await?;
            print_answer(&answer, as_json, format_delivery)
        }
        DeliveryCommand::Status { id } => {
            let command = ApiCommand::get(&["deliver", id, "status"]).query("tenant", tenant);
            command.show(format_delivery).run(&there, as_json).await
        }
        DeliveryCommand::Batches(batches) => run_batch_command(&there, tenant, batches, as_json).await,
        DeliveryCommand::Export(export) => export_log(&there, tenant, export).await,
    }
}

async fn send_invitation(
    there: &InstallationClient,
    tenant: Option<&str>,
    send: &SendArguments,
) -> Result<Value> {
    let mut values = Map::new();
    for given in &send.values {
        let (name, value) = given
            .split_once('=')
            .with_context(|| format!("--value {given}: write NAME=VALUE"))?;
        values.insert(name.trim().to_owned(), json!(value));
    }
    let mut body = Map::new();
    for (name, value) in [
        ("eventId", Some(&send.event)),
        ("guestId", send.guest.as_ref()),
        ("phone", send.phone.as_ref()),
        ("template", Some(&send.template)),
        ("channel", Some(&send.channel)),
        ("send_at", send.at.as_ref()),
    ] {
        body.extend(value.map(|value| (name.to_owned(), json!(value))));
    }
    body.extend(tenant.map(|tenant| ("tenant".to_owned(), json!(tenant))));
    body.insert("variables".to_owned(), Value::Object(values));
    let mut request = there
        .build_request(Method::POST, &["deliver", "send"])?
        .json(&body);
    if let Some(key) = &send.key {
        request = request.header("idempotency-key", key);
    }
    there.request_json(request).await
}

/// Formats an invitation: its fields, then when it reached each status.
fn format_delivery(answer: &Value) -> String {
    let mut shown = answer.clone();
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("transitions");
        fields.retain(|_, value| !value.is_null());
    }
    let told = format_fields(&shown);
    let columns = ["status", "at"];
    let transitions = json!({"items": list_items(answer, "transitions")});
    let rows = collect_rows(&transitions, &columns);
    if rows.is_empty() {
        return told;
    }
    format!("{told}\n{}", format_table(&columns, rows))
}

/// Requests the log page by page and writes it.
async fn export_log(
    there: &InstallationClient,
    tenant: Option<&str>,
    export: &ExportArguments,
) -> Result<()> {
    let mut query = name_tenant(tenant);
    query.extend([
        ("format", name_form(export)?.to_owned()),
        ("limit", "200".to_owned()),
    ]);
    for (name, value) in [
        ("month", &export.month),
        ("event", &export.event),
        ("template", &export.template),
        ("status", &export.status),
    ] {
        query.extend(value.clone().map(|value| (name, value)));
    }
    let mut out: Box<dyn Write> = match &export.output {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Box::new(file)
        }
        None => Box::new(stdout()),
    };
    let mut cursor: Option<String> = None;
    loop {
        let mut asked = query.clone();
        asked.extend(cursor.map(|cursor| ("cursor", cursor)));
        let request = there.build_request(Method::GET, &["deliver", "export"])?;
        let page = there.request_text(request.query(&asked)).await?;
        let written = out.write_all(page.text.as_bytes()).and_then(|()| out.flush());
        match written {
            Ok(()) => cursor = page.next_cursor,
            // Nobody reads any more: `recado deliver export | head` ends here.
            Err(_) if export.output.is_none() => return Ok(()),
            Err(error) => bail!("the log cannot be written: {error}"),
        }
        if cursor.is_none() {
            return Ok(());
        }
    }
}

/// Returns the API's name of the form of an export. Parquet is refused, also if only the file is named so.
fn name_form(export: &ExportArguments) -> Result<&'static str> {
    let extension = export.output.as_deref().and_then(Path::extension);
    let is_parquet = extension.is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
    let form = match export.format {
        ExportForm::Csv => Some("csv"),
        ExportForm::Json => Some("json"),
        ExportForm::Parquet => None,
    };
    form.filter(|_| !is_parquet).context(
        "the log is exported as CSV (--format csv) or JSON lines (--format json), not as Parquet: \
         for example duckdb makes that of either",
    )
}
