//! `recado audit`: shows who did what in a running installation, here or on AWS.

use crate::api_command::{ApiCommand, AskedArguments};
use crate::dlq::tables::{collect_rows, format_with_lines_below};
use crate::json_fields::find_text;
use clap::Args;
use jiff::Timestamp;
use recado_domain::audit::AuditAction;
use serde_json::Value;

/// Shows who did what with which token: configuration, tokens, takeovers, answers, deletions, redrives, contacts. The newest first.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Only what was done to records of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Only what was done with the token of this name.
    #[arg(long)]
    actor: Option<String>,
    /// Only this action, such as `contact_erased`.
    #[arg(long, value_parser = parse_action)]
    action: Option<AuditAction>,
    /// Only what was done at this time or later, such as 2026-01-05T12:00:00Z.
    #[arg(long)]
    since: Option<Timestamp>,
    /// Only what was done before this time.
    #[arg(long)]
    until: Option<Timestamp>,
    /// Shows at most so many.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    pub(crate) asked: AskedArguments,
}

fn parse_action(text: &str) -> Result<AuditAction, String> {
    AuditAction::parse(text).ok_or_else(|| {
        let known: Vec<&str> = AuditAction::ALL.iter().map(|action| action.as_str()).collect();
        format!("there is {}", known.join(", "))
    })
}

/// Returns the request of the command. It asks page by page, up to the limit.
pub(crate) fn describe_audit(arguments: &AuditArguments) -> ApiCommand {
    ApiCommand::get(&["v1", "audit"])
        // The entries of a removed tenant are still there.
        .only_of("tenants", arguments.tenant.clone())
        .query("actor", arguments.actor.as_ref())
        .query("action", arguments.action.map(AuditAction::as_str))
        .query("since", arguments.since)
        .query("until", arguments.until)
        .up_to(arguments.limit)
        .show(format_entries)
}

/// Formats entries within 80 columns. Below each are its object, and what it was before and after.
fn format_entries(answer: &Value) -> String {
    let columns = ["at", "actor", "action", "tenant", "kind"];
    let rows = collect_rows(answer, &columns);
    if rows.is_empty() {
        return "Nothing was done.\n".to_owned();
    }
    let below = collect_rows(answer, &["object", "before", "after"]).into_iter();
    let below = below.map(|cells| match &cells[..] {
        [object, before, after] if before == "-" => vec![object.clone(), after.clone()],
        [object, before, after] => vec![object.clone(), format!("{before} → {after}")],
        _ => Vec::new(),
    });
    let mut all = format_with_lines_below(&columns, rows, below.collect());
    if find_text(answer, "next_cursor").is_some() {
        all.push_str("There is more: --limit, --since, --until\n");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_are_a_table_and_more_of_them_are_announced() {
        let entry = json!({"at": "2026-01-05T12:00:00Z", "actor": "desk", "action": "contact_erased", "tenant": "clinic",
            "kind": "contact", "object": "c_1", "before": null, "after": "2 conversations"});
        let shown = format_entries(&json!({"items": [entry], "next_cursor": "c"}));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 5, "{shown}");
        assert_eq!(lines[0].find("action"), lines[1].find("contact_erased"));
        assert_eq!((lines[2], lines[3]), ("  c_1", "  2 conversations"));
        assert!(lines[4].starts_with("There is more"));
        assert_eq!(format_entries(&json!({"items": []})), "Nothing was done.\n");
    }

    #[test]
    fn an_unknown_action_names_those_that_there_are() {
        assert_eq!(parse_action("token_revoked"), Ok(AuditAction::TokenRevoked));
        assert!(parse_action("x").unwrap_err().contains("contact_exported"));
    }
}
