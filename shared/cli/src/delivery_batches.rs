//! `recado deliver batches`: lists batches of invitations of a running installation, shows how far they are, and pauses, resumes and cancels
//! them.

use crate::api_command::ApiCommand;
use crate::dlq::tables::{AnswerTable, format_fields};
use crate::installation::InstallationClient;
use crate::json_fields::{number_or_zero, text_or_dash};
use crate::tenant::name_tenant;
use anyhow::Result;
use clap::{Args, Subcommand};
use recado_machine::output::is_terminal_output;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// Number of characters of a bar.
const BAR_WIDTH: u64 = 30;

/// Time from one look at a batch that is watched to the next.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

/// The statuses of recipients, as an answer counts them.
const COUNTED: &str = "queued sent delivered read failed duplicate refused cancelled";

/// Batches of invitations: list them, show how far one is, pause, resume or cancel it.
#[derive(Debug, Args)]
pub struct BatchArguments {
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

/// The list of batches.
const BATCHES: AnswerTable = AnswerTable {
    nothing: "No batches.",
    headings: &["id", "status", "event", "template", "made", "recipients"],
    fields: &["id", "status", "eventId", "template", "expanded", "recipients"],
    ..AnswerTable::EMPTY
};

/// The list of the recipients of a batch.
const RECIPIENTS: AnswerTable = AnswerTable {
    nothing: "No recipients.",
    headings: &["guest", "id", "status", "error"],
    fields: &["guestId", "id", "status", "error"],
    ..AnswerTable::EMPTY
};

/// Runs the subcommand and prints its result.
pub(crate) async fn run_batch_command(
    there: &InstallationClient,
    tenant: Option<&str>,
    arguments: &BatchArguments,
    as_json: bool,
) -> Result<()> {
    let command = match &arguments.command {
        BatchCommand::Show { id, watch: true } => return watch_batch(there, tenant, id, as_json).await,
        BatchCommand::List { limit } => ApiCommand::get(&["deliver", "batches"])
            .only_of("tenants", tenant.map(str::to_owned))
            .query("limit", Some(limit))
            .show(|answer| BATCHES.format(answer)),
        BatchCommand::Show { id, watch: false } => ApiCommand::get(&["deliver", "batches", id])
            .query("tenant", tenant)
            .show(format_batch),
        BatchCommand::Recipients { id, status } => ApiCommand::get(&["deliver", "batches", id, "recipients"])
            .query("tenant", tenant)
            .query("status", status.as_ref())
            .up_to(usize::MAX)
            .show(|answer| RECIPIENTS.format(answer)),
        BatchCommand::Pause { id } => order_batch(tenant, id, "pause"),
        BatchCommand::Resume { id } => order_batch(tenant, id, "resume"),
        BatchCommand::Cancel { id } => order_batch(tenant, id, "cancel"),
    };
    command.run(there, as_json).await
}

/// Returns the request of an order about a batch.
fn order_batch(tenant: Option<&str>, id: &str, order: &str) -> ApiCommand {
    let batch = id.to_owned();
    ApiCommand::new(Method::POST, &["deliver", "batches", id, order])
        .query("tenant", tenant)
        .show(move |answer| format!("{batch} is {}\n", text_or_dash(answer, "status")))
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
        let path = ["deliver", "batches", id];
        let batch = there.get_json(&path, &name_tenant(tenant)).await?;
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
        if ["finished", "cancelled"].contains(&text_or_dash(&batch, "status")) {
            if is_bar {
                println!();
            }
            return Ok(());
        }
        tokio::time::sleep(WATCH_INTERVAL).await;
    }
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
        for status in COUNTED.split(' ') {
            let count = number_or_zero(&batch["counts"], status);
            if count > 0 {
                fields.insert(status.to_owned(), json!(count));
            }
        }
    }
    format!("{}\n\n{}", format_progress(batch), format_fields(&fields))
}

/// Formats the progress of a batch on one line: how many deliveries reached their end.
fn format_progress(batch: &Value) -> String {
    let all = number_or_zero(batch, "recipients");
    let counts = batch.get("counts");
    let waiting = counts.map_or(all, |counts| number_or_zero(counts, "queued"));
    let ended = all.saturating_sub(waiting);
    let failed = number_or_zero(&batch["counts"], "failed") + number_or_zero(&batch["counts"], "refused");
    let filled = (BAR_WIDTH * ended).checked_div(all).unwrap_or(BAR_WIDTH);
    let percent = (100 * ended).checked_div(all).unwrap_or(100);
    let bar: String = (0..BAR_WIDTH)
        .map(|place| if place < filled { '#' } else { '-' })
        .collect();
    let status = text_or_dash(batch, "status");
    let failures = (failed > 0).then(|| format!(", {failed} failed"));
    let failures = failures.unwrap_or_default();
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
