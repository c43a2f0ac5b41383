//! `recado deliver batches`: lists batches of invitations of a running installation, shows how far they are, and pauses, resumes and cancels
//! them.

use crate::dlq::tables::{collect_rows, format_fields, format_table};
use crate::installation::InstallationClient;
use crate::tenant::name_tenant;
use anyhow::Result;
use clap::{Args, Subcommand};
use recado_machine::output::{is_terminal_output, print_answer};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// Number of characters of a bar.
const BAR_WIDTH: u64 = 30;

/// Time from one look at a batch that is watched to the next.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

/// The statuses of recipients, as an answer counts them.
const COUNTED: [&str; 8] = [
    "queued",
    "sent",
    "delivered",
    "read",
    "failed",
    "duplicate",
    "refused",
    "cancelled",
];

/// Batches of invitations: list them, show how far one is, pause, resume or cancel it.
#[derive(Debug, Args)]
pub(crate) struct BatchArguments {
    #[command(subcommand)]
    command: BatchCommand,
}

#[derive(Debug, Subcommand)]
enum BatchCommand {
    /// Lists the batches, the newest first.
    List {
        /// Number of batches, 1 to 200.
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Shows a batch and how far it is.
    Show {
        /// The id of the batch.
        id: String,
        /// Shows its progress again and again, until it ends.
        #[arg(long, short)]
        watch: bool,
    },
    /// Lists the recipients of a batch, with what became of each.
    Recipients {
        /// The id of the batch.
        id: String,
        /// Only those with one of these statuses, such as `failed,refused`.
        #[arg(long)]
        status: Option<String>,
    },
    /// Pauses a batch: once this answers, nothing of it begins to leave.
    Pause {
        /// The id of the batch.
        id: String,
    },
    /// Lets a paused batch go on.
    Resume {
        /// The id of the batch.
        id: String,
    },
    /// Cancels a batch for good: once this answers, nothing of it begins to leave.
    Cancel {
        /// The id of the batch.
        id: String,
    },
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_batch_command(
    there: &InstallationClient,
    tenant: Option<&str>,
    arguments: &BatchArguments,
    as_json: bool,
) -> Result<()> {
    let (answer, told) = match &arguments.command {
        BatchCommand::List { limit } => {
            let request = there.build_request(Method::GET, &["deliver", "batches"])?;
            let mut query = name_tenant(tenant);
            let limit = limit.to_string();
            query.push(("limit", limit.as_str()));
            let answer = there.request_json(request.query(&query)).await?;
            there.check_filters(&answer, &[("tenants", tenant)]).await?;
            let told = format_batches(&answer);
            (answer, told)
        }
        BatchCommand::Show { id, watch: true } => return watch_batch(there, tenant, id, as_json).await,
        BatchCommand::Show { id, watch: false } => {
            let answer = request_batch(there, tenant, id).await?;
            let told = format_batch(&answer);
            (answer, told)
        }
        BatchCommand::Recipients { id, status } => {
            let answer = list_recipients(there, tenant, id, status.as_deref()).await?;
            let told = format_recipients(&answer);
            (answer, told)
        }
        BatchCommand::Pause { id } => order_batch(there, tenant, id, "pause").await?,
        BatchCommand::Resume { id } => order_batch(there, tenant, id, "resume").await?,
        BatchCommand::Cancel { id } => order_batch(there, tenant, id, "cancel").await?,
    };
    print_answer(&answer, as_json, |_| told)
}

async fn request_batch(there: &InstallationClient, tenant: Option<&str>, id: &str) -> Result<Value> {
    let request = there.build_request(Method::GET, &["deliver", "batches", id])?;
    there.request_json(request.query(&name_tenant(tenant))).await
}

/// Gives an order about a batch. Returns the answer, and how it is told.
async fn order_batch(
    there: &InstallationClient,
    tenant: Option<&str>,
    id: &str,
    order: &str,
) -> Result<(Value, String)> {
    let request = there.build_request(Method::POST, &["deliver", "batches", id, order])?;
    let answer = there.request_json(request.query(&name_tenant(tenant))).await?;
    let told = format!("{id} is {}\n", read_text(&answer, "status"));
    Ok((answer, told))
}

/// Requests all recipients, page by page.
async fn list_recipients(
    there: &InstallationClient,
    tenant: Option<&str>,
    id: &str,
    status: Option<&str>,
) -> Result<Value> {
    let mut query = name_tenant(tenant);
    query.extend(status.map(|status| ("status", status)));
    let path = ["deliver", "batches", id, "recipients"];
    there.list_all_items(&path, &query).await
}

/// Shows the progress of a batch until it ends: on a terminal on one line, elsewhere on a new line where it changed.
async fn watch_batch(
    there: &InstallationClient,
    tenant: Option<&str>,
    id: &str,
    as_json: bool,
) -> Result<()> {
    let is_bar = is_terminal_output() && !as_json;
    let mut shown = String::new();
    loop {
        let batch = request_batch(there, tenant, id).await?;
        let line = if as_json {
            batch.to_string()
        } else {
            format_progress(&batch)
        };
        if is_bar {
            // The blanks cover what a longer line left.
            print!("\r{line}   ");
        } else if line != shown {
            println!("{line}");
        }
        shown = line;
        if ["finished", "cancelled"].contains(&read_text(&batch, "status")) {
            if is_bar {
                println!();
            }
            return Ok(());
        }
        tokio::time::sleep(WATCH_INTERVAL).await;
    }
}

fn read_text<'a>(answer: &'a Value, field: &str) -> &'a str {
    answer.get(field).and_then(Value::as_str).unwrap_or("-")
}

fn read_number(answer: &Value, field: &str) -> u64 {
    answer.get(field).and_then(Value::as_u64).unwrap_or_default()
}

fn format_batches(answer: &Value) -> String {
    let columns = ["id", "status", "eventId", "template", "expanded", "recipients"];
    let rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "No batches.\n".to_owned();
    }
    let heading = ["id", "status", "event", "template", "made", "recipients"];
    format_table(&heading, rows)
}

fn format_recipients(answer: &Value) -> String {
    let columns = ["guestId", "id", "status", "error"];
    let rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "No recipients.\n".to_owned();
    }
    format_table(&["guest", "id", "status", "error"], rows)
}

/// Formats a batch: its progress, then its fields.
fn format_batch(batch: &Value) -> String {
    let mut fields = batch.clone();
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|name, value| {
            !value.is_null() && !["counts", "end", "reminder"].contains(&name.as_str())
        });
        if let Some(ended_at) = batch.pointer("/end/at") {
            fields.insert("ended_at".to_owned(), ended_at.clone());
        }
        for status in COUNTED {
            let count = batch
                .get("counts")
                .map_or(0, |counts| read_number(counts, status));
            if count > 0 {
                fields.insert(status.to_owned(), json!(count));
            }
        }
    }
    format!("{}\n\n{}", format_progress(batch), format_fields(&fields))
}

/// Formats the progress of a batch on one line: how many deliveries reached their end.
fn format_progress(batch: &Value) -> String {
    let all = read_number(batch, "recipients");
    let counts = batch.get("counts");
    let waiting = counts.map_or(all, |counts| read_number(counts, "queued"));
    let ended = all.saturating_sub(waiting);
    let failed = counts.map_or(0, |counts| {
        read_number(counts, "failed") + read_number(counts, "refused")
    });
    let filled = (BAR_WIDTH * ended).checked_div(all).unwrap_or(BAR_WIDTH);
    let percent = (100 * ended).checked_div(all).unwrap_or(100);
    let bar: String = (0..BAR_WIDTH)
        .map(|place| if place < filled { '#' } else { '-' })
        .collect();
    let status = read_text(batch, "status");
    let failures = if failed > 0 {
        format!(", {failed} failed")
    } else {
        String::new()
    };
    format!("[{bar}] {percent:>3} %  {ended} of {all}{failures}, {status}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_the_deliveries_that_reached_their_end() {
        let counts = json!({"queued": 3, "sent": 5, "failed": 1, "refused": 1});
        let batch = json!({"recipients": 10, "status": "running", "counts": counts});
        assert_eq!(
            format_progress(&batch),
            "[#####################---------]  70 %  7 of 10, 2 failed, running"
        );
        let empty = json!({"recipients": 0, "status": "finished", "counts": {"queued": 0}});
        assert_eq!(
            format_progress(&empty),
            "[##############################] 100 %  0 of 0, finished"
        );
    }

    #[test]
    fn a_batch_is_shown_with_what_became_of_its_recipients_and_without_empty_fields() {
        let batch = json!({"id": "batch_1", "recipients": 2, "status": "finished", "send_at": null,
            "end": {"at": "2026-11-27T10:00:00Z"}, "counts": {"queued": 0, "sent": 2, "failed": 0}});
        let told = format_batch(&batch);
        assert!(told.contains("ended at") && told.contains("batch_1"), "{told}");
        let fields = told.split_once("\n\n").unwrap().1;
        assert!(
            fields.contains("sent") && !fields.contains("failed") && !fields.contains("send_at"),
            "{told}"
        );
    }
}
